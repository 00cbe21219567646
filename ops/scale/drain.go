package scale

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/setting"
	"stevedore.dev/stevedore/ops/view"
)

const (
	// rerouteEvery is how soon a drain that does not move is tried again; it counts between
	// two attempts.
	rerouteEvery = time.Minute
	// blockedAfter is how long a drain does not move, a retry included, before its blockers
	// are named; it counts from the first such reading.
	blockedAfter = 15 * time.Second
)

// excludeStep sets the exclusions: the record has them already, then the StatefulSet says them,
// then they are set and read back.
func excludeStep(t *pass.Pass, op *model.Operation) {
	sh, x := op.Shrink, t.Record.Exclusions
	if live := t.Live(sh.Set); live != nil && live.Hold != setting.Annotation(&t.View, x.Set) || drainReading(t, op) {
		return
	}
	if s := view.Recorded(t.Record.Sets, sh.Set); !sh.Masters && !within(x.IDs, t.Observed.Database.Settings.Exclude["_id"]) && len(forecast(&t.View, sh, []model.RecordedSet{*s}).Refusals()) > 0 {
		// Tables want more since it was decided, and nothing is excluded yet: the gates
		// before it say what.
		aim.EndShrink(t)
		op.Step = model.StepInclude
		return
	}
	if exclude(t, x) {
		return
	}
	op.Step, sh.Since = model.StepDrain, t.Now
	sh.Drained, sh.StillSince = time.Time{}, time.Time{}
	drainStep(t, op)
}

// exclude decides the next statement of what is recorded, and says whether one is left.
func exclude(t *pass.Pass, x *model.Exclusions) bool {
	db, before := &t.Observed.Database, len(t.Decision.Refusals)
	action := model.Action{Pod: t.SQLPod(), SystemSecret: t.SystemSecret(), NodeIDs: x.IDs, Before: x.Before, Beside: setting.OtherExclusions(&t.View)}
	if !within(x.IDs, db.Settings.Exclude["_id"]) {
		action.Kind, action.NodeIDs = model.ActionExcludeNodes, strings.Join(x.Ours(), ",")
		t.Harmless(action)
		return true
	}
	for want := range model.Each(x.Tables) {
		due, others := lacksDrain(db, t.Record.Version, x, want)
		if others != nil {
			// What somebody has set since then is not replaced.
			keepsNodes(t, x, others)
		}
		if due {
			action.Kind, action.Table, action.Before, action.Settings, action.Expected = model.ActionExcludeInTable, want.Name, want.Before, want.Drain, want.Filters
			t.Harmless(action)
			return true
		}
	}
	return len(t.Decision.Refusals) > before || extends(t, x)
}

// drainReading waits for what each step of a drain needs to know.
func drainReading(t *pass.Pass, op *model.Operation) bool {
	sh := op.Shrink
	s := view.Recorded(t.Record.Sets, sh.Set)
	n := aim.LiveReplicas(&t.View, sh.Set)
	raised := n > sh.Before && sh.Replaces == "" // nothing becomes smaller after a drain for a new volume
	if raised || n < s.Replicas && op.Step != model.StepSmaller {
		t.Wait(gates.ReplicasLive(sh.Set, n, s.Replicas))
		return true
	}
	// A leaving node that is away is said by its name, before any other is.
	for _, leaves := range sh.Leaving {
		if leaves.Ordinal < n && leaves.ID != "" && t.Contact() && view.Absent(&t.View, leaves.Name) {
			t.Wait(gates.LeavingNode(leaves.Name, leaves.Pod))
			return true
		}
	}
	if shrinkReading(t, []model.RecordedSet{*s}) {
		return true
	}
	// Where theirs was changed after ours, it is theirs that is in force.
	return t.Refuses(setting.EndsOthersExclusions(&t.View))
}

// drain is what one reading says of the nodes that leave.
type drain struct {
	shards int
	bytes  int64
	// tables of those shards, and of what is on no node.
	tables []string
	// behind are the tables of copies that may stay on them.
	behind []string
	moving bool
}

func drained(v *view.View, op *model.Operation) drain {
	sh, db := op.Shrink, &v.Observed.Database
	leaving := map[string]bool{}
	for _, n := range sh.Leaving {
		leaving[n.ID] = n.ID != ""
	}
	elsewhere := map[model.ShardID]bool{}
	if sh.LeaveZone {
		for s := range model.Each(db.Shards) {
			if !leaving[s.Node] && s.State == "STARTED" {
				elsewhere[s.Of()] = true
			}
		}
	}
	d := drain{moving: db.Relocating > 0 || db.Initializing > 0}
	for s := range model.Each(db.Shards) {
		switch {
		case s.Node == "":
			d.tables = append(d.tables, s.Table)
			continue
		case !leaving[s.Node] && !(s.To != "" && leaving[s.To]):
			continue
		case s.State == "STARTED" && elsewhere[s.Of()]:
			d.behind = append(d.behind, s.Table)
			continue
		}
		d.shards++
		d.bytes += s.Bytes
		d.tables = append(d.tables, s.Table)
	}
	d.tables, d.behind = model.Distinct(d.tables), model.Distinct(d.behind)
	return d
}

