package rollout

import (
	"cmp"
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

// lockStep sets the allocation lock: the record has it already, then the StatefulSet says it,
// then it is set and read back. Every gate is looked at again before the pod goes.
func lockStep(t *pass.Pass, op *model.Operation) {
	r, h := op.Restart, t.Record.Lock
	if h == nil {
		op.Step = model.StepNext
		return
	}
	p := view.PodNamed(&t.View, r.Pod)
	live := t.Live(h.Set)
	switch {
	case t.Rejected, live == nil, !stillToGo(&t.View, r):
		op.Step = model.StepReturn
	case t.Suspending && view.Removes(&t.View, p):
		op.Step = model.StepReturn // a pod that comes of the resume comes with all its disks
	case unanswered(&t.View):
		r.Narrow = false            // meanwhile no pod that vanishes comes back without a disk
		podWaits(t, op, p, h.Value) // it says what it waits for
	case live.Hold != setting.Annotation(&t.View, h.Set) || aim.BudgetOpen(&t.View):
		// It is being applied.
	case t.Observed.Database.Allocation == h.Before:
		if podWaits(t, op, p, h.Before) {
			op.Step = model.StepReturn
		} else if pod := t.SQLPod(); pod != "" {
			t.Harmless(model.Action{Kind: model.ActionLockAllocation, Pod: pod, SystemSecret: t.SystemSecret(), Allocation: h.Value, Before: h.Before})
		}
	case podWaits(t, op, p, h.Value):
		op.Step = model.StepReturn
	case view.Removes(&t.View, p) && !narrowed(t, r, p):
		// The template is to do without the disk for the moment in which the pod is made.
	default:
		op.Step, r.Since = model.StepDown, t.Now
		takeDown(t, r)
	}
}

// unanswered reports whether no node has answered for a moment, though each pod is there and ready. Nothing
// is known then that speaks against the pod, and the lock cannot be given back: every gate is asked again
// when one answers. After PodLimit another operation may be what brings the contact back.
func unanswered(v *view.View) bool {
	if v.Observed.Database.Contact == model.Yes || view.PastPodLimit(v, v.Observed.Stable.Unreachable) || view.AnyBehindMissingDisk(v) {
		return false
	}
	return !v.AnyPod(func(p *model.Pod) bool { return !view.Serves(p) })
}

// narrowed has the template of a pod's StatefulSet do without the disks that go, and says whether
// that is live.
func narrowed(t *pass.Pass, r *model.Restart, p *model.Pod) bool {
	r.Narrow = true
	live := t.Live(p.Set)
	return live != nil && live.ObservedGeneration == live.Generation && aim.Applied(&t.View) && !slices.ContainsFunc(model.Listed(view.SurplusOf(&t.View, p)), func(name string) bool {
		return !model.InList(live.Unused, name)
	})
}

// podReturns says of a pod that went why it is not back; p is nil while it is not there.
func podReturns(pod, state string, p *model.Pod) gates.Reason {
	if p != nil && !p.Terminating && view.Fails(p) {
		return gates.PodCannotStart(pod, state)
	}
	return gates.PodReturns(pod, state)
}

// takeDown decides that the pods which go together go now.
func takeDown(t *pass.Pass, r *model.Restart) {
	db := &t.Observed.Database
	a := model.Action{
		Kind: model.ActionRestartZone, Zone: r.Zone, Pod: r.Pod, SystemSecret: t.SystemSecret(),
		Pods:       strings.Join(model.Texts(r.Pods, func(ref *model.PodRef) string { return ref.Name + "/" + ref.UID }), ","),
		Allocation: setting.LockedAllocation, Members: aim.Members(&t.View), Green: db.Health.Colour == model.Green, Whole: db.AsHealthy(),
	}
	if p := view.PodNamed(&t.View, r.Pod); r.Zone == "" {
		a.Kind, a.PodUID, a.NodeNames, a.Unready = model.ActionRestartPod, p.UID, p.NodeName, !p.Ready
		m := move(t, p, a.Allocation)
		a.LosesVolume, a.Repair = view.DeletedClaim(&t.View, p) != nil, m.Repairs()
		if view.Removes(&t.View, p) && view.Excluded(&t.View, p) {
			a.NodeIDs = t.Record.Exclusions.IDs
		}
	}
	t.Decision.Disruptive = &a
}

// downStep waits until the pods that go together have gone, are back and have joined. One of several that a kill has
// left standing stays outdated, and goes later.
func downStep(t *pass.Pass, op *model.Operation) {
	r := op.Restart
	there, healed, away := 0, !t.Rejected, ""
	var back []string
	for _, ref := range r.Going() {
		switch p := view.PodNamed(&t.View, ref.Name); {
		case seemsThere(t, r, ref):
			there++
		case isBack(&t.View, ref):
			back = append(back, p.UID)
		default:
			healed = healed && p != nil && p.UID != ref.UID && view.HealedByRestart(&t.View, p)
			away = cmp.Or(away, ref.Name)
		}
	}
	switch {
	case there == len(r.Going()):
		// It was decided and was not done, or is not seen yet.
		p := view.PodNamed(&t.View, r.Pod)
		waits := !mayStillGo(t, r) || !stillToGo(&t.View, r) || podWaits(t, op, p, setting.LockedAllocation)
		if waits || view.Removes(&t.View, p) && !narrowed(t, r, p) {
			op.Step, r.Unseen = model.StepReturn, true
			return
		}
		takeDown(t, r)
	case away == "", there == 0 && healed:
		// What is back is done; what another definition may make ready goes from the first gate on.
		r.Done = append(slices.Clone(r.Done), back...)
		op.Step = model.StepReturn
	default:
		awaitPod(t, op, away)
	}
}

// awaitPod waits for a pod that went. The first one on a new template has its time.
func awaitPod(t *pass.Pass, op *model.Operation, pod string) {
	p := view.PodNamed(&t.View, pod)
	state := view.State(&t.View, pod, p)
	if state == "" {
		state = "it is ready, and its node has not joined yet"
	}
	t.Wait(podReturns(pod, state, p))
	if p == nil || !p.Ready {
		t.AtLeast = model.First(t.Policy.Poll, model.DefaultPoll) // Kubernetes says when it is ready
	}
	sayAway(t, pod)
	// One that is ready has found a master: without contact nobody can say more of it.
	unasked := !t.Contact() && p != nil && p.Ready
	if !unasked && hadItsTime(&t.View, op, p) && !verified(&t.View, op) {
		op.Step = model.StepStopped
		reportStopped(t, op, p)
	}
}

// hadItsTime reports whether the pod has not joined on the desired template for longer than
// PodLimit. A pod on another template, which is live no more or will not be, is recreated first.
// Without a master nobody joins: then other stuck pods are, too, for the quorum may wait for one
// of them, except those that were well and come back by themselves.
func hadItsTime(v *view.View, op *model.Operation, p *model.Pod) bool {
	since, live := op.Restart.Since, v.Live(op.Restart.Set)
	if view.PendingRestart(v, op.Restart.Set) && !v.Rejected && !(aim.UpgradeDue(v) && !v.Record.Operation.Is(model.OperationUpgrade)) {
		return false
	}
	if p != nil && live != nil && p.Template != "" && view.ChangesTemplate(v, p, live) {
		return false
	}
	if p != nil && p.Created.After(since) {
		since = p.Created
	}
	if v.Elapsed(since) <= view.PodLimit(v) {
		return false
	}
	return view.HasMaster(v) || !v.AnyPod(func(q *model.Pod) bool {
		live := v.Live(q.Set)
		if q.Name == op.Restart.Pod || q.Ready || live == nil {
			return false
		}
		return view.ChangesTemplate(v, q, live) && !returnsByItself(v, q, live) && view.Replaceable(v, q)
	})
}

// mayGo: the lock is held, and nothing is refused.
func mayGo(t *pass.Pass) bool { return !t.Rejected && t.Record.Lock != nil }

// mayStillGo: and the last look has not kept the pod for as long as one may take to come up. Meanwhile the lock keeps
// CrateDB from making copies, and the template may do without a disk.
func mayStillGo(t *pass.Pass, r *model.Restart) bool {
	return mayGo(t) && t.Elapsed(r.Since) <= view.PodLimit(&t.View)
}

// isBack reports whether a pod was recreated and has joined. Of a pod that is to leave the node
// is enough: no desired template makes it ready.
func isBack(v *view.View, ref model.PodRef) bool {
	p := view.PodNamed(v, ref.Name)
	return p != nil && p.UID != ref.UID && (view.Joined(v, p) || view.LeavesNotReady(v, p))
}

// seemsThere reports whether a pod that is to be deleted is still there. If the database lacks its node it is
// not: the pod was deleted and the watch is late, or its process has ended. Either way it is the pod that is down,
// and the allocation lock stays until it is back.
func seemsThere(t *pass.Pass, r *model.Restart, ref model.PodRef) bool {
	p := view.PodNamed(&t.View, ref.Name)
	if p == nil || p.UID != ref.UID || p.Terminating || r.Gone {
		return false
	}
	return !mayGo(t) || !t.Contact() || !view.Absent(&t.View, p.NodeName)
}

// stillToGo reports whether all that go together are still there and may go.
func stillToGo(v *view.View, r *model.Restart) bool {
	for _, ref := range r.Going() {
		p := view.PodNamed(v, ref.Name)
		if p == nil || p.UID != ref.UID || p.Terminating || !view.Outdated(v, p) {
			return false
		}
		if r.Zone != "" && (Zone(v, p) != r.Zone || view.DeletedClaim(v, p) != nil || view.JoinedNotReady(v, p)) {
			return false
		}
	}
	return r.Zone == "" || maySpare(v, r.Set, r.Zone, r.Pods)
}

// wentUnseen reports whether a pod that was thought to stand has gone after all: the watch had
// not shown its deletion yet while the database already lacked its node. Until it is back it is
// the pod that is down, and has its time to join.
func wentUnseen(v *view.View, r *model.Restart) bool {
	return r.Unseen && slices.ContainsFunc(r.Going(), func(ref model.PodRef) bool {
		p := view.PodNamed(v, ref.Name)
		return p == nil || p.UID != ref.UID && !isBack(v, ref) && !view.HealedByRestart(v, p)
	})
}

// verified: the set's template is the one that the pod ran before, or another pod
// has joined on it, as before a zone goes.
func verified(v *view.View, op *model.Operation) bool {
	live := v.Live(op.Restart.Set)
	return live == nil || op.Restart.Zone != "" || live.Template == op.Restart.Template || othersJoined(v, op.Restart)
}

// othersJoined reports whether the node of a pod that this restart has not just recreated has joined on the template of
// its StatefulSet.
func othersJoined(v *view.View, r *model.Restart) bool {
	live := v.Live(r.Set)
	return v.AnyPod(func(p *model.Pod) bool {
		return !r.Where(p.Name) && view.OnLive(p, live) && view.Joined(v, p)
	})
}

// stoppedStep leaves the pod as it is, until another definition comes or it joins after all. The
// template has returned to what the other pods run.
func stoppedStep(t *pass.Pass, op *model.Operation) {
	r := op.Restart
	p := view.PodNamed(&t.View, r.Pod)
	if p != nil && p.UID != r.PodUID && view.Joined(&t.View, p) {
		r.Done = append(slices.Clone(r.Done), p.UID)
		op.Step = model.StepReturn
		return
	}
	setting.GiveBackLock(t)
	if aim.UpgradeReplaces(&t.View, op) {
		t.Record.Operation = nil
		return
	}
	t.Refuse(stopped(&t.View, op, p))
}

// stableStep waits until the cluster has been green with the same nodes for stableFor, counted
// from when the allocation lock was given back.
func stableStep(t *pass.Pass, op *model.Operation) {
	if wentUnseen(&t.View, op.Restart) {
		// Nothing was asked before this pod went: it comes back with all its disks.
		op.Step, op.Restart.Since, op.Restart.Unseen, op.Restart.Narrow = model.StepDown, t.Now, false, false
		return
	}
	if lacksCopies := view.AnyPodLacksCopies(&t.View); lacksCopies && shardsMissing(&t.View) {
		op.Step = model.StepNext // its restart brings back what is waited for
		return
	}
	clock, _, _ := t.Policy.StableWait(t.Desired.Operations.StableFor)
	remedy := view.AnyHealedByRestart(&t.View, "") || aim.PendingMayHelp(&t.View)
	if (remedy || aim.MakesRoom(&t.View)) && aim.LastedFor(&t.View, op.Restart.Since, t.Observed.Stable.Same) >= clock {
		op.Step = model.StepNext // that one will not become ready by waiting, or another operation comes first
		return
	}
	if endWaits(t) || notStable(t, op.Restart, op.Restart.Since) {
		return
	}
	op.Step = model.StepNext
}

// notStable waits until the cluster has been green with the same nodes for stableFor, counted from `from` at the
// earliest, and from when the process of its newest member started: one that has ended and joined again between two readings
// is in both of them.
func notStable(t *pass.Pass, r *model.Restart, from time.Time) bool {
	began := from
	for p := range model.Each(t.Observed.Pods) {
		if p.Started.After(began) && t.Member(p.NodeName) {
			began = p.Started
		}
	}
	clock, unchanged, trial := t.Policy.StableWait(t.Desired.Operations.StableFor)
	if r.Pod != "" && !othersJoined(&t.View, r) {
		unchanged = trial
	}
	stable := gates.Elapsed{Time: aim.LastedFor(&t.View, began, t.Observed.Stable.Since), Needed: clock, Unchanged: aim.LastedFor(&t.View, from, t.Observed.Stable.Unchanged), UnchangedNeeded: unchanged}
	if t.Waits(gates.StableFor(returned(&t.View, r), stable)) {
		t.EndsIn(stable.Left())
		t.AtLeast = pass.Calm
		return true
	}
	return false
}

// returned is the pod that a restart has recreated; "" where the last look before let it stay.
func returned(v *view.View, r *model.Restart) string {
	if p := view.PodNamed(v, r.Pod); p == nil || p.UID == r.PodUID {
		return ""
	}
	return r.Pod
}
