package ops

import (
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/render/definition"
)

// refusedLook is how many polls pass until a shrink that is refused is looked at
// again.
const refusedLook = 5

func (t *turn) shrinking() bool {
	return t.r.Operation != nil && t.r.Operation.Shrink != nil
}

// shrinkDue says of a cluster that was made whether nodes are to leave it.
func shrinkDue(d *Desired, r *Record) bool {
	if !r.Bootstrap.Done || d.Removed {
		return false
	}
	if r.Operation != nil && r.Operation.Shrink != nil {
		return true
	}
	for _, s := range r.Sets {
		i := slices.IndexFunc(d.Sets, func(w Set) bool { return w.Name == s.Name })
		if i < 0 || d.Sets[i].Replicas < s.Replicas {
			return true
		}
	}
	return false
}

// target is how many replicas are wanted of a set; 0 of one that is gone.
func (t *turn) target(set string) int {
	if w := t.wanted(set); w != nil {
		return w.Replicas
	}
	return 0
}

// toShrink are the sets that are to become smaller or to go: dedicated masters,
// or the others.
func (t *turn) toShrink(masters bool) []RecordedSet {
	var out []RecordedSet
	for _, s := range t.r.Sets {
		if w := t.wanted(s.Name); t.data(s) != masters && (w == nil || w.Replicas < s.Replicas) {
			out = append(out, s)
		}
	}
	return out
}

// startShrink begins a drain where nodes are to leave; with masters, of
// dedicated masters only. It says whether one is due.
func (t *turn) startShrink(masters bool) bool {
	sets := t.toShrink(masters)
	if len(sets) == 0 {
		return false
	}
	if t.aborted() {
		t.refusal(gates.ShrinkAborted(t.leftOver(sets)))
		return true
	}
	sh := &Shrink{Masters: masters, Since: t.now}
	if t.shrinkWaits(sh, sets) {
		// What is refused by what the database says may fit a moment later.
		t.d2.LookAgain = refusedLook * t.poll()
		return true
	}
	if reason, waits := gates.DisruptedClusters(t.o.Disrupted, max(t.p.MaxDisruptedClusters, 1)); waits {
		t.wait(reason)
		return true
	}
	op := &Operation{Kind: OperationShrink, Step: StepNext, Started: t.now, Revision: t.d.Revision, From: t.r.Sets, Shrink: sh}
	op.To = t.shrunk(op)
	t.r.Operation = op
	t.report(Report{Reason: "ShrinkStarted", Status: StatusInProgress, Message: shrinkWords(op.From, op.To)})
	return true
}

func (t *turn) leftOver(sets []RecordedSet) string {
	var left []string
	for _, s := range sets {
		left = append(left, fmt.Sprintf("%s at %d of %d", s.Name, s.Replicas, t.target(s.Name)))
	}
	return strings.Join(left, ", ")
}

// shrunk is what the operation comes to as things are wanted now.
func (t *turn) shrunk(op *Operation) []RecordedSet {
	to := slices.Clone(op.From)
	for i := range to {
		if t.data(to[i]) != op.Shrink.Masters {
			to[i].Replicas = min(to[i].Replicas, t.target(to[i].Name))
		}
	}
	return to
}

func shrinkWords(from, to []RecordedSet) string {
	var parts []string
	for i, s := range to {
		if from[i].Replicas != s.Replicas {
			parts = append(parts, fmt.Sprintf("group %s from %d to %s", s.Group, from[i].Replicas, numberOf(s.Replicas, "node")))
		}
	}
	if len(parts) == 0 {
		return "removing an empty group"
	}
	return "shrinking " + strings.Join(parts, ", ")
}