// unexcludedNode is a leaving node with an id that was not excluded, and its place in the list; nil
// where there is none. Another id under its name is another node, on another volume, and so is
// the first id under it.
func unexcludedNode(v *view.View, sh *model.Shrink) (*model.Node, int) {
	for i, n := range sh.Leaving {
		another := func(member *model.Node) bool { return member.Name == n.Name && member.ID != n.ID }
		if found := model.Find(v.Observed.Database.Nodes, another); found != nil {
			return found, i
		}
	}
	return nil, 0
}

// excludeAnother excludes such a node too, where all that leaves can be drained with it.
func excludeAnother(t *pass.Pass, op *model.Operation, n *model.Node, i int) {
	sh := op.Shrink
	sh.Drained = time.Time{}
	if !fits(t, sh, []model.RecordedSet{*view.Recorded(t.Record.Sets, sh.Set)}) {
		return
	}
	sh.Leaving = slices.Clone(sh.Leaving)
	sh.Leaving[i].ID = n.ID
	ids := model.Once(model.Listed(t.Record.Exclusions.IDs), n.ID)
	model.Own(&t.Record.Exclusions).IDs = strings.Join(ids, ",")
	op.Step, sh.Since = model.StepExclude, t.Now
}

// drainStep waits until the nodes that leave are empty, in two readings apart.
func drainStep(t *pass.Pass, op *model.Operation) {
	sh, db := op.Shrink, &t.Observed.Database
	if drainReading(t, op) {
		sh.Drained = time.Time{}
		return
	}
	if n, i := unexcludedNode(&t.View, sh); n != nil {
		excludeAnother(t, op, n, i)
		return
	}
	d := drained(&t.View, op)
	if sh.Moving.IsZero() {
		sh.Shards, sh.Bytes, sh.Moving = d.shards, d.bytes, t.Now
	}
	drainProgress(t, sh, d)
	// Somebody may have taken it off, or made a table that needs it.
	if exclude(t, t.Record.Exclusions) || t.Waits(gates.AllocationEnabled(db.Allocation, setting.NormalAllocation)) {
		sh.Drained = time.Time{}
		return
	}
	if d.shards > 0 || db.Unassigned > 0 || d.moving {
		sh.Drained = time.Time{}
		sayLeft(t, op, d)
		return
	}
	sh.SnapshotRuns = false
	if t.Waits(view.ClusterHealthWaits(&t.View, false)) {
		sh.Drained = time.Time{}
		return
	}
	if sh.Drained.IsZero() || !db.At.After(sh.Drained) {
		if sh.Drained.IsZero() {
			sh.Drained, sh.StillSince = db.At, time.Time{}
		}
		t.Wait(gates.DrainedOnce(sh.Names(), d.behind))
		return
	}
	if reason, waits := evidenceWaits(&t.View, sh, nextReplicas(&t.View, sh, *view.Recorded(t.Record.Sets, sh.Set))); waits {
		t.Wait(reason)
		retryForEvidence(t, sh, reason)
		return
	}
	sh.StillSince, sh.Behind = time.Time{}, model.Distinct(slices.Concat(sh.Behind, d.behind))
	makeSmaller(t, op)
}

// sayLeft says what is left on nodes that are drained, and whether that moves.
func sayLeft(t *pass.Pass, op *model.Operation, d drain) {
	sh, db := op.Shrink, &t.Observed.Database
	switch blocked := drainBlocked(t, sh, d); {
	case !blocked:
		t.Wait(gates.Draining(sh.Names(), d.shards, d.bytes, db.Relocating, db.Initializing, db.Unassigned))
	case sh.Replaces != "" && aim.NodesCome(&t.View) && view.DrainedForNewVolume(&t.View) == nil:
		op.Step = model.StepInclude // they may be what it lacks, and come while nothing is drained
	case sh.LeaveZone && d.shards == 0:
		op.Step = model.StepInclude // only a node that leaves may take what is on no node, while it is in its zone
	}
}

