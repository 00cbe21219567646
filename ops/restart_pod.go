package ops

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
)

// holdStep: the intent is recorded; it is said on the StatefulSet, then set, then
// read back, and every gate is looked at again.
func (t *turn) holdStep(op *Operation) {
	r, h := op.Restart, t.r.Hold
	if h == nil {
		op.Step = StepNext
		return
	}
	p := t.named(r.Pod)
	live := t.live(h.Set)
	switch {
	case t.blocked || live == nil || p == nil || p.UID != r.PodUID || p.Terminating || !t.outdated(p), !t.zoneStands(r):
		op.Step = StepReturn
	case live.Hold != h.annotation() || t.budgetOpen():
		// It is being applied.
	case t.o.Database.Allocation == h.Before:
		if t.podWaits(op, p, h.Before) {
			op.Step = StepReturn
		} else if pod := t.sqlPod(); pod != "" {
			t.harmless(Action{Kind: ActionHoldAllocation, Pod: pod, SystemSecret: t.systemSecret(), Allocation: h.Value, Before: h.Before})
		}
	case t.podWaits(op, p, h.Value):
		op.Step = StepReturn
	default:
		op.Step, r.Since = StepDown, t.now
		if len(r.Pods) > 0 {
			t.deleteZone(r)
		} else {
			t.deletePod(p)
		}
	}
}

// members are the names of all nodes, for an executor that looks whether one has left.
func (t *turn) members() string {
	names := make([]string, len(t.o.Database.Nodes))
	for i := range names {
		names[i] = t.o.Database.Nodes[i].Name
	}
	return strings.Join(names, ",")
}

// podReturns says of a pod that went why it is not back; p is nil while it is not there.
func podReturns(pod, state string, p *Pod) gates.Reason {
	if p != nil && !p.Terminating && fails(p) {
		return gates.PodCannotStart(pod, state)
	}
	return gates.PodReturns(pod, state)
}

func (t *turn) deletePod(p *Pod) {
	t.d2.Disruptive = &Action{
		Kind: ActionRestartPod, Pod: p.Name, PodUID: p.UID, SystemSecret: t.systemSecret(),
		Allocation: heldAllocation, Members: t.members(), NodeNames: p.NodeName, Green: t.o.Database.Health.Colour == Green, Whole: t.o.Database.asHealthy(), Unready: !p.Ready,
	}
}

// downStep waits until the pod has gone, is back and has joined.
func (t *turn) downStep(op *Operation) {
	r := op.Restart
	if len(r.Pods) > 0 {
		t.zoneDownStep(op)
		return
	}
	p := t.named(r.Pod)
	if p != nil && p.UID == r.PodUID && !p.Terminating {
		// It was decided and was not done, or is not seen yet.
		if t.blocked || t.r.Hold == nil || t.podWaits(op, p, heldAllocation) {
			op.Step = StepReturn
			return
		}
		t.deletePod(p)
		return
	}
	made := p != nil && p.UID != r.PodUID
	if back := t.isBack(r); back || made && !t.blocked && t.mayMend(p) {
		// One that is back is done; one that another definition may make ready goes from
		// the first gate on.
		if back {
			r.Done = append(slices.Clone(r.Done), p.UID)
		}
		op.Step = StepReturn
		return
	}
	state := t.state(r.Pod, p)
	if state == "" {
		state = "it is ready, and its node has not joined yet"
	}
	t.wait(podReturns(r.Pod, state, p))
	if p == nil || !p.Ready {
		t.atLeast = first(t.p.Poll, DefaultPoll) // Kubernetes says when it is ready
	}
	t.sayAway(r.Pod)
	// One that is ready has found a master: without contact nobody can say more of it.
	if t.hadItsTime(op, p) && !t.proven(op) && (t.contact() || p == nil || !p.Ready) {
		op.Step = StepStopped
		t.reportStopped(op, p)
	}
}

// hadItsTime: the pod has not joined on the template that is wanted for as long as one
// may take. What was made on another one, which is live no more or is to be, is made anew
// first; and without a master nobody joins: so are others that hang, for one may be what
// the quorum waits for, but for those that were well and come back by themselves.
func (t *turn) hadItsTime(op *Operation, p *Pod) bool {
	since, live := op.Restart.Since, t.live(op.Restart.Set)
	if t.pendingRestart(op.Restart.Set) && !t.blocked && !(t.upgradeDue() && !t.upgrading()) {
		return false
	}
	if p != nil && live != nil && p.Template != "" && p.Template != live.Template && !t.wouldGoBack(p, live) {
		return false
	}
	if p != nil && p.Created.After(since) {
		since = p.Created
	}
	if t.elapsed(since) <= t.podLimit() {
		return false
	}
	return t.led() || !t.anyPod(func(q *Pod) bool {
		live := t.live(q.Set)
		return q.Name != op.Restart.Pod && !q.Ready && live != nil && q.Template != live.Template && !t.wouldGoBack(q, live) && !t.comesBack(q, live) && t.isCurable(q)
	})
}

