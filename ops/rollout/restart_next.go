package rollout

import (
	"slices"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/setting"
	"stevedore.dev/stevedore/ops/view"
)

// nextStep chooses the set and the pod, and looks at every gate.
func nextStep(t *pass.Pass, op *model.Operation) {
	r := op.Restart
	r.Pod, r.PodUID, r.Template, r.Zone, r.Pods = "", "", "", "", nil
	if t.Record.Hold != nil {
		setting.GiveBack(t) // a lost record's
		if set := aim.QuorumWaits(&t.View); !view.HasMaster(&t.View) && !t.Rejected && view.PendingRestart(&t.View, set) {
			if op.Kind == model.OperationRestart && aim.UpgradeDue(&t.View) {
				t.Record.Operation = nil // an upgrade brings it
				return
			}
			beginsNext(t, r, set) // its new template may be what brings the contact back
		}
		return
	}
	// A group that is to go gets no other template, and has none to go back to.
	goes := t.DesiredSet(r.Set) == nil && aim.NothingBefore(&t.View, r)
	if op.Kind == model.OperationRestart && (view.Unequal(&t.View) || aim.UpgradeDue(&t.View)) && !t.Rejected && !(t.Contact() && aim.TrialPods(&t.View, r.Set) && !goes) {
		// Each needs an operation of its own; what is left is restarted after it.
		if !aim.RollBackFirst(t, r) {
			t.Record.Operation = nil
		}
		return
	}
	if aim.LetsIn(&t.View) {
		if !aim.RollBackFirst(t, r) {
			t.Record.Operation = nil
		}
		return
	}
	if aim.LeavesStuck(t, r) {
		return
	}
	set := aim.NextSet(&t.View)
	first := aim.OnItsWay(&t.View, op)
	if set != "" && first != nil {
		set = first.Set
	}
	if outdated := r.Set != "" && aim.FirstOutdated(&t.View, r.Set) != nil; op.Kind == model.OperationUpgrade && outdated && !view.AnyHealedByRestart(&t.View, set) || aim.TrialPods(&t.View, r.Set) ||
		outdated && !aim.JoinedOnLive(&t.View, r.Set) && !aim.Failing(&t.View, set) && !view.AnyHealedByRestart(&t.View, set) {
		// A new image comes to no second set before the first one is done, and a new
		// template to none before a pod has joined on it. What waits for a pod that is not
		// ready waits for that one's template too.
		set = r.Set
	}
	if set == "" {
		switch {
		case !templateApplied(&t.View, ""):
		case endWaits(t):
			// A pod that was made anew is not back yet.
		case op.Kind == model.OperationRestart:
			restarted(t, op)
		case !versionWaits(t):
			upgraded(t, op)
		}
		return
	}
	if t.Rejected {
		return // a refusal has said why
	}
	if reason, waits := gates.Contact(t.Contact(), t.Observed.Database.Error); waits && view.PendingRestart(&t.View, set) && set != view.SoleVoter(&t.View) && (!aim.Failing(&t.View, set) && !view.Unreachable(&t.View) || aim.OthersFirst(&t.View, set)) {
		// Nobody can say whether the last new template runs.
		t.Wait(reason)
		return
	}
	if r.Set != set {
		if aim.RollBackFirst(t, r) {
			return // it came before, and on none of its pods: it has its turn later
		}
		beginsNext(t, r, set)
	}
	p := aim.FirstOutdated(&t.View, set)
	if first != nil && first.Set == set && templateApplied(&t.View, set) {
		op.Step, r.Pod, r.Since = model.StepDown, first.Name, t.Now
		return
	}
	if !templateApplied(&t.View, set) || p == nil {
		othersWait(t)
		return
	}
	if setting.Unexplained(t) {
		return
	}
	if q := trialPod(&t.View, set); q != nil {
		// With the record lost meanwhile.
		op.Step, r.Pod, r.Since = model.StepDown, q.Name, t.Now
		return
	}
	if !t.Record.HoldHidden.IsZero() && t.Elapsed(t.Record.HoldHidden) < setting.HiddenRetry {
		t.Refuse(gates.HoldHidden())
		return
	}
	if podWaits(t, op, p, setting.FreeAllocation) {
		return
	}
	op.Step, r.Pod, r.PodUID, r.Template = model.StepHold, p.Name, p.UID, p.Template
	r.Zone, r.Pods = together(&t.View, set, p)
	t.Record.Hold = &model.Hold{Set: set, Value: setting.HeldAllocation, Before: setting.FreeAllocation}
}

// beginsNext: what is kept to go back to may still be of a restart before this one, which was
// released.
func beginsNext(t *pass.Pass, r *model.Restart, set string) {
	r.Set, r.Remembered, t.NextSet = set, "", set
}

// templateApplied is true when what is wanted of a set, or of all with "", is
// live and was seen by the StatefulSet controller.
func templateApplied(v *view.View, set string) bool {
	if !aim.Applied(v) {
		return false
	}
	for _, s := range v.Record.Sets {
		if set != "" && s.Name != set || v.DesiredSet(s.Name) == nil {
			continue
		}
		live := v.Live(s.Name)
		i := slices.IndexFunc(v.Observed.Applied.Effective.Sets, func(e model.EffectiveSet) bool { return e.Name == s.Name })
		if live == nil || live.ObservedGeneration != live.Generation || view.PendingRestart(v, s.Name) || i < 0 {
			return false
		}
		if v.Observed.Applied.Effective.Sets[i].Template != model.TemplateWanted {
			return false
		}
	}
	return true
}

func named(v *view.View, pod string) *model.Pod {
	for i := range v.Observed.Pods {
		if v.Observed.Pods[i].Name == pod {
			return &v.Observed.Pods[i]
		}
	}
	return nil
}
