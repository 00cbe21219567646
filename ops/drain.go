package ops

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
)

const (
	// rerouteEvery is how soon a drain that stands still is set going again; it
	// counts between two attempts.
	rerouteEvery = time.Minute
	// blockedAfter is how long a drain stands still, a retry included, before its
	// blockers are named; it counts from the first such reading.
	blockedAfter = 15 * time.Second
)

// excludeStep: the intent is recorded; it is said on the StatefulSet, then set,
// then read back.
func (t *turn) excludeStep(op *Operation) {
	sh, x := op.Shrink, t.r.Exclusions
	live := t.live(sh.Set)
	if x == nil || live == nil {
		sh.Set, op.Step = "", StepNext
		return
	}
	if live.Hold != x.annotation() || t.drainReading(op) {
		return
	}
	if s := recorded(t.r.Sets, sh.Set); s != nil && !sh.Masters && !within(x.IDs, t.o.Database.Settings.Exclude["_id"]) && len(t.forecast([]RecordedSet{*s}).refusals()) > 0 {
		// Tables want more since it was decided, and nothing is excluded yet: the gates
		// before it say what.
		t.endShrink()
		op.Step = StepInclude
		return
	}
	if t.exclude(x) {
		return
	}
	op.Step, sh.Since = StepDrain, t.now
	sh.Drained, sh.Still = time.Time{}, time.Time{}
	t.drainStep(op)
}

// exclude brings about what is recorded; it says whether there is something left
// to do.
func (t *turn) exclude(x *Exclusions) bool {
	db := &t.o.Database
	pod := t.sqlPod()
	if pod == "" {
		return true
	}
	action := Action{Pod: pod, SystemSecret: t.systemSecret(), NodeIDs: x.IDs, Before: x.Before, Beside: t.excludedBeside()}
	if !within(x.IDs, db.Settings.Exclude["_id"]) {
		action.Kind, action.NodeIDs = ActionExcludeNodes, strings.Join(x.ours(), ",")
		t.harmless(action)
		return true
	}
	for _, want := range x.Tables {
		for i := range db.Tables {
			table := &db.Tables[i]
			if (table.Name == want.Name || table.Of == want.Name) && !within(x.IDs, table.Exclude["_id"]) {
				action.Kind, action.Table, action.Before = ActionExcludeInTable, want.Name, want.Before
				t.harmless(action)
				return true
			}
		}
	}
	return false
}

func within(ids, list string) bool {
	have := listed(list)
	return !slices.ContainsFunc(listed(ids), func(id string) bool { return !slices.Contains(have, id) })
}

// drainReading is what is looked at before each step of a drain.
func (t *turn) drainReading(op *Operation) bool {
	sh := op.Shrink
	s := recorded(t.r.Sets, sh.Set)
	live := t.live(sh.Set)
	if s == nil || live == nil {
		return true
	}
	if live.Replicas > sh.Before || live.Replicas < s.Replicas && op.Step != StepSmaller {
		t.wait(gates.ReplicasLive(sh.Set, live.Replicas, s.Replicas))
		return true
	}
	// A leaving node that is away is said by its name, before any other is.
	for _, n := range sh.Leaving {
		if n.Ordinal < live.Replicas && n.ID != "" && t.contact() && t.absent(n.Name) {
			t.wait(gates.LeavingNode(n.Name, n.Pod))
			return true
		}
	}
	if t.shrinkReading([]RecordedSet{*s}) {
		return true
	}
	if reason, refused := t.voidsOthers(); refused {
		// Theirs was changed after ours, and so it is theirs that is in force.
		t.refusal(reason)
		return true
	}
	return false
}

// drain is what one reading says of it.
type drain struct {
	shards int
	bytes  int64
	// tables of those shards, and of what is on no node.
	tables []string
	moving bool
}