// drainBlocked tries a drain that does not move again, and is true once it has named what blocks it.
func drainBlocked(t *pass.Pass, sh *model.Shrink, d drain) (blocked bool) {
	db := &t.Observed.Database
	switch {
	case d.moving:
		sh.StillSince, sh.SnapshotRuns = time.Time{}, false
		return false
	case db.Snapshots > 0:
		// Primaries wait for it, and do not go on by themselves when it has ended.
		reason, _ := gates.SnapshotRunning(true, db.Snapshots, "")
		t.Wait(reason)
		sh.StillSince, sh.SnapshotRuns, sh.Rerouted = time.Time{}, true, time.Time{}
		return false
	}
	sh.SnapshotRuns = false
	if sh.StillSince.IsZero() {
		// Right after the exclusion nothing moves yet.
		sh.StillSince = db.At
		return false
	}
	retryAllocation(t, sh)
	if sh.Rerouted.IsZero() || db.At.Sub(sh.StillSince) < blockedAfter {
		return false
	}
	t.Refuse(gates.DrainBlocked(d.shards, d.bytes, sh.Names(), db.Unassigned, sh.StillSince, blockers(&t.View, d)))
	return true
}

// retryAllocation tries a drain again: the exclusion is put in force once more, for somebody
// may have ended its effect and left no trace.
func retryAllocation(t *pass.Pass, sh *model.Shrink) {
	due := sh.Rerouted.IsZero() || t.Elapsed(sh.Rerouted) > rerouteEvery
	if pod := t.SQLPod(); due && pod != "" && t.Observed.Database.At.After(sh.StillSince) {
		t.Harmless(model.Action{
			Kind: model.ActionRetryAllocation, Pod: pod, SystemSecret: t.SystemSecret(), NodeIDs: t.Record.Exclusions.IDs, Beside: setting.OtherExclusions(&t.View),
		})
	}
}

// blockers are CrateDB's words, once a table.
func blockers(v *view.View, d drain) []string {
	var out []string
	said := map[string]bool{}
	for e := range model.Each(v.Observed.Database.Stuck) {
		if !said[e.Table] {
			said[e.Table] = true
			out = append(out, e.Words())
		}
	}
	for _, table := range d.tables {
		if !said[table] {
			out = append(out, table+": no reason is given")
		}
	}
	return out
}

func drainProgress(t *pass.Pass, sh *model.Shrink, d drain) {
	p := &model.Progress{
		Subject: sh.Set, Done: max(0, sh.From-sh.Before), Total: sh.From - sh.To,
		ShardsLeft: d.shards, ShardsTotal: max(sh.Shards, d.shards), BytesLeft: d.bytes, BytesTotal: max(sh.Bytes, d.bytes),
	}
	seconds := int64(t.Elapsed(sh.Moving) / time.Second)
	if moved := p.BytesTotal - d.bytes; moved > 0 && seconds > 0 {
		p.BytesPerSecond = max(1, moved/seconds)
		p.ETA = time.Duration(d.bytes/p.BytesPerSecond) * time.Second
	}
	t.Decision.Progress = p
}

// makeSmaller records the intent and decides the write: fewer replicas, or of a node that stays the
// deletion of its claims.
func makeSmaller(t *pass.Pass, op *model.Operation) {
	sh := op.Shrink
	if sh.Replaces != "" && t.Record.Operation.Is(model.OperationRemoveDisks) {
		restartsRemoved(t, view.PodNamed(&t.View, sh.Replaces), op.Revision)
		return
	}
	if sh.Replaces != "" {
		op.Step, sh.Since = model.StepClaims, t.Now
		deleteClaims(t, op)
		return
	}
	s := view.Recorded(t.Record.Sets, sh.Set)
	next := nextReplicas(&t.View, sh, *s)
	sh.Before, sh.Since, op.Step = s.Replicas, t.Now, model.StepSmaller
	aim.SetReplicas(t, sh.Set, next)
	shrinkSet(t, op)
}

func shrinkSet(t *pass.Pass, op *model.Operation) {
	sh, live := op.Shrink, t.Live(op.Shrink.Set)
	to := aim.RecordedReplicas(&t.View, sh.Set)
	a := lookOnceMore(t, sh, to)
	a.Kind, a.Set, a.SetUID, a.SetVersion, a.From, a.To = model.ActionShrinkSet, sh.Set, live.UID, live.ResourceVersion, sh.Before, to
	t.Decision.Disruptive = &a
}

