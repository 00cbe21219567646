package rollout

import (
	"time"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/setting"
	"stevedore.dev/stevedore/ops/view"
)

// nextStep chooses the set and the pod, and asks every check.
func nextStep(t *pass.Pass, op *model.Operation) {
	r := op.Restart
	r.Pod, r.PodUID, r.Template, r.Zone, r.Pods, r.Unseen, r.Gone, r.Narrow = "", "", "", "", nil, false, false, false
	switch {
	case t.Record.Lock != nil:
		giveBackLostLock(t, op)
		return
	case otherOperationFirst(&t.View, op), aim.MakesRoom(&t.View):
		if !aim.RollBackFirst(t, r) {
			t.Record.Operation = nil // what is left is restarted after it
		}
		return
	case aim.LeavesStuck(t, r):
		return
	}
	set := nextSet(&t.View, op)
	switch {
	case set == "":
		endStep(t, op)
	case t.Rejected: // a refusal has said why
	case contactWaits(t, set):
	case r.Set != set && aim.RollBackFirst(t, r): // that one comes again later
	default:
		if r.Set != set {
			beginsNext(t, r, set)
		}
		takePod(t, op, set)
	}
}

// giveBackLostLock gives an allocation lock back that a record which was lost has left. The new
// template of a set may be what brings the contact back.
func giveBackLostLock(t *pass.Pass, op *model.Operation) {
	setting.GiveBackLock(t)
	set := aim.QuorumWaits(&t.View)
	if view.HasMaster(&t.View) || t.Rejected || !view.PendingRestart(&t.View, set) {
		return
	}
	if op.Kind == model.OperationRestart && aim.UpgradeDue(&t.View) {
		t.Record.Operation = nil // an upgrade brings it
		return
	}
	beginsNext(t, op.Restart, set)
}

// otherOperationFirst: nodes come or go, or another version is desired: each is an operation of its
// own. A template on trial is verified before; that of a group that is to go never is.
func otherOperationFirst(v *view.View, op *model.Operation) bool {
	r := op.Restart
	if op.Kind != model.OperationRestart || v.Rejected || !aim.NodesChange(v) && !aim.UpgradeDue(v) {
		return false
	}
	goes := v.DesiredSet(r.Set) == nil && aim.NothingToRollBackTo(v, r)
	return goes || !v.Contact() || !aim.TrialPods(v, r.Set)
}

// nextSet is the set that is restarted now; "" where none is to be.
func nextSet(v *view.View, op *model.Operation) string {
	set := aim.NextSet(v)
	if staysWith(v, op, set) {
		return op.Restart.Set
	}
	return set
}

// staysWith: once a pod has joined on it, a new image comes to no second set before the first
// one is done, and until then a new template to none but one whose pod fails or is stuck. What waits for a
// pod that is not ready waits for that one's template too.
func staysWith(v *view.View, op *model.Operation, next string) bool {
	set := op.Restart.Set
	if aim.TrialPods(v, set) {
		return true
	}
	if set == "" || aim.FirstOutdated(v, set) == nil || view.AnyHealedByRestart(v, next) {
		return false
	}
	// Where the nodes cannot be read nobody knows whether the set may roll back before the next one.
	unread := v.Contact() && !v.Observed.Database.NodesKnown
	if aim.JoinedOnLive(v, set) && !view.PendingRestart(v, set) {
		return op.Kind == model.OperationUpgrade
	}
	return unread || !aim.Failing(v, next) && !aim.StuckOnLive(v, next)
}

// contactWaits: nobody can say whether the last new template runs. The set whose template
// may bring the contact back does not wait for it.
func contactWaits(t *pass.Pass, set string) bool {
	v := &t.View
	reason, waits := gates.Contact(v.Contact(), v.Observed.Database.Error)
	if !waits || !view.PendingRestart(v, set) || set == view.SoleVoter(v) {
		return false
	}
	if (aim.Failing(v, set) || view.Unreachable(v)) && !aim.OtherTrialFirst(v, set) {
		return false
	}
	t.Wait(reason)
	return true
}

// endStep ends a restart in which nothing is left to do, once all is well again.
func endStep(t *pass.Pass, op *model.Operation) {
	switch {
	case awaitsTemplate(t, ""):
	case endWaits(t): // a pod that was recreated is not back yet
	case op.Kind == model.OperationUpgrade && versionWaits(t):
	default:
		ended(t, op)
	}
}

// takePod chooses the pod of a set, and records the allocation lock under which it goes.
func takePod(t *pass.Pass, op *model.Operation, set string) {
	r, waits := op.Restart, awaitsTemplate(t, set)
	p := aim.FirstOutdated(&t.View, set)
	if waits || p == nil {
		m := move(t, nil, "")
		m.Stop(t, whoIsThere)
		return
	}
	if setting.UnexplainedLock(t) {
		return
	}
	if !t.Record.LockHidden.IsZero() && t.Elapsed(t.Record.LockHidden) < setting.HiddenRetry {
		t.Refuse(gates.HoldHidden())
		return
	}
	if podWaits(t, op, p, setting.NormalAllocation) || notStable(t, r, time.Time{}) {
		return
	}
	op.Step, r.Pod, r.PodUID, r.Template = model.StepLock, p.Name, p.UID, p.Template
	r.Zone, r.Pods = together(&t.View, set, p)
	t.Record.Lock = &model.AllocationLock{Set: set, Value: setting.LockedAllocation, Before: setting.NormalAllocation}
}

// beginsNext chooses a set, and forgets the template that is kept to roll back to: it may still
// be of an earlier restart, which was released.
func beginsNext(t *pass.Pass, r *model.Restart, set string) {
	r.Set, r.Remembered, t.NextSet = set, "", set
}

// awaitsTemplate reports whether the desired template of a set, or of one of all with "", is not live
// yet, or was not seen by the StatefulSet controller.
func awaitsTemplate(t *pass.Pass, set string) bool {
	v := &t.View
	if !aim.Applied(v) {
		return true
	}
	for _, s := range v.Record.Sets {
		if set != "" && s.Name != set || v.DesiredSet(s.Name) == nil {
			continue
		}
		live := v.Live(s.Name)
		if live == nil || t.Waits(gates.ControllerBehind(live.Name, live.Generation, live.ObservedGeneration)) || view.PendingRestart(v, s.Name) || !aim.GotDesired(v, s.Name) {
			return true
		}
	}
	return false
}