// shrinkWaits are the gates before nodes of these sets are drained.
func (t *turn) shrinkWaits(sh *Shrink, sets []RecordedSet) bool {
	db := &t.o.Database
	if t.shrinkReading(sets) {
		return true
	}
	reason, waits := gates.AllocationEnabled(db.Allocation, freeAllocation)
	if !waits && !t.heldByLeaving() {
		h := &db.Health
		reason, waits = gates.HealthGreen(h.Colour.String(), false, h.Missing, h.Underreplicated, h.Tables, t.missingWhy())
	}
	if !waits {
		reason, waits = t.clusterHealthWaits(false)
	}
	if !waits {
		reason, waits = t.snapshotWaits()
	}
	if !waits && !sh.MasterStable {
		reason, waits = gates.MasterStable(t.masterElapsed())
		sh.MasterStable = !waits
	}
	if waits {
		t.wait(reason)
		return true
	}
	if t.unexplained() || t.r.Hold != nil {
		return true
	}
	before := len(t.d2.Refusals)
	for _, s := range sets {
		live := t.live(s.Name)
		if live == nil || live.Replicas != s.Replicas || !live.Ours {
			// It is being applied, or was raised by hand, which is refused by name.
			n := 0
			if live != nil {
				n = live.Replicas
			}
			t.wait(gates.ReplicasLive(s.Name, n, s.Replicas))
			return true
		}
		if !sh.Hidden.IsZero() && t.elapsed(sh.Hidden) < hiddenRetry {
			t.refusal(gates.ExclusionHidden())
		}
	}
	if reason, refused := t.voidsOthers(); refused {
		t.refusal(reason)
	}
	if !sh.Masters {
		t.fits(sets)
	}
	return len(t.d2.Refusals) > before
}

// fits is false, and each reason refused by its name, where what leaves of these sets cannot
// be drained.
func (t *turn) fits(sets []RecordedSet) bool {
	reasons := t.forecast(sets).refusals()
	for _, r := range reasons {
		t.refusal(r)
	}
	return len(reasons) == 0
}

// forecast is of all these sets becoming as small as they are wanted.
func (t *turn) forecast(sets []RecordedSet) *forecast {
	var leaving, remaining []*Node
	for i := range t.o.Pods {
		p := &t.o.Pods[i]
		s := recorded(t.r.Sets, p.Set)
		if s == nil || !t.data(*s) {
			continue
		}
		for j := range t.o.Database.Nodes {
			n := &t.o.Database.Nodes[j]
			switch {
			case n.Name != p.NodeName:
			case recorded(sets, p.Set) != nil && p.Ordinal >= t.target(p.Set):
				leaving = append(leaving, n)
			default:
				remaining = append(remaining, n)
			}
		}
	}
	has := t.d.Operations.Has
	db := t.o.Database // what is kept points to no turn
	return newForecast(&db, t.r.Version, leaving, remaining, has(definition.ConsentExtendTableFilters), has(definition.ConsentLeaveZone))
}

// shrinkReading: a whole and fresh reading in which every expected node is
// there; a pod that is to leave and in which CrateDB never started is not.
func (t *turn) shrinkReading(sets []RecordedSet) bool {
	db := &t.o.Database
	for _, s := range sets {
		t.sayWhose(s)
	}
	c := t.nodesBut(t.r.Sets, t.mendsOrLeaves, func(set string, ordinal int) bool {
		return recorded(sets, set) != nil && ordinal >= t.target(set) && t.neverStarted(t.pod(set, ordinal))
	})
	reason, waits := gates.Contact(t.contact(), db.Error)
	if !waits {
		reason, waits = gates.FreshReading(t.elapsed(db.At), first(t.p.ReadingAge, DefaultReadingAge))
	}
	if !waits {
		reason, waits = t.nodesWait()
	}
	if !waits {
		reason, waits = gates.Recovered(db.Recovered == Yes && db.MasterNode != "", c.joined, c.wanted)
	}
	if !waits {
		reason, waits = gates.DetailKnown(db.TablesKnown && db.ShardsKnown, db.tablesWhy())
	}
	if !waits && !db.SnapshotsKnown {
		reason, waits = t.snapshotWaits()
	}
	if !waits {
		reason, waits = gates.AllocationKnown(db.AllocationKnown)
	}
	if !waits {
		reason, waits = gates.Joined(c.joined, c.wanted, c.notJoined, c.notJoinedWhy)
	}
	if !waits {
		reason, waits = t.nameTwice()
	}
	if !waits {
		reason, waits = t.silentBut("")
	}
	if waits {
		t.wait(reason)
		return true
	}
	return t.blind()
}

