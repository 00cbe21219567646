package scale

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/check"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/setting"
	"stevedore.dev/stevedore/ops/view"
)

// StartShrink begins a drain where nodes are to leave; with masters, of
// dedicated masters only. It says whether one is due.
func StartShrink(t *pass.Pass, masters bool) bool {
	sets := ToShrink(&t.View, masters)
	if len(sets) == 0 {
		return false
	}
	if aim.Aborted(&t.View) {
		left := model.Texts(sets, func(s *model.RecordedSet) string {
			return fmt.Sprintf("%s at %d of %d", s.Name, s.Replicas, view.Target(&t.View, s.Name))
		})
		t.Refuse(gates.ShrinkAborted(strings.Join(left, ", ")))
		return true
	}
	sh := &model.Shrink{Masters: masters, Since: t.Now}
	if shrinkWaits(t, sh, sets) {
		return true
	}
	op := &model.Operation{Kind: model.OperationShrink, Step: model.StepNext, Started: t.Now, Revision: t.Desired.Revision, From: t.Record.Sets, Shrink: sh}
	op.To = shrunk(&t.View, op)
	t.Record.Operation = op
	t.Report(model.Report{Reason: "ShrinkStarted", Status: model.StatusInProgress, Message: shrinkWords(op.From, op.To)})
	return true
}

// shrunk is the size of each set when the operation ends, by what is desired now.
func shrunk(v *view.View, op *model.Operation) []model.RecordedSet {
	to := slices.Clone(op.From)
	for i := range to {
		if view.Data(v, to[i]) != op.Shrink.Masters {
			to[i].Replicas = min(to[i].Replicas, view.Target(v, to[i].Name))
		}
	}
	return to
}

func shrinkWords(from, to []model.RecordedSet) string {
	words := sizeWords(from, to)
	if words == "" {
		return "removing an empty group"
	}
	return "shrinking " + words
}

// Before nodes are drained, and before each step of a drain: a whole and fresh reading, in
// which every expected node is there.
var (
	BeforeStep = []check.Check{
		check.Contact, check.FreshReading, check.NodesKnown, check.GatewayRecovered, check.ShardsKnown, check.SnapshotsKnown,
		check.AllocationKnown, check.NodesJoined, check.NodeNames, check.NodesAnswer,
	}
	BeforeDrain = []check.Check{check.AllocationEnabled, check.HealthGreen, check.ClusterHealth, check.NoSnapshot, check.MasterStable}
)

// shrinkWaits are the gates before nodes of these sets are drained.
func shrinkWaits(t *pass.Pass, sh *model.Shrink, sets []model.RecordedSet) bool {
	if shrinkReading(t, sets) {
		return true
	}
	m := check.Move{Allocation: setting.NormalAllocation, Explained: view.YellowByLeaving(&t.View), MasterStable: &sh.MasterStable}
	if m.Stop(t, BeforeDrain) || setting.UnexplainedLock(t) || t.Record.Lock != nil {
		return true
	}
	before := len(t.Decision.Refusals)
	for _, s := range sets {
		live, replicas := t.Live(s.Name), aim.LiveReplicas(&t.View, s.Name)
		if replicas != s.Replicas || live != nil && !live.Ours {
			// It is being applied, or was raised by hand, which is refused by name. Of a group without nodes none may ever have been made.
			t.Wait(gates.ReplicasLive(s.Name, replicas, s.Replicas))
			return true
		}
		if !sh.Hidden.IsZero() && t.Elapsed(sh.Hidden) < setting.HiddenRetry {
			t.Refuse(gates.ExclusionHidden())
		}
	}
	t.Refuses(setting.EndsOthersExclusions(&t.View))
	if !sh.Masters {
		fits(t, sh, sets)
	}
	return len(t.Decision.Refusals) > before
}

// fits reports whether what leaves of these sets can be drained, and refuses by name why not.
func fits(t *pass.Pass, sh *model.Shrink, sets []model.RecordedSet) bool {
	reasons := forecast(&t.View, sh, sets).Refusals()
	t.Refuse(reasons...)
	return len(reasons) == 0
}

// shrinkReading asks BeforeStep: a pod that is to leave and in which CrateDB never started
// is not expected.
func shrinkReading(t *pass.Pass, sets []model.RecordedSet) bool {
	for _, s := range sets {
		t.MarkClaims(s)
	}
	m := check.Move{Nodes: t.NodesBut(t.Record.Sets, func(p *model.Pod) bool { return view.HealedOrLeaves(&t.View, p) }, func(set string, ordinal int) bool {
		return view.Recorded(sets, set) != nil && ordinal >= view.Target(&t.View, set) && view.NeverStarted(&t.View, t.Pod(set, ordinal))
	})}
	return m.Stop(t, BeforeStep) || access.TablesMayBeHidden(t)
}

