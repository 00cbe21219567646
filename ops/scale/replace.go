package scale

import (
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// StartReplace begins to drain the next node that is to come onto other volumes; its pod stays
// until it is empty. It says whether one is due. With begun it is only for a node whose claims are
// being deleted already, and not due where it has to wait: its pod may go without a drain.
func StartReplace(t *pass.Pass, begun bool) bool {
	p := nextReplaced(&t.View, begun)
	if p == nil {
		return false
	}
	if first := nextReplaced(&t.View, true); first != nil {
		p = first // no second node before the volume of the first has gone: what that one waits for is said
	}
	waits, refusals := len(t.Decision.Waits), len(t.Decision.Refusals)
	s := *view.Recorded(t.Record.Sets, p.Set)
	sh := replaced(t, p, s)
	if replaceWaits(t, sh, p, s) {
		if begun {
			t.Decision.Waits, t.Decision.Refusals = t.Decision.Waits[:waits], t.Decision.Refusals[:refusals]
			return false
		}
		t.Decision.LookAgain = refusedLook * t.Poll()
		return true
	}
	replace(t, sh, model.OperationReplace, model.StepExclude)
	excludes(t, sh, p)
	return true
}

func replaced(t *pass.Pass, p *model.Pod, s model.RecordedSet) *model.Shrink {
	return &model.Shrink{
		Replaces: p.Name, Masters: !view.Data(&t.View, s), Set: s.Name, From: s.Replicas, To: s.Replicas, Before: s.Replicas, Since: t.Now,
		Leaving: leaving(&t.View, s.Name, p.Ordinal, p.Ordinal+1),
	}
}

// excludes records the exclusion of the node in a pod that stays.
func excludes(t *pass.Pass, sh *model.Shrink, p *model.Pod) {
	x := &model.Exclusions{Set: sh.Set, Before: t.Observed.Database.Settings.Exclude["_id"], IDs: sh.Leaving[0].ID, Replaces: p.UID}
	if f := forecast(&t.View, sh, nil); f.Extend {
		x.Tables = extendFilters(t, nil, f.Leaving)
	}
	t.Record.Exclusions = x
}

func replace(t *pass.Pass, sh *model.Shrink, kind model.OperationKind, step string) {
	t.Record.Operation = &model.Operation{Kind: kind, Step: step, Started: t.Now, Revision: t.Desired.Revision, From: t.Record.Sets, To: t.Record.Sets, Shrink: sh}
}

// TakesOver lets a node be drained whose claims are being deleted where a restart stands between two pods:
// it could wait at that pod for ever, and goes on afterwards. It says whether the restart gives way.
func TakesOver(t *pass.Pass) bool {
	op := t.Record.Operation
	if op == nil || op.Kind != model.OperationRestart || op.Step != model.StepNext || t.Record.Lock != nil {
		return false
	}
	if t.Record.Exclusions != nil || aim.TrialPods(&t.View, op.Restart.Set) || nextReplaced(&t.View, true) == nil {
		return false
	}
	probe := *t
	if !StartReplace(&probe, true) {
		return false
	}
	if !aim.RollBackFirst(t, op.Restart) {
		StartReplace(t, true)
	}
	return true
}

// DrainAgain drains a node once more whose claims are deleted, and to which an only copy has come back:
// its pod cannot go before. It says whether that is due.
func DrainAgain(t *pass.Pass) bool {
	if !view.Refilled(&t.View) || aim.DrainStops(&t.View) {
		return false
	}
	p := view.DrainedForNewVolume(&t.View)
	sh := replaced(t, p, *view.Recorded(t.Record.Sets, p.Set))
	replace(t, sh, model.OperationReplace, model.StepDrain)
	x := *t.Record.Exclusions
	x.Replaces = p.UID
	t.Record.Exclusions = &x
	return true
}

// nextReplaced is the pod of the lowest ordinal whose node is to come onto other volumes, once its
// StatefulSet makes such ones; nil where there is none. Of those whose claims are being deleted one comes
// first that may go.
func nextReplaced(v *view.View, begun bool) *model.Pod {
	if !aim.MayReplace(v) || v.Rejected || v.Suspending || view.Unequal(v) {
		return nil
	}
	var found *model.Pod
	for p := range model.Each(v.Observed.Pods) {
		if s := view.Recorded(v.Record.Sets, p.Set); s == nil || p.Ordinal >= s.Replicas || begun != (view.DeletedClaim(v, p) != nil) {
			continue
		}
		due := len(aim.OtherClaims(v, p)) > 0 && len(aim.OtherVolumes(v, p.Set)) == 0
		earlier := found == nil || p.Set == found.Set && p.Ordinal < found.Ordinal
		if begun && found != nil && view.ReplacesVolume(v, p) != view.ReplacesVolume(v, found) {
			earlier = view.ReplacesVolume(v, p)
		}
		if due && earlier {
			found = p
		}
	}
	return found
}

// replaceWaits are the gates before a node is drained for other volumes.
func replaceWaits(t *pass.Pass, sh *model.Shrink, p *model.Pod, s model.RecordedSet) bool {
	switch {
	case aim.Aborted(&t.View):
		t.Refuse(gates.DrainsAborted(gates.ReplacedStay))
		return true
	case view.FewVoters(&t.View, p):
		return t.Waits(gates.VolumesReplaced(true, "node "+p.NodeName+" votes, and with less than 3 master-eligible nodes the others may not go on without its volume: add nodes first"))
	case t.Observed.DeletesClaims == model.No:
		return t.Waits(gates.VolumesReplaced(true, "stevedore may not delete volume claims in this namespace: apply deploy/volumes there"))
	case t.Observed.DeletesClaims == model.Unknown:
		return t.Waits(gates.VolumesReplaced(true, "it is not known whether stevedore may delete volume claims: that is asked before a node is drained"))
	case !p.Ready, len(sh.Leaving) == 0, sh.Leaving[0].ID == "":
		return t.Waits(gates.VolumesReplaced(true, "node "+p.NodeName+" is not there"))
	}
	if shrinkWaits(t, sh, []model.RecordedSet{s}) {
		return true
	}
	return t.Waits(gates.DisruptedClusters(t.Observed.Disrupted, max(t.Policy.MaxDisruptedClusters, 1)))
}