// lookOnceMore is what the last look asks of nodes that were found empty.
func lookOnceMore(t *pass.Pass, sh *model.Shrink, to int) model.Action {
	x := examination(&t.View, sh, to)
	a := model.Action{
		Pod: x.Ask, SystemSecret: t.SystemSecret(), NodeIDs: strings.Join(x.IDs, ","), NodeNames: strings.Join(x.Names, ","), Members: aim.Members(&t.View), Elsewhere: sh.LeaveZone,
		Pods: strings.Join(x.Pods, ","), Absent: strings.Join(x.Absent, ","), Beside: setting.OtherExclusions(&t.View),
		Whole: t.Observed.Database.AsHealthy(),
	}
	if exclusions := t.Record.Exclusions; exclusions != nil {
		a.Tables = exclusions.Changed(func(want *model.TableExclusion) bool {
			_, others := lacksDrain(&t.Observed.Database, t.Record.Version, exclusions, want)
			return others != nil
		})
	}
	// The last look counts the partitioned tables themselves too.
	filtered := func(table *model.Table) bool { return table.Filtered }
	a.Filtered = model.Count(t.Observed.Database.Tables, filtered) + model.Count(t.Observed.Database.Partitioned, filtered)
	return a
}

// stayingPod answers SQL and does not leave; there is one wherever all nodes have joined,
// which was looked at before.
func stayingPod(v *view.View, sh *model.Shrink, to int) string {
	for p := range model.Each(v.Observed.Pods) {
		leaves := p.Name == sh.Replaces || sh.Replaces == "" && p.Set == sh.Set && p.Ordinal >= to
		if aim.NodeJoined(v, p) && !leaves {
			return p.Name
		}
	}
	return ""
}

// smallerStep repeats the write: it was decided and was not done, or is not seen yet.
func smallerStep(t *pass.Pass, op *model.Operation) {
	sh, live := op.Shrink, t.Live(op.Shrink.Set)
	to := aim.RecordedReplicas(&t.View, sh.Set)
	switch {
	case live == nil:
		t.Wait(gates.ReplicasLive(sh.Set, 0, to))
		return
	case live.Replicas <= to:
		op.Step, sh.Since = model.StepGone, t.Now
		goneStep(t, op)
		return
	}
	if live.Replicas < sh.Before {
		// Somebody has raised it again, to fewer than there were: the nodes above leave.
		if setting.StillLeaving(t, t.Record.Exclusions) {
			return
		}
		sh.Before = live.Replicas
		sh.Leaving = slices.DeleteFunc(slices.Clone(sh.Leaving), func(n model.LeavingNode) bool { return n.Ordinal >= live.Replicas })
	}
	// The nodes that are to leave count again: nothing has happened to them.
	aim.SetReplicas(t, sh.Set, sh.Before)
	if drainReading(t, op) || t.Waits(view.ClusterHealthWaits(&t.View, false)) {
		aim.SetReplicas(t, sh.Set, to)
		return
	}
	filled, witnessed := staysEmpty(t, op, to)
	if filled {
		return
	}
	aim.SetReplicas(t, sh.Set, to)
	if witnessed {
		shrinkSet(t, op)
	}
}

// staysEmpty looks once more at nodes before what cannot be taken back. The drain goes on where something came back between
// the check and the write, or a witness has seen a shard. witnessed: each witness says that nothing is on them.
func staysEmpty(t *pass.Pass, op *model.Operation, to int) (filled, witnessed bool) {
	sh, step := op.Shrink, op.Step
	d := drained(&t.View, op)
	drainProgress(t, sh, d)
	joined, _ := unexcludedNode(&t.View, sh)
	switch {
	case d.shards > 0, d.moving, t.Observed.Database.Unassigned > 0, joined != nil, exclude(t, t.Record.Exclusions):
	default:
		waits := t.Waits(evidenceWaits(&t.View, sh, to))
		if !waits || len(t.Observed.Database.Evidence) == 0 {
			return false, !waits
		}
	}
	sh.Drained, sh.Since = time.Time{}, t.Now
	if op.Step == step {
		op.Step = model.StepDrain
	}
	return true, false
}

// goneStep waits until the pods are gone and the nodes with them.
func goneStep(t *pass.Pass, op *model.Operation) {
	sh := op.Shrink
	if setting.StillLeaving(t, t.Record.Exclusions) {
		return
	}
	now := aim.RecordedReplicas(&t.View, sh.Set)
	next := slices.DeleteFunc(slices.Clone(sh.Leaving), func(n model.LeavingNode) bool { return n.Ordinal >= now })
	if len(next) > 0 && !aim.DrainStops(&t.View) && view.Target(&t.View, sh.Set) == sh.To {
		// Where nodes vote the next one leaves after this one.
		sh.Leaving, sh.Before, sh.Drained, sh.Since, op.Step = next, now, time.Time{}, t.Now, model.StepDrain
		return
	}
	op.Step = model.StepInclude
	setting.GiveBackExclusions(t)
}