// dataFirst: dedicated masters wait for data nodes that are to leave, since only these could take the
// copies that are missing, and they run an older version. Masters would wait for those copies for ever.
func dataFirst(v *view.View, sh *model.Shrink) bool { return sh.Masters && view.YellowByLeaving(v) }

// nodesOrUpgradeFirst reports whether a shrink waits for what another operation brings.
func nodesOrUpgradeFirst(v *view.View, sh *model.Shrink) bool {
	return NeedsNodesFirst(v) || dataFirst(v, sh) || upgradeFirst(v)
}

// allStay: none of the nodes has been taken out of its StatefulSet yet.
func allStay(v *view.View, op *model.Operation) bool {
	switch sh := op.Shrink; op.Step {
	case model.StepExclude, model.StepDrain, model.StepClaims:
		return true
	case model.StepSmaller:
		live := v.Live(sh.Set)
		return live != nil && live.Replicas >= sh.Before
	}
	return false
}

// Shrink takes a shrink that has begun a step further. Without one it gives back exclusions whose
// shrink is no longer known.
func Shrink(t *pass.Pass) {
	if !aim.Shrinking(&t.View) {
		setting.GiveBackExclusions(t)
		if t.Record.Bootstrap.Done {
			setting.UnexplainedExclusion(t)
			recoverDue(t)
			leavesBeforeUpgrade(t)
		}
		return
	}
	op := model.Own(&t.Record.Operation)
	sh := model.Own(&op.Shrink)
	op.Revision, op.To = t.Desired.Revision, shrunk(&t.View, op)
	// A drain that is no longer desired goes back, unless nodes are leaving already.
	retargeted := sh.Set != "" && view.Target(&t.View, sh.Set) != sh.To && !losesVolume(&t.View, sh)
	back := !deletionCutOff(&t.View, op) && (retargeted || nodesOrUpgradeFirst(&t.View, sh) || drainNotDesired(&t.View, sh))
	// So does one for which a pod is missing that does not come back before its StatefulSet is recreated.
	held := view.AnyBehindMissingDisk(&t.View)
	back = aim.DrainStops(&t.View) || held || back && !view.Refilled(&t.View)
	if view.DrainedForNewVolume(&t.View) != nil && (back || op.Step == model.StepInclude) {
		restartsReplaced(t, op.Revision) // its claims are deleted already, and nothing takes that back
		return
	}
	if back && allStay(&t.View, op) {
		aim.EndShrink(t)
		op.Step = model.StepInclude
	}
	if held && (op.Step == model.StepInclude || op.Step == model.StepGone) {
		t.Record.Operation = nil // who gives it back may be missing, or who is to go
		setting.GiveBackExclusions(t)
		return
	}
	switch op.Step {
	case model.StepExclude:
		excludeStep(t, op)
	case model.StepDrain:
		drainStep(t, op)
	case model.StepSmaller:
		smallerStep(t, op)
	case model.StepGone:
		goneStep(t, op)
	case model.StepInclude:
		if setting.GiveBackExclusions(t); t.Record.Exclusions == nil {
			sh.Set, op.Step = "", model.StepNext
		}
	case model.StepClaims:
		claimsStep(t, op)
	case model.StepDelete:
		removeSet(t, op)
	case model.StepAcknowledge:
		shrinkAcknowledge(t, op)
	default:
		nextShrink(t, op)
	}
	if op := t.Record.Operation; aim.Shrinking(&t.View) && op.Shrink.Replaces != "" {
		tooLong(t, op, "ShrinkTimedOut", func() string { return "draining the node of pod " + op.Shrink.Replaces + " for its disks" })
	} else if aim.Shrinking(&t.View) {
		tooLong(t, op, "ShrinkTimedOut", func() string { return shrinkWords(op.From, op.To) })
	}
}

// losesVolume reports whether claims of the node that is drained in place are being deleted: it is drained whatever size
// is desired, as its pod does not restart before that.
func losesVolume(v *view.View, sh *model.Shrink) bool {
	p := view.PodNamed(v, sh.Replaces)
	return p != nil && view.ComesBack(v, p) && view.DeletedClaim(v, p) != nil
}

// leavesBeforeUpgrade says whose the claims are of a group that came with the cluster, never
// joined and is to go: an upgrade would wait for its pods unless they leave before.
func leavesBeforeUpgrade(t *pass.Pass) {
	for _, s := range t.Record.Sets {
		if aim.UpgradeDue(&t.View) && t.DesiredSet(s.Name) == nil {
			t.MarkClaims(s)
		}
	}
}

