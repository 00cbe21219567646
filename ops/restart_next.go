package ops

import (
	"slices"

	"stevedore.dev/stevedore/ops/gates"
)

// nextStep chooses the set and the pod, and looks at every gate.
func (t *turn) nextStep(op *Operation) {
	r := op.Restart
	r.Pod, r.PodUID, r.Template, r.Zone, r.Pods = "", "", "", "", nil
	if t.r.Hold != nil {
		t.giveBack() // a lost record's
		if set := t.quorumWaits(); !t.led() && !t.blocked && t.pendingRestart(set) {
			if op.Kind == OperationRestart && t.upgradeDue() {
				t.r.Operation = nil // an upgrade brings it
				return
			}
			t.takesTurn(r, set) // its new template may be what brings the contact back
		}
		return
	}
	// A group that is to go gets no other template, and has none to go back to.
	goes := t.wanted(r.Set) == nil && t.nothingBefore(r)
	if op.Kind == OperationRestart && (t.unequal() || t.upgradeDue()) && !t.blocked && !(t.contact() && t.unprovenPods(r.Set) && !goes) {
		// Each needs an operation of its own; what is left is restarted after it.
		if !t.backFirst(r) {
			t.r.Operation = nil
		}
		return
	}
	if t.letsIn() {
		if !t.backFirst(r) {
			t.r.Operation = nil
		}
		return
	}
	if t.leavesHanging(r) {
		return
	}
	set := t.nextSet()
	first := t.onItsWay(op)
	if set != "" && first != nil {
		set = first.Set
	}
	if outdated := r.Set != "" && t.firstOutdated(r.Set) != nil; op.Kind == OperationUpgrade && outdated && !t.mayMendIn(set) || t.unprovenPods(r.Set) ||
		outdated && !t.joinedOnLive(r.Set) && !t.failing(set) && !t.mayMendIn(set) {
		// A new image comes to no second set before the first one is done, and a new
		// template to none before a pod has joined on it. What waits for a pod that is not
		// ready waits for that one's template too.
		set = r.Set
	}
	if set == "" {
		switch {
		case !t.templateApplied(""):
		case t.readingWaits(nil) || t.copiesWait(freeAllocation):
			// A pod that was made anew is not back yet.
		case op.Kind == OperationRestart:
			t.restarted(op)
		case !t.versionWaits():
			t.upgraded(op)
		}
		return
	}
	if t.blocked {
		return // a refusal has said why
	}
	if reason, waits := gates.Contact(t.contact(), t.o.Database.Error); waits && t.pendingRestart(set) && set != t.soleVoter() && (!t.failing(set) && !t.silent() || t.othersFirst(set)) {
		// Nobody can say whether the last new template runs.
		t.wait(reason)
		return
	}
	if r.Set != set {
		if t.backFirst(r) {
			return // it came before, and on none of its pods: it has its turn later
		}
		t.takesTurn(r, set)
	}
	p := t.firstOutdated(set)
	if first != nil && first.Set == set && t.templateApplied(set) {
		op.Step, r.Pod, r.Since = StepDown, first.Name, t.now
		return
	}
	if !t.templateApplied(set) || p == nil {
		t.readingWaits(nil) // what it waits for where that lasts: a pod that is away
		return
	}
	if t.unexplained() {
		return
	}
	if q := t.unproven(set); q != nil {
		// With the record lost meanwhile.
		op.Step, r.Pod, r.Since = StepDown, q.Name, t.now
		return
	}
	if !t.r.HoldHidden.IsZero() && t.elapsed(t.r.HoldHidden) < hiddenRetry {
		t.refusal(gates.HoldHidden())
		return
	}
	if t.podWaits(op, p, freeAllocation) {
		return
	}
	op.Step, r.Pod, r.PodUID, r.Template = StepHold, p.Name, p.UID, p.Template
	r.Zone, r.Pods = t.together(set, p)
	t.r.Hold = &Hold{Set: set, Value: heldAllocation, Before: freeAllocation}
}

// takesTurn: what is kept to go back to may still be of a restart before this one, which was
// released.
func (t *turn) takesTurn(r *Restart, set string) {
	r.Set, r.Remembered, t.turns = set, "", set
}

// templateApplied is true when what is wanted of a set, or of all with "", is
// live and was seen by the StatefulSet controller.
func (t *turn) templateApplied(set string) bool {
	if !t.applied() {
		return false
	}
	for _, s := range t.r.Sets {
		if set != "" && s.Name != set || t.wanted(s.Name) == nil {
			continue
		}
		live := t.live(s.Name)
		i := slices.IndexFunc(t.o.Applied.Effective.Sets, func(e EffectiveSet) bool { return e.Name == s.Name })
		if live == nil || live.ObservedGeneration != live.Generation || t.pendingRestart(s.Name) || i < 0 {
			return false
		}
		if t.o.Applied.Effective.Sets[i].Template != TemplateWanted {
			return false
		}
	}
	return true
}

func (t *turn) named(pod string) *Pod {
	for i := range t.o.Pods {
		if t.o.Pods[i].Name == pod {
			return &t.o.Pods[i]
		}
	}
	return nil
}