// isBack: the pod was made anew and has joined. Of one that is to leave the node is enough:
// nothing that is wanted makes it ready.
func (t *turn) isBack(r *Restart) bool {
	p := t.named(r.Pod)
	return p != nil && p.UID != r.PodUID && (t.joined(p) || t.leavesUnready(p))
}

func (t *turn) podLimit() time.Duration {
	return min(first(t.p.PodTimeout, DefaultPodTimeout), t.restartLimit())
}

func (t *turn) restartLimit() time.Duration {
	return first(t.d.Operations.RestartTimeout, t.p.RestartTimeout, DefaultRestartTimeout)
}

// proven: the set's template is the one that the pod ran before, or another pod
// has joined on it.
func (t *turn) proven(op *Operation) bool {
	live := t.live(op.Restart.Set)
	if live == nil || live.Template == op.Restart.Template {
		return true
	}
	for i := range t.o.Pods {
		p := &t.o.Pods[i]
		if p.Name != op.Restart.Pod && p.Set == op.Restart.Set && p.Template == live.Template && t.joined(p) {
			return true
		}
	}
	return false
}

// joined: ready, a member, and of this cluster by its own word.
func (t *turn) joined(p *Pod) bool {
	a, id := t.answer(p.Name), t.expectedID()
	return t.contact() && p.Ready && !p.Terminating && id != "" && a != nil && a.ClusterID == id && t.member(p.NodeName)
}

// stoppedStep: the template has returned to what the other pods run. The pod is
// left as it is, until another definition comes or it joins after all.
func (t *turn) stoppedStep(op *Operation) {
	r := op.Restart
	p := t.named(r.Pod)
	if p != nil && p.UID != r.PodUID && t.joined(p) {
		r.Done = append(slices.Clone(r.Done), p.UID)
		op.Step = StepReturn
		return
	}
	t.giveBack()
	if t.upgradeCures(op) {
		t.r.Operation = nil
		return
	}
	t.refusal(t.stopped(op, p))
}

// stableStep: green with the same nodes for stableFor, counted from when the
// hold was given back.
func (t *turn) stableStep(op *Operation) {
	clock, unchanged, trial := t.p.StableWait(t.d.Operations.StableFor)
	if (t.mayMendIn("") || t.letsIn()) && t.stood(op.Restart.Since, t.o.Stable.Same) >= clock {
		op.Step = StepNext // that one will not become ready by waiting, or another operation comes first
		return
	}
	if t.readingWaits(nil) || t.copiesWait(freeAllocation) {
		return
	}
	if t.onTrial(op.Restart) {
		unchanged = trial
	}
	stable := gates.Elapsed{Time: t.stood(op.Restart.Since, t.o.Stable.Since), Needed: clock, Unchanged: t.stood(op.Restart.Since, t.o.Stable.Unchanged), UnchangedNeeded: unchanged}
	if reason, waits := gates.StableFor(op.Restart.Pod, stable); waits {
		t.wait(reason)
		t.endsIn(stable.Left())
		t.atLeast = calm
		return
	}
	op.Step = StepNext
}

// onTrial: the pods that this restart has just recreated are the only ones of their
// StatefulSet whose nodes have joined on its template.
func (t *turn) onTrial(r *Restart) bool {
	live := t.liveTemplate(r.Set)
	return !t.anyPod(func(p *Pod) bool {
		recreated := p.Name == r.Pod || slices.ContainsFunc(r.Pods, func(ref PodRef) bool { return ref.Name == p.Name })
		return !recreated && p.Set == r.Set && p.Template == live && t.joined(p)
	})
}

// masterElapsed is for how long the master has been the same.
func (t *turn) masterElapsed() gates.Elapsed {
	o, long := &t.d.Operations, time.Time{}
	out := gates.Elapsed{Time: t.stood(long, t.o.Stable.Master), Needed: first(o.MasterStableFor, t.p.MasterStableFor, DefaultMasterStableFor)}
	if o.MasterStableFor == 0 && (t.p.MasterStableFor == 0 || t.p.TrialFor > 0) {
		out.Unchanged, out.UnchangedNeeded = t.stood(long, t.o.Stable.Unchanged), first(t.p.TrialFor, DefaultTrialFor)
	}
	return out
}

// stood is how long the database has been as it is, counted from a time on: that in which
// the hold was given back. 0 where nobody knows since when.
func (t *turn) stood(from, since time.Time) time.Duration {
	if since.IsZero() {
		return 0
	}
	return min(t.elapsed(since), t.elapsed(from))
}