// nextShrink chooses the next set and looks at every gate again.
func nextShrink(t *pass.Pass, op *model.Operation) {
	sh := op.Shrink
	if sh.Replaces != "" {
		if !sh.Hidden.IsZero() && t.Elapsed(sh.Hidden) < setting.HiddenRetry {
			t.Refuse(gates.ExclusionHidden())
			return
		}
		t.Record.Operation = nil // the next node is looked for anew
		return
	}
	sets := ToShrink(&t.View, sh.Masters)
	switch {
	case aim.DrainStops(&t.View), nodesOrUpgradeFirst(&t.View, sh):
		shrinkEnds(t, op)
		return
	case len(sets) == 0:
		op.Step = model.StepAcknowledge
		shrinkAcknowledge(t, op)
		return
	}
	for _, s := range sets {
		if s.Replicas == 0 {
			sh.Set, sh.From, sh.To, sh.Since, op.Step = s.Name, 0, 0, t.Now, model.StepDelete
			removeSet(t, op)
			return
		}
	}
	if shrinkWaits(t, sh, sets) {
		return
	}
	s := leavesFirst(&t.View, sets)
	f := forecast(&t.View, sh, []model.RecordedSet{s})
	*sh = model.Shrink{
		Masters: sh.Masters, MasterStable: true, Hidden: sh.Hidden, Pinned: sh.Pinned, Behind: sh.Behind, Set: s.Name, From: s.Replicas, To: view.Target(&t.View, s.Name), Before: s.Replicas,
		LeaveZone: f.Leave && f.ZoneLost(), Since: t.Now, Evidence: sh.Evidence,
	}
	first := sh.To
	if sh.LeaveZone && aim.Eligible(&t.View, s) {
		// What this node leaves behind no other zone takes while its own has a member: so that one is not
		// excluded yet.
		first = s.Replicas - 1
	}
	sh.Leaving = leaving(&t.View, s.Name, first, s.Replicas)
	op.Step = model.StepExclude
	excludes(t, f, sets)
}

// leavesFirst is a group that has left the definition, where there is one: an upgrade has left it
// on the version before. While its nodes count they are to take copies of newer ones, which
// CrateDB never lets them.
func leavesFirst(v *view.View, sets []model.RecordedSet) model.RecordedSet {
	for _, s := range sets {
		if v.DesiredSet(s.Name) == nil {
			return s
		}
	}
	return sets[0]
}

// leaving are the nodes in a set's pods from one ordinal to another.
func leaving(v *view.View, set string, from, to int) []model.LeavingNode {
	var out []model.LeavingNode
	for ordinal := from; ordinal < to; ordinal++ {
		p := v.Pod(set, ordinal)
		if p == nil {
			continue
		}
		n := model.LeavingNode{Name: p.NodeName, Pod: p.Name, Ordinal: ordinal}
		if is := view.NodeNamed(v, p.NodeName); is != nil {
			n.ID = is.ID
		}
		out = append(out, n)
	}
	return out
}

// shrinkEnds drops the operation: what became smaller stays so.
func shrinkEnds(t *pass.Pass, op *model.Operation) {
	t.Record.Operation = nil
	sizes := model.Texts(op.From, func(s *model.RecordedSet) string {
		return fmt.Sprintf("%s has %d of %d nodes", s.Group, aim.RecordedReplicas(&t.View, s.Name), s.Replicas)
	})
	t.Report(model.Report{Reason: "ShrinkEnded", Warning: true, Status: model.StatusFailure, Message: "the shrink has ended before all of it was done: the exclusions were given back, and " + strings.Join(sizes, ", ")})
}

// shrinkAcknowledge is the last step: reacknowledge does it, and this waits for it. Where no node has left it does not:
// a node that is missing may wait for what comes after this shrink.
func shrinkAcknowledge(t *pass.Pass, op *model.Operation) {
	op.To = slices.Clone(op.From)
	smaller := false
	for i := range op.To {
		op.To[i].Replicas = min(op.To[i].Replicas, aim.RecordedReplicas(&t.View, op.To[i].Name))
		smaller = smaller || op.To[i].Replicas < op.From[i].Replicas || view.Recorded(t.Record.Sets, op.To[i].Name) == nil
	}
	if !smaller {
		shrinkEnds(t, op)
		return
	}
	if t.Waits(gates.NodeChecks(t.Observed.Database.ChecksKnown, openChecks(&t.View))) {
		return
	}
	t.Record.Operation = nil
	words := shrinkWords(op.From, op.To) + ": the nodes left " + gates.LeftBehind(op.Shrink.Behind) + op.Shrink.EmptyBy()
	if pinned := op.Shrink.Pinned; len(pinned) > 0 {
		words += "; the filters of " + strings.Join(pinned, ", ") + " were given back and name only nodes that have left: a copy that is lost is allocated nowhere, so change these filters or reset them"
	}
	aim.Outcome(t, model.OperationShrink, model.StatusSuccess, "", scaleReport(op, "ShrinkSucceeded", words))
}