func (t *turn) drained(op *Operation) drain {
	sh, db := op.Shrink, &t.o.Database
	leaving := map[string]bool{}
	for _, n := range sh.Leaving {
		leaving[n.ID] = n.ID != ""
	}
	type shard struct {
		table string
		id    int
	}
	elsewhere := map[shard]bool{}
	if sh.LeaveZone {
		for i := range db.Shards {
			if s := &db.Shards[i]; !leaving[s.Node] && (s.State == "STARTED" || s.State == "RELOCATING" && !leaving[s.To]) {
				elsewhere[shard{s.Table, s.ID}] = true
			}
		}
	}
	d := drain{moving: db.Relocating > 0 || db.Initializing > 0}
	for i := range db.Shards {
		s := &db.Shards[i]
		switch {
		case s.Node == "":
			d.tables = append(d.tables, s.Table)
			continue
		case !leaving[s.Node] && !(s.To != "" && leaving[s.To]):
			continue
		case s.State == "STARTED" && elsewhere[shard{s.Table, s.ID}]:
			continue
		}
		d.shards++
		d.bytes += s.Bytes
		d.tables = append(d.tables, s.Table)
	}
	slices.Sort(d.tables)
	d.tables = slices.Compact(d.tables)
	return d
}

func (sh *Shrink) names() string {
	var list []string
	for _, n := range sh.Leaving {
		list = append(list, n.Name)
	}
	return strings.Join(list, ", ")
}

// another is a leaving node with an id that was not excluded, and its place in the list:
// another id under its name is another node, on another volume, and so is the first under
// it. Nil: there is none.
func (t *turn) another(sh *Shrink) (*Node, int) {
	for i, n := range sh.Leaving {
		for j := range t.o.Database.Nodes {
			if now := &t.o.Database.Nodes[j]; now.Name == n.Name && now.ID != n.ID {
				return now, i
			}
		}
	}
	return nil, 0
}

// excludeAnother: such a node is excluded too, where all that leaves can be drained with it.
func (t *turn) excludeAnother(op *Operation, n *Node, i int) {
	sh := op.Shrink
	sh.Drained = time.Time{}
	if !t.fits([]RecordedSet{*recorded(t.r.Sets, sh.Set)}) {
		return
	}
	sh.Leaving = slices.Clone(sh.Leaving)
	sh.Leaving[i].ID = n.ID
	next := *t.r.Exclusions
	if ids := listed(next.IDs); !slices.Contains(ids, n.ID) {
		next.IDs = strings.Join(append(ids, n.ID), ",")
	}
	t.r.Exclusions = &next
	op.Step, sh.Since = StepExclude, t.now
}

// drainStep waits until the nodes that leave are empty, in two readings apart.
func (t *turn) drainStep(op *Operation) {
	sh, db := op.Shrink, &t.o.Database
	if t.r.Exclusions == nil {
		// They were given back meanwhile; it begins again.
		sh.Set, op.Step = "", StepNext
		return
	}
	if t.drainReading(op) {
		sh.Drained = time.Time{}
		return
	}
	if n, i := t.another(sh); n != nil {
		t.excludeAnother(op, n, i)
		return
	}
	d := t.drained(op)
	if sh.Moving.IsZero() {
		sh.Shards, sh.Bytes, sh.Moving = d.shards, d.bytes, t.now
	}
	t.drainProgress(sh, d)
	if t.exclude(t.r.Exclusions) {
		// Somebody took it off, or a table was made that needs it.
		sh.Drained = time.Time{}
		return
	}
	if reason, waits := gates.AllocationEnabled(db.Allocation, freeAllocation); waits {
		t.wait(reason)
		sh.Drained = time.Time{}
		return
	}
	if d.shards > 0 || db.Unassigned > 0 || d.moving {
		sh.Drained = time.Time{}
		if !t.stands(sh, d) {
			t.wait(gates.Draining(sh.names(), d.shards, d.bytes, db.Relocating, db.Initializing, db.Unassigned))
		}
		return
	}
	sh.Held = false
	if reason, waits := t.clusterHealthWaits(false); waits {
		t.wait(reason)
		sh.Drained = time.Time{}
		return
	}
	if sh.Drained.IsZero() || !db.At.After(sh.Drained) {
		if sh.Drained.IsZero() {
			sh.Drained, sh.Still = db.At, time.Time{}
		}
		t.wait(gates.DrainedOnce(sh.names()))
		return
	}
	if reason, waits := t.evidenceWaits(sh, t.nextReplicas(sh, *recorded(t.r.Sets, sh.Set))); waits {
		t.wait(reason)
		t.evidenceStands(sh, reason)
		return
	}
	sh.Still = time.Time{}
	t.makeSmaller(op)
}

