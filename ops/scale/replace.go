package scale

import (
	"strings"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/capacity"
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
	sh := replaced(t, p)
	switch {
	case !replaceWaits(t, sh, p):
		replace(t, sh, model.OperationReplace, model.StepExclude)
		excludes(t, forecast(&t.View, sh, nil), nil).Replaces = p.UID
	case begun:
		t.Decision.Waits, t.Decision.Refusals = t.Decision.Waits[:waits], t.Decision.Refusals[:refusals]
		return false
	}
	return true
}

func setOf(t *pass.Pass, p *model.Pod) []model.RecordedSet {
	return []model.RecordedSet{*view.Recorded(t.Record.Sets, p.Set)}
}

func replaced(t *pass.Pass, p *model.Pod) *model.Shrink {
	s := setOf(t, p)[0]
	return &model.Shrink{
		Replaces: p.Name, Masters: !view.Data(&t.View, s), Set: s.Name, From: s.Replicas, To: s.Replicas, Before: s.Replicas, Since: t.Now,
		Leaving: leaving(&t.View, s.Name, p.Ordinal, p.Ordinal+1),
	}
}

// excludes records the exclusion of the nodes that leave; nodes of all these StatefulSets leave in the end.
func excludes(t *pass.Pass, f *capacity.Forecast, sets []model.RecordedSet) *model.Exclusions {
	sh := t.Record.Operation.Shrink
	ids := model.Texts(sh.Leaving, func(n *model.LeavingNode) string { return n.ID })
	x := &model.Exclusions{Set: sh.Set, Before: t.Observed.Database.Settings.Exclude["_id"], IDs: strings.Join(ids, ",")}
	if f.Extend {
		x.Tables = extendFilters(t, sets, f.Leaving)
	}
	t.Record.Exclusions = x
	return x
}

func replace(t *pass.Pass, sh *model.Shrink, kind model.OperationKind, step string) {
	t.Record.Operation = &model.Operation{Kind: kind, Step: step, Started: t.Now, Revision: t.Desired.Revision, From: t.Record.Sets, To: t.Record.Sets, Shrink: sh}
}

// TakesOver lets a node be drained whose claims are being deleted where a restart stands between two pods:
// it could wait at that pod for ever, and goes on afterwards. It says whether the restart gives way.
func TakesOver(t *pass.Pass) bool {
	op := t.Record.Operation
	if !op.Is(model.OperationRestart) || op.Step != model.StepNext || t.Record.Lock != nil {
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
	replace(t, replaced(t, p), model.OperationReplace, model.StepDrain)
	model.Own(&t.Record.Exclusions).Replaces = p.UID
	return true
}

// nextReplaced is the pod of the lowest ordinal whose node is to come onto other volumes, once its
// StatefulSet makes such ones; nil where there is none. Of those whose claims are being deleted one comes
// first that may go.
func nextReplaced(v *view.View, begun bool) *model.Pod {
	resized := !begun && view.Unequal(v)
	if !aim.MayReplace(v) || v.Rejected || v.Suspending || resized {
		return nil
	}
	due := func(p *model.Pod) bool {
		others := len(aim.OtherVolumes(v, p.Set)) == 0 && losesClaims(v, p)
		return others && begun == (view.DeletedClaim(v, p) != nil) && view.ComesBack(v, p)
	}
	if begun {
		agreed := func(p *model.Pod) bool { return view.ReplacesVolume(v, p) }
		if p := lowest(v, func(p *model.Pod) bool { return due(p) && agreed(p) }); p != nil || v.AnyPod(agreed) {
			return p // of one that leaves they go with it, and those of no second node before that
		}
	}
	return lowest(v, due)
}

// losesClaims reports whether claims of a pod are replaced: those that only so become as desired, and one that is being deleted,
// and of which it is agreed that its volume goes, whatever is desired by then.
func losesClaims(v *view.View, p *model.Pod) bool {
	return len(aim.OtherClaims(v, p)) > 0 || view.ReplacesVolume(v, p)
}

// replaceWaits are the gates before a node is drained for other volumes.
func replaceWaits(t *pass.Pass, sh *model.Shrink, p *model.Pod) bool {
	may := t.Observed.DeletesClaims
	if view.ReplacesVolume(&t.View, p) {
		may = model.Yes // its claims are being deleted already
	}
	switch {
	case aim.Aborted(&t.View):
		t.Refuse(gates.DrainsAborted(gates.ReplacedStay))
		return true
	case view.FewVoters(&t.View, p):
		return t.Waits(gates.VolumesReplaced(true, "node "+p.NodeName+" votes, and with less than 3 master-eligible nodes the others may not go on without its volume: add nodes first"))
	case may == model.No:
		return t.Waits(gates.VolumesReplaced(true, "stevedore may not delete volume claims in this namespace: apply deploy/volumes there"))
	case may == model.Unknown:
		return t.Waits(gates.VolumesReplaced(true, "it is not known whether stevedore may delete volume claims: that is asked before a node is drained"))
	case !p.Ready, len(sh.Leaving) == 0, sh.Leaving[0].ID == "":
		return t.Waits(gates.VolumesReplaced(true, "node "+p.NodeName+" is not there"))
	}
	return shrinkWaits(t, sh, setOf(t, p))
}

// lowest is the pod for which it is due that has the lowest ordinal of its StatefulSet; nil for none.
func lowest(v *view.View, due func(p *model.Pod) bool) (found *model.Pod) {
	for p := range model.Each(v.Observed.Pods) {
		s := view.Recorded(v.Record.Sets, p.Set)
		before := found == nil || p.Set == found.Set && p.Ordinal < found.Ordinal
		if before && s != nil && p.Ordinal < s.Replicas && due(p) {
			found = p
		}
	}
	return found
}