// drainNotDesired: nobody asks for what the node is drained for or consents to it any more. That is to leave a zone, or to have
// other volumes.
func drainNotDesired(v *view.View, sh *model.Shrink) bool {
	switch p := view.PodNamed(v, sh.Replaces); {
	case sh.Replaces == "":
		return sh.LeaveZone && !mayLeaveZone(v, sh)
	case p != nil && v.Record.Operation.Is(model.OperationRemoveDisks):
		return view.SurplusOf(v, p) == "" || v.Record.Exclusions == nil || v.Record.Exclusions.Replaces != p.UID
	case p == nil, !aim.MayReplace(v), !losesClaims(v, p), len(aim.OtherVolumes(v, sh.Set)) > 0:
		return true
	default:
		return v.Record.Exclusions == nil || v.Record.Exclusions.Replaces != p.UID
	}
}

// deleteClaims decides the deletion of the claims of a node that was found empty. Kubernetes keeps
// them, and their volumes, until its pod goes.
func deleteClaims(t *pass.Pass, op *model.Operation) {
	claims := claimsLeft(&t.View, op.Shrink)
	if len(claims) == 0 {
		return // somebody has deleted them, and agreed
	}
	a := lookOnceMore(t, op.Shrink, 0)
	a.Kind, a.Claims = model.ActionDeleteClaims, strings.Join(claims, ",")
	t.Decision.Disruptive = &a
}

// claimsLeft are the claims of a node that come to other volumes, and are still to be deleted, and those of which the deletion
// was cut off. Of a node that leaves, and comes back before for a disk that it lacks, these are the ones that somebody has
// deleted: the others stay.
func claimsLeft(v *view.View, sh *model.Shrink) (left []string) {
	p := view.PodNamed(v, sh.Replaces)
	claims := cutOff(v, sh, p)
	if p.Ordinal < view.Target(v, p.Set) && aim.MayReplace(v) && len(aim.OtherVolumes(v, p.Set)) == 0 {
		claims = append(claims, slices.DeleteFunc(aim.OtherClaims(v, p), func(c *model.Claim) bool { return c.Terminating })...)
	}
	for _, c := range claims {
		left = append(left, c.Name+"/"+c.UID)
	}
	return left
}

// cutOff are the claims of a drained node that are being deleted, and do not say yet that their volumes may go: the
// daemon ended between the two writes. Nothing takes the deletion back, whatever is desired by now, and without the second
// write nobody would know whose it is. Where others are to be replaced, somebody else has deleted what is as desired, and
// somebody else has deleted what went before the node was empty: while nobody consents, the drain leaves that claim alone.
// Kubernetes says the time of a deletion in whole seconds.
func cutOff(v *view.View, sh *model.Shrink, p *model.Pod) []*model.Claim {
	claims := aim.OtherClaims(v, p)
	if len(claims) == 0 {
		claims = slices.Collect(view.ClaimsOf(v, p.Set, p.Ordinal))
	}
	ours := func(c *model.Claim) bool {
		return aim.MayReplace(v) || !sh.Drained.IsZero() && !c.Deleted.Before(sh.Drained.Truncate(time.Second))
	}
	return slices.DeleteFunc(claims, func(c *model.Claim) bool { return !c.Terminating || c.Replace || !ours(c) })
}

// deletionCutOff reports whether the drained node has such a claim.
func deletionCutOff(v *view.View, op *model.Operation) bool {
	p := view.PodNamed(v, op.Shrink.Replaces)
	return op.Step == model.StepClaims && p != nil && len(cutOff(v, op.Shrink, p)) > 0
}

// restartsReplaced lets a pod go whose claims are deleted, behind every gate of a restart.
func restartsReplaced(t *pass.Pass, revision string) {
	before, at, by := aim.Asked(&t.View)
	t.Record.Operation = &model.Operation{
		Kind: model.OperationRestart, Step: model.StepNext, Started: t.Now, Revision: revision,
		Restart: &model.Restart{Before: before, At: at, By: by, Since: t.Now, MasterStable: true, Replaces: true},
	}
}

// claimsStep repeats the deletion until it is seen, while the node is empty. Then the pod is
// restarted behind every gate, and no shard comes back to it before.
func claimsStep(t *pass.Pass, op *model.Operation) {
	if len(claimsLeft(&t.View, op.Shrink)) == 0 {
		restartsReplaced(t, op.Revision)
		return
	}
	if drainReading(t, op) {
		return
	}
	if _, witnessed := staysEmpty(t, op, 0); witnessed && !t.Waits(view.ClusterHealthWaits(&t.View, false)) {
		deleteClaims(t, op)
	}
}