// stands looks whether the drain stands still, sets it going again, and names
// what blocks it; blocked says what is left, too.
func (t *turn) stands(sh *Shrink, d drain) (blocked bool) {
	db := &t.o.Database
	switch {
	case d.moving:
		sh.Still, sh.Held = time.Time{}, false
		return false
	case db.Snapshots > 0:
		// Primaries wait for it, and do not go on by themselves when it has ended.
		reason, _ := gates.SnapshotRunning(true, db.Snapshots, "")
		t.wait(reason)
		sh.Still, sh.Held, sh.Rerouted = time.Time{}, true, time.Time{}
		return false
	}
	sh.Held = false
	if sh.Still.IsZero() {
		// Right after the exclusion nothing moves yet.
		sh.Still = db.At
		return false
	}
	pod := t.sqlPod()
	if (sh.Rerouted.IsZero() || t.elapsed(sh.Rerouted) > rerouteEvery) && db.At.After(sh.Still) && pod != "" {
		t.retryAllocation(pod)
	}
	if sh.Rerouted.IsZero() || db.At.Sub(sh.Still) < blockedAfter {
		return false
	}
	t.refusal(gates.DrainBlocked(d.shards, d.bytes, sh.names(), db.Unassigned, sh.Still, t.blockers(d)))
	return true
}

// retryAllocation sets a drain going again: the exclusion is put in force once more, for
// somebody may have ended its effect and left no trace.
func (t *turn) retryAllocation(pod string) {
	t.harmless(Action{
		Kind: ActionRetryAllocation, Pod: pod, SystemSecret: t.systemSecret(), NodeIDs: t.r.Exclusions.IDs, Beside: t.excludedBeside(),
	})
}

// blockers are CrateDB's words, once a table.
func (t *turn) blockers(d drain) []string {
	var out []string
	said := map[string]bool{}
	for i := range t.o.Database.Stuck {
		if e := &t.o.Database.Stuck[i]; !said[e.Table] {
			said[e.Table] = true
			out = append(out, e.words())
		}
	}
	for _, table := range d.tables {
		if !said[table] {
			out = append(out, table+": no reason is given")
		}
	}
	return out
}

// words are CrateDB's own.
func (e *Explanation) words() string {
	words := e.Table + ": " + e.Text
	if n := len(e.Reasons); n > 0 {
		// The nodes often have the same reason, and a screen has an end.
		words += " (" + strings.Join(e.Reasons[:min(n, 3)], "; ") + ")"
	}
	return words
}

func (t *turn) drainProgress(sh *Shrink, d drain) {
	p := &Progress{
		Subject: sh.Set, Done: max(0, sh.From-sh.Before), Total: sh.From - sh.To,
		ShardsLeft: d.shards, ShardsTotal: max(sh.Shards, d.shards), BytesLeft: d.bytes, BytesTotal: max(sh.Bytes, d.bytes),
	}
	seconds := int64(t.elapsed(sh.Moving) / time.Second)
	if moved := p.BytesTotal - d.bytes; moved > 0 && seconds > 0 {
		p.BytesPerSecond = max(1, moved/seconds)
		p.ETA = time.Duration(d.bytes/p.BytesPerSecond) * time.Second
	}
	t.d2.Progress = p
}

// makeSmaller records the intent and decides the write.
func (t *turn) makeSmaller(op *Operation) {
	sh := op.Shrink
	s := recorded(t.r.Sets, sh.Set)
	next := t.nextReplicas(sh, *s)
	sh.Before, sh.Since, op.Step = s.Replicas, t.now, StepSmaller
	t.setReplicas(sh.Set, next)
	t.shrinkSet(op)
}

