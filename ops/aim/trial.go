package aim

import (
	"cmp"
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// ReadyOnLive reports whether a pod of the set is ready on its live template. It says what can
// be known while nobody can be asked whether it has joined: a pod becomes ready once it has.
func ReadyOnLive(v *view.View, set string) bool {
	live := v.Live(set)
	return v.AnyPod(func(p *model.Pod) bool { return view.OnLive(p, live) && view.Serves(p) })
}

// QuorumWaits is the set of the only master-eligible node, or one in which such a node is
// stuck: its new template may bring the contact back. "" for none.
func QuorumWaits(v *view.View) string {
	if sole := view.SoleVoter(v); sole != "" {
		return sole
	}
	for _, s := range v.Record.Sets {
		if view.Votes(v, s.Name) && anyStuck(v, s.Name) && view.PendingRestart(v, s.Name) && !OtherTrialFirst(v, s.Name) {
			return s.Name
		}
	}
	return ""
}

// LeavesStuck waits where a restart leaves pods stuck on trial: it was aborted, or its set left
// the definition. What may be on them cannot be drained, nor corrected: so the set rolls back. If
// no other pod of it runs the template before, it does not hurry: a pod that still has time may
// join on the newer version of an upgrade, and once that has started no older one starts on the
// volume. A template before that was never verified, as two were applied before a pod was on the
// first, is tried only where CrateDB has started in no pod on trial: those have nothing to lose.
func LeavesStuck(t *pass.Pass, r *model.Restart) bool {
	givenUp := t.DesiredSet(r.Set) == nil || Aborted(&t.View)
	if r.Remembered == "" || !givenUp || t.Rejected || !TrialPods(&t.View, r.Set) {
		return false
	}
	live := t.Live(r.Set)
	if live == nil {
		t.Wait(gates.SetRecreated(r.Set, "it is gone, and is recreated"))
		return true
	}
	c := t.Nodes([]model.RecordedSet{*cmp.Or(view.Recorded(t.Record.Sets, r.Set), &model.RecordedSet{})})
	others := othersOnRemembered(&t.View, r)
	rollBack, verified := live.Template != r.Remembered, others || verifiedOn(&t.View, r.Set, r.Remembered)
	started, stuck := trialState(&t.View, live)
	if stuck && !rollBack && t.DesiredSet(r.Set) == nil || cannotRollBack(&t.View, r) {
		return false // it runs on what it had before no more than on the other
	}
	if rollBack && !others && (t.Record.Operation.Is(model.OperationUpgrade) || !verified) {
		rollBack = stuck && (verified || !started)
	}
	if rollBack {
		t.RollBack = r.Set
	}
	t.Wait(gates.PodReturns(c.NotJoined, c.NotJoinedWhy))
	return true
}

// othersOnRemembered reports whether a pod of the set runs the template before.
func othersOnRemembered(v *view.View, r *model.Restart) bool {
	return v.AnyPod(func(p *model.Pod) bool { return p.Set == r.Set && p.Template == r.Remembered && !p.Terminating })
}

// cannotRollBack reports whether the newer version of an upgrade has started in pods that are all stuck,
// and no other pod of the set runs the template before.
func cannotRollBack(v *view.View, r *model.Restart) bool {
	if NothingToRollBackTo(v, r) || othersOnRemembered(v, r) || !v.Record.Operation.Is(model.OperationUpgrade) {
		return false
	}
	started, stuck := trialState(v, v.Live(r.Set))
	return started && stuck
}

// trialState says of the pods on a set's live template whether CrateDB has started in one, and
// whether there are any and all of them are stuck.
func trialState(v *view.View, live *model.ObservedSet) (started, stuck bool) {
	tried, stuckPods := 0, 0
	for p := range model.Each(v.Observed.Pods) {
		if view.OnLive(p, live) {
			tried++
			started = started || !p.Started.IsZero()
			if !p.Terminating && view.StuckSinceStart(v, p) {
				stuckPods++
			}
		}
	}
	return started, tried > 0 && stuckPods == tried
}

// RollForward is a set whose live template does not run: a pod of it fails, and another
// template is desired. The set gets that one whatever else is under way, for everything else
// may wait for the stuck pod. "" for none.
func RollForward(v *view.View) string {
	restarted := ""
	if view.Restarting(v) {
		restarted = v.Record.Operation.Restart.Set
	}
	switch {
	case v.Rejected, v.Suspending && !v.Record.Operation.Is(model.OperationResume):
		return ""
	case restarted != "" && v.Record.Operation.Step == model.StepStopped:
		return "" // its pod is left as it is
	}
	for p := range model.Each(v.Observed.Pods) {
		if !needsAnother(v, p) || restartedSetFirst(v, restarted, p.Set) || byUpgrade(v, p.Set) || awayByItself(v, p) {
			continue
		}
		if view.StuckSinceStart(v, p) && view.Replaceable(v, p) {
			return p.Set
		}
	}
	return ""
}

// needsAnother reports whether a pod is not ready, its set's live template is no remedy, and another is desired.
func needsAnother(v *view.View, p *model.Pod) bool {
	return view.NotReady(p) && noRemedy(v, p) && v.DesiredSet(p.Set) != nil && view.PendingRestart(v, p.Set)
}

// noRemedy reports whether a pod is on its set's live template, or never gets that, because it is of an older version.
func noRemedy(v *view.View, p *model.Pod) bool {
	live := v.Live(p.Set)
	return view.OnLive(p, live) || live != nil && view.WouldDowngrade(v, p, live)
}

// byUpgrade reports whether the desired template of the set comes by an upgrade only, because its
// version is another one. Not so for what was never made, what nobody answers without, and what
// the gateway of a new cluster waits for.
func byUpgrade(v *view.View, set string) bool {
	if !UpgradeDue(v) || v.Record.Operation.Is(model.OperationUpgrade) || !view.Changes(v, set, model.ChangeImage) {
		return false
	}
	ready := func(p *model.Pod) bool { return p.Set == set && p.Ready }
	if v.Record.ClusterID == "" && (!v.AnyPod(ready) || anyStuck(v, set) && view.WaitsForMore(v, view.GatewayReady(v)) != nil) {
		return false
	}
	return !startsOnNothing(v, set)
}

// startsOnNothing reports whether no pod of a set runs and its template is not verified, or is older than what has started on
// a volume, which never runs there. An upgrade waits for a master, and without these pods there may be none: so the desired
// version comes at once, whatever is under way. It does not where it depends on the age of tables, which nobody can say.
func startsOnNothing(v *view.View, set string) bool {
	live := v.Live(set)
	if view.HasMaster(v) || live == nil || gates.NeedsTableAges(v.Record.Version, v.Desired.Version) {
		return false
	}
	if v.AnyPod(func(p *model.Pod) bool { return p.Set == set && !p.Ready && view.WouldDowngrade(v, p, live) }) {
		return true
	}
	return !view.JoinedBefore(v, set, live.Template) &&
		!v.AnyPod(func(p *model.Pod) bool { return p.Set == set && (p.Ready || !view.StuckSinceCreated(v, p)) })
}

// awayByItself reports whether, while nodes come or go, a node that stays is away and its
// template is verified. It has PodLimit to come back on that one: another may not run, and the
// operation would wait for it.
func awayByItself(v *view.View, p *model.Pod) bool {
	live := v.Live(p.Set)
	if live == nil || !v.Record.Operation.Is(model.OperationGrow) && !Shrinking(v) || !view.JoinedBefore(v, p.Set, live.Template) {
		return false
	}
	if from := view.Recorded(v.Record.Operation.From, p.Set); from == nil || p.Ordinal >= from.Replicas {
		return false // it is one that comes
	}
	since := v.Observed.Stable.Same
	if !v.Contact() {
		since = v.Observed.Stable.Unreachable
	}
	return !view.PastPodLimit(v, since)
}

// Trial is the set that holds the trial: a template on which no node has joined is given to this set only, and
// pods are put on such a template in this set only. External changes may put pods of several sets on one; then the
// first of them holds the trial, in the order of precedence. "" where no set is on trial, and in a bootstrap: all
// sets are then, and no data can be lost.
func Trial(v *view.View) string {
	if !v.Record.Bootstrap.Done {
		return ""
	}
	holder, most := "", -1
	for _, s := range v.Record.Sets {
		if !noted(v, s.Name) && !bringsMaster(v, s.Name) {
			continue
		}
		if rank := precedence(v, s.Name); rank > most {
			holder, most = s.Name, rank
		}
	}
	return holder
}

// precedence orders the sets that are on trial: the first of these that tells them apart decides, and then the order
// of the record.
func precedence(v *view.View, set string) int {
	rank := 0
	for _, first := range []bool{
		bringsMaster(v, set) && (v.Contact() || anyStuck(v, set)), // without a master nobody joins
		!ReadyOnLive(v, set),         // it has joined since it was asked
		v.DesiredSet(set) != nil,     // nothing else comes to a group that is to go
		!view.PendingRestart(v, set), // only its pods are waited for
		trialRuns(v, set),            // of another only pods that are away may be on trial
		!hasWritten(v, set),          // what has run may only be away
		evictedOnto(v, set),          // its pods have joined on another template: what the others have joined on is not known
	} {
		rank *= 2
		if first {
			rank++
		}
	}
	return rank
}

// bringsMaster: there is no master, and nodes on trial in this set may become it, or its stuck nodes may on another template.
func bringsMaster(v *view.View, set string) bool {
	tried := TrialPods(v, set) || replacesStuck(v, set) || view.PendingRestart(v, set) && anyStuck(v, set)
	return !view.HasMaster(v) && view.Votes(v, set) && tried && !ReadyUnasked(v, set)
}

// noted reports whether the record says that a set is on trial, and a pod of it is, or is to be.
func noted(v *view.View, set string) bool {
	return slices.Contains(v.Record.OnTrial, set) && (TrialPods(v, set) || replacesStuck(v, set))
}

// OtherTrialFirst reports whether another set holds the trial, or may: this one keeps what it has.
func OtherTrialFirst(v *view.View, set string) bool {
	holder := Trial(v)
	return holder != "" && (holder != set || otherPodComes(v, set))
}

// otherPodComes reports whether nobody knows what the pods of a set have joined on, and a pod of another set comes on a
// template on which none has joined. The first set may be well, and gets no such template too. It waits until the pod is
// there, for then the other set holds the trial.
func otherPodComes(v *view.View, set string) bool {
	return !evictedOnto(v, set) && slices.ContainsFunc(v.Record.Sets, func(s model.RecordedSet) bool {
		return s.Name != set && noted(v, s.Name) && evictedOnto(v, s.Name) && !trialRuns(v, s.Name)
	})
}

// trialRuns reports whether a pod of the set is there that is on its live template.
func trialRuns(v *view.View, set string) bool {
	live := v.Live(set)
	return v.AnyPod(func(p *model.Pod) bool { return p.Set == set && view.OnLive(p, live) })
}

// hasWritten reports whether a claim of the set says which version has written to it.
func hasWritten(v *view.View, set string) bool {
	return model.Any(v.Observed.Claims, func(c *model.Claim) bool { return c.Set == set && c.Version != "" })
}

// replacesStuck reports whether a pod of the set does not run and is to get its live template.
func replacesStuck(v *view.View, set string) bool {
	live := v.Live(set)
	return live != nil && live.Template != "" && v.AnyPod(func(p *model.Pod) bool {
		return p.Set == set && view.NotReady(p) && view.ChangesTemplate(v, p, live) && view.Replaceable(v, p)
	})
}

// restartedSetFirst reports whether the restart's set has to be verified before another rolls forward.
func restartedSetFirst(v *view.View, restarted, set string) bool {
	if OtherTrialFirst(v, set) {
		return true
	}
	if restarted == "" || restarted == set || OtherTrialFirst(v, restarted) {
		return false
	}
	return !ReadyUnasked(v, restarted) && (view.PendingRestart(v, restarted) || !JoinedOnLive(v, restarted))
}

// ReadyUnasked reports whether a pod of the set is ready on its live template while nobody can be
// asked. The desired template is then no remedy for it, and it keeps nobody else waiting.
func ReadyUnasked(v *view.View, set string) bool { return !v.Contact() && ReadyOnLive(v, set) }

// ranOnLive reports whether a pod has joined on the set's live template, now or in this restart.
func ranOnLive(v *view.View, set string) bool {
	live := v.Live(set)
	return JoinedOnLive(v, set) || view.Restarting(v) && v.AnyPod(func(p *model.Pod) bool {
		return view.OnLive(p, live) && slices.Contains(v.Record.Operation.Restart.Done, p.UID)
	})
}

// Failing reports whether a pod of the set fails.
func Failing(v *view.View, set string) bool {
	return v.AnyPod(func(p *model.Pod) bool { return p.Set == set && view.NotReady(p) && view.Fails(p) })
}

// anyStuck reports whether a pod of the set is stuck, whichever template it is on.
func anyStuck(v *view.View, set string) bool {
	return v.AnyPod(func(p *model.Pod) bool {
		return p.Set == set && view.NotReady(p) && view.Absent(v, p.NodeName) && view.StuckSinceStart(v, p)
	})
}

// BudgetOpen reports whether a budget would let another pod go meanwhile.
func BudgetOpen(v *view.View) bool {
	return slices.ContainsFunc(v.Observed.Budgets, func(b model.ObservedBudget) bool { return b.MaxUnavailable != 0 })
}

// Remember notes which template is kept to roll back to: what the set had before, or what its
// pods have joined on since.
func Remember(t *pass.Pass, e *model.EffectiveSet) {
	r := t.Record.Operation.Restart
	e.RememberAnew = t.NextSet == e.Name
	if e.Live == "" || t.Record.Operation.Step == model.StepStopped || !view.PendingRestart(&t.View, e.Name) {
		return
	}
	if r.Remembered == "" || ranOnLive(&t.View, e.Name) && r.Remembered != e.Live {
		e.RememberAnew, r.Remembered = true, e.Live
	}
}

// MayRollBack reports whether the set may roll back: another pod runs the remembered template, or none
// is remembered. A template that no pod runs may have a version that no volume accepts any more.
func MayRollBack(v *view.View, set string) bool {
	r := v.Record.Operation.Restart
	return r.Remembered == "" || v.AnyPod(func(p *model.Pod) bool {
		return p.Set == set && p.Name != r.Pod && p.Template == r.Remembered
	})
}

// WaitsForOtherTrial reports whether a pod waits because it would be the first on its set's template
// while another set holds the trial.
func WaitsForOtherTrial(v *view.View, p *model.Pod) bool {
	return !JoinedOnLive(v, p.Set) && OtherTrialFirst(v, p.Set)
}