// shrink takes one that has begun a step further, and gives back what one
// excluded that is known no more.
func (t *turn) shrink() {
	if !t.shrinking() {
		t.include()
		if t.r.Bootstrap.Done {
			t.unexplainedExclusion()
			t.recoverDue()
		}
		return
	}
	op, sh := *t.r.Operation, *t.r.Operation.Shrink
	op.Shrink, op.Revision = &sh, t.d.Revision
	op.To = t.shrunk(&op)
	t.r.Operation = &op
	// What is not wanted any more goes back, unless nodes are leaving already.
	back := t.aborted() || t.blocked || t.parked || t.needsNodesFirst() || sh.Set != "" && t.target(sh.Set) != sh.To
	if back && (op.Step == StepExclude || op.Step == StepDrain || op.Step == StepSmaller && t.live(sh.Set) != nil && t.live(sh.Set).Replicas >= sh.Before) {
		t.endShrink()
		op.Step = StepInclude
	}
	switch op.Step {
	case StepExclude:
		t.excludeStep(&op)
	case StepDrain:
		t.drainStep(&op)
	case StepSmaller:
		t.smallerStep(&op)
	case StepGone:
		t.goneStep(&op)
	case StepInclude:
		if t.include(); t.r.Exclusions == nil {
			sh.Set, op.Step = "", StepNext
		}
	case StepDelete:
		t.removeSet(&op)
	case StepAcknowledge:
		t.shrinkAcknowledge(&op)
	default:
		t.nextShrink(&op)
	}
	t.scaleTimeout()
}

// endShrink takes back an intent that was not carried out: the set is as large as
// it is live, but for what somebody has added by hand: that is asked for by a definition.
func (t *turn) endShrink() {
	if !t.shrinking() || t.r.Operation.Shrink.Set == "" {
		return
	}
	name, sh := t.r.Operation.Shrink.Set, t.r.Operation.Shrink
	live := t.live(name)
	if live == nil || !live.Ours {
		return
	}
	back := live.Replicas
	if back > sh.From {
		back = sh.Before
	}
	t.setReplicas(name, max(t.recordedReplicas(name), back))
}

func (t *turn) recordedReplicas(set string) int {
	if s := recorded(t.r.Sets, set); s != nil {
		return s.Replicas
	}
	return 0
}

func (t *turn) setReplicas(set string, n int) {
	t.r.Sets = slices.Clone(t.r.Sets)
	for i := range t.r.Sets {
		if t.r.Sets[i].Name == set {
			t.r.Sets[i].Replicas = n
		}
	}
}

// nextShrink chooses the next set and looks at every gate again.
func (t *turn) nextShrink(op *Operation) {
	sh := op.Shrink
	sets := t.toShrink(sh.Masters)
	switch {
	case t.aborted() || t.blocked || t.parked || t.needsNodesFirst():
		t.shrinkEnds(op)
		return
	case len(sets) == 0:
		op.Step = StepAcknowledge
		t.shrinkAcknowledge(op)
		return
	}
	for _, s := range sets {
		if s.Replicas == 0 {
			sh.Set, sh.From, sh.To, sh.Since, op.Step = s.Name, 0, 0, t.now, StepDelete
			t.removeSet(op)
			return
		}
	}
	if t.shrinkWaits(sh, sets) {
		return
	}
	s := t.leavesFirst(sets)
	f := t.forecast([]RecordedSet{s})
	*sh = Shrink{
		Masters: sh.Masters, MasterStable: true, Hidden: sh.Hidden, Set: s.Name, From: s.Replicas, To: t.target(s.Name), Before: s.Replicas,
		LeaveZone: f.leave && f.zoneLost(), Since: t.now, Leaving: t.leaving(s.Name, t.target(s.Name), s.Replicas), Evidence: sh.Evidence,
	}
	op.Step = StepExclude
	x := &Exclusions{Set: s.Name, Before: t.o.Database.Settings.Exclude["_id"]}
	var ids []string
	for _, n := range sh.Leaving {
		if n.ID != "" {
			ids = append(ids, n.ID)
		}
	}
	x.IDs = strings.Join(ids, ",")
	if f.extend {
		x.Tables, _ = f.tableExclusions(f.leaving)
	}
	t.r.Exclusions = x
}