func (t *turn) shrinkSet(op *Operation) {
	sh, live := op.Shrink, t.live(op.Shrink.Set)
	to := t.recordedReplicas(sh.Set)
	x := t.examination(sh, to)
	t.d2.Disruptive = &Action{
		Kind: ActionShrinkSet, Pod: x.Ask, SystemSecret: t.systemSecret(), Set: sh.Set, SetUID: live.UID, SetVersion: live.ResourceVersion,
		From: sh.Before, To: to, NodeIDs: strings.Join(x.IDs, ","), NodeNames: strings.Join(x.Names, ","), Members: t.members(), Elsewhere: sh.LeaveZone,
		Pods: strings.Join(x.Pods, ","), Absent: strings.Join(x.Absent, ","), Beside: t.excludedBeside(),
		Whole: t.o.Database.asHealthy(),
	}
	for i := range t.o.Database.Tables {
		if t.o.Database.Tables[i].Filtered {
			t.d2.Disruptive.Filtered++
		}
	}
}

// stayingPod answers SQL and does not leave; there is one wherever all nodes have joined,
// which was looked at before.
func (t *turn) stayingPod(set string, to int) string {
	for i := range t.o.Pods {
		p := &t.o.Pods[i]
		if t.nodeJoined(p) && (p.Set != set || p.Ordinal < to) {
			return p.Name
		}
	}
	return ""
}

// smallerStep: it was decided and was not done, or is not seen yet.
func (t *turn) smallerStep(op *Operation) {
	sh, live := op.Shrink, t.live(op.Shrink.Set)
	to := t.recordedReplicas(sh.Set)
	switch {
	case live == nil:
		t.wait(gates.ReplicasLive(sh.Set, 0, to))
		return
	case live.Replicas <= to:
		op.Step, sh.Since = StepGone, t.now
		t.goneStep(op)
		return
	}
	// The nodes that are to leave count again: nothing has happened to them.
	t.setReplicas(sh.Set, sh.Before)
	waits := t.drainReading(op)
	d := drain{}
	if !waits {
		d = t.drained(op)
		t.drainProgress(sh, d)
	}
	joined, _ := t.another(sh)
	if reason, unhealthy := t.clusterHealthWaits(false); unhealthy && !waits {
		t.wait(reason)
		waits = true
	}
	switch {
	case waits:
		t.setReplicas(sh.Set, to)
	case d.shards > 0 || d.moving || t.o.Database.Unassigned > 0 || joined != nil || t.exclude(t.r.Exclusions):
		// Something came back between the check and the write.
		sh.Drained, sh.Since, op.Step = time.Time{}, t.now, StepDrain
	default:
		reason, waits := t.evidenceWaits(sh, to)
		if waits {
			t.wait(reason)
		}
		if waits && len(t.o.Database.Evidence) > 0 {
			sh.Drained, sh.Since, op.Step = time.Time{}, t.now, StepDrain
			return
		}
		t.setReplicas(sh.Set, to)
		if !waits {
			t.shrinkSet(op)
		}
	}
}

// goneStep waits until the pods are gone and the nodes with them.
func (t *turn) goneStep(op *Operation) {
	sh := op.Shrink
	db := &t.o.Database
	if x := t.r.Exclusions; x != nil && t.stillLeaving(x) {
		return
	}
	if reason, waits := gates.Contact(t.contact(), db.Error); waits {
		t.wait(reason)
		return
	}
	if reason, waits := gates.FreshReading(t.elapsed(db.At), first(t.p.ReadingAge, DefaultReadingAge)); waits {
		t.wait(reason)
		return
	}
	if now := t.recordedReplicas(sh.Set); now > sh.To && !t.aborted() && !t.blocked && !t.parked && t.target(sh.Set) == sh.To {
		// Where nodes vote the next one leaves after this one.
		sh.Leaving = slices.DeleteFunc(slices.Clone(sh.Leaving), func(n LeavingNode) bool { return n.Ordinal >= now })
		sh.Before, sh.Drained, sh.Since, op.Step = now, time.Time{}, t.now, StepDrain
		return
	}
	op.Step = StepInclude
	if t.include(); t.r.Exclusions == nil {
		sh.Set, op.Step = "", StepNext
	}
}