// leavesFirst is a group that is gone from the definition, where there is one: an upgrade
// has left it on the version before, and while its nodes count they are to take copies
// of newer ones, which they never do.
func (t *turn) leavesFirst(sets []RecordedSet) RecordedSet {
	for _, s := range sets {
		if t.wanted(s.Name) == nil {
			return s
		}
	}
	return sets[0]
}

// leaving are the nodes in a set's pods from one ordinal to another.
func (t *turn) leaving(set string, from, to int) []LeavingNode {
	var out []LeavingNode
	for ordinal := from; ordinal < to; ordinal++ {
		p := t.pod(set, ordinal)
		if p == nil {
			continue
		}
		n := LeavingNode{Name: p.NodeName, Pod: p.Name, Ordinal: ordinal}
		for i := range t.o.Database.Nodes {
			if t.o.Database.Nodes[i].Name == p.NodeName {
				n.ID = t.o.Database.Nodes[i].ID
			}
		}
		out = append(out, n)
	}
	return out
}

// shrinkEnds drops the operation: what became smaller stays so.
func (t *turn) shrinkEnds(op *Operation) {
	t.r.Operation = nil
	t.report(Report{Reason: "ShrinkEnded", Warning: true, Status: StatusFailure, Message: "the shrink has ended before all of it was done: the exclusions were given back, and " + t.sizes(op.From)})
}

func (t *turn) sizes(from []RecordedSet) string {
	var parts []string
	for _, s := range from {
		parts = append(parts, fmt.Sprintf("%s has %d of %d nodes", s.Group, t.recordedReplicas(s.Name), s.Replicas))
	}
	return strings.Join(parts, ", ")
}

// shrinkAcknowledge is the last step: reacknowledge does it, and this waits for it.
func (t *turn) shrinkAcknowledge(op *Operation) {
	if len(t.toShrink(op.Shrink.Masters)) > 0 && !t.blocked && !t.parked {
		op.Step = StepNext
		return
	}
	if reason, waits := gates.NodeChecks(t.o.Database.ChecksKnown, t.openChecks()); waits {
		t.wait(reason)
		return
	}
	op.To = slices.Clone(op.From)
	smaller := false
	for i := range op.To {
		op.To[i].Replicas = min(op.To[i].Replicas, t.recordedReplicas(op.To[i].Name))
		smaller = smaller || op.To[i].Replicas < op.From[i].Replicas || recorded(t.r.Sets, op.To[i].Name) == nil
	}
	if !smaller {
		t.shrinkEnds(op)
		return
	}
	t.r.Operation = nil
	r := t.scaleReport(*op)
	r.Reason, r.Message = "ShrinkSucceeded", shrinkWords(op.From, op.To)+": the nodes that left were empty"+op.Shrink.emptyBy()
	t.outcome(OperationShrink, StatusSuccess, "", r)
}

// scaleTimeout reports once that it takes too long; work goes on.
func (t *turn) scaleTimeout() {
	op := t.r.Operation
	limit := first(t.d.Operations.ScaleTimeout, t.p.ScaleTimeout, DefaultScaleTimeout)
	if !t.shrinking() || op.TimedOut || t.elapsed(op.Started) <= limit {
		return
	}
	next := *op
	next.TimedOut = true
	t.r.Operation = &next
	r := t.scaleReport(next)
	r.Reason, r.Warning = "ShrinkTimedOut", true
	r.Message = fmt.Sprintf("%s has taken more than %s and is still being tried; it waits for: %s", shrinkWords(next.From, next.To), limit, t.words())
	t.outcome(OperationShrink, StatusFailure, "scale-timeout", r)
}
