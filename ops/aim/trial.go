package aim

import (
	"cmp"
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// ReadyOnLive: a pod of the set is ready on its live template; nobody can be asked
// whether it has joined, and a pod is ready once it has.
func ReadyOnLive(v *view.View, set string) bool {
	live := v.Live(set)
	return live != nil && v.AnyPod(func(p *model.Pod) bool {
		return p.Set == set && p.Template == live.Template && p.Ready && !p.Terminating
	})
}

// QuorumWaits is the set of the only node that may vote, or one of which such a node does
// not run: its new template may be what brings the contact back.
func QuorumWaits(v *view.View) string {
	set := view.SoleVoter(v)
	for _, s := range v.Record.Sets {
		if set == "" && view.Votes(v, s.Name) && stuck(v, s.Name) && view.PendingRestart(v, s.Name) && !OthersFirst(v, s.Name) {
			set = s.Name
		}
	}
	return set
}

// LeavesStuck: the restart was aborted, or the set whose turn it is went out of the
// definition and nothing else is wanted of it, while its pods hang on a template that none
// has joined on. What may be on them cannot be drained, nor corrected: it goes back to what
// it had before, and the restart waits for it. Where no other pod of it runs that, nothing is
// won by haste: one that still has time may join on the newer version of an upgrade, and once
// that has started only it starts on the volume.
func LeavesStuck(t *pass.Pass, r *model.Restart) bool {
	live := t.Live(r.Set)
	if r.Remembered == "" || live == nil || t.DesiredSet(r.Set) != nil && !Aborted(&t.View) || t.Rejected || !TrialPods(&t.View, r.Set) {
		return false
	}
	c := t.Nodes([]model.RecordedSet{*cmp.Or(view.Recorded(t.Record.Sets, r.Set), &model.RecordedSet{})})
	others := slices.ContainsFunc(t.Observed.Pods, func(p model.Pod) bool { return p.Set == r.Set && p.Template == r.Remembered && !p.Terminating })
	rollBack := live.Template != r.Remembered && (others || verifiedOn(&t.View, r.Set, r.Remembered))
	if rollBack && view.Upgrading(&t.View) && !others {
		started, hangs := triedOn(&t.View, live)
		if started && hangs {
			return false
		}
		rollBack = hangs
	}
	if rollBack {
		t.RollBack = r.Set
	}
	t.Wait(gates.PodReturns(c.NotJoined, c.NotJoinedWhy))
	return true
}

// triedOn says of the pods on a set's live template whether CrateDB has started in one, and
// whether there are any and all of them hang.
func triedOn(v *view.View, live *model.ObservedSet) (started, hangs bool) {
	tried, hanging := 0, 0
	for i := range v.Observed.Pods {
		if p := &v.Observed.Pods[i]; p.Set == live.Name && p.Template == live.Template {
			tried++
			started = started || !p.Started.IsZero()
			if !p.Terminating && (view.Fails(p) || v.Elapsed(view.Up(p)) > view.PodLimit(v)) {
				hanging++
			}
		}
	}
	return started, tried > 0 && hanging == tried
}

// RollForward names a set whose live template does not run: a pod of it fails, and what
// is wanted is another. That one goes in whatever else is under way, for a node
// that hangs may be what everything else waits for. "" for none.
func RollForward(v *view.View) string {
	turn := ""
	if view.Restarting(v) {
		turn = v.Record.Operation.Restart.Set
	}
	if v.Rejected || v.Suspending && !(v.Record.Operation != nil && v.Record.Operation.Kind == model.OperationResume) || turn != "" && v.Record.Operation.Step == model.StepStopped {
		return ""
	}
	for i := range v.Observed.Pods {
		p := &v.Observed.Pods[i]
		live := v.Live(p.Set)
		if p.Ready || p.Terminating || live == nil || p.Template != live.Template || v.DesiredSet(p.Set) == nil || !view.PendingRestart(v, p.Set) || nextSetFirst(v, turn, p.Set) || byUpgrade(v, p.Set) || awayByItself(v, p) {
			continue
		}
		if trialElsewhere(v, p.Set) {
			return ""
		}
		if (view.Fails(p) || v.Elapsed(view.Up(p)) > view.PodLimit(v)) && view.Replaceable(v, p) {
			return p.Set
		}
	}
	return ""
}

// byUpgrade: what is wanted of the set is another version than its live template has.
// That comes by an upgrade only, but to what was never made, to what nobody answers
// without, and to what the gateway of a new cluster waits for.
func byUpgrade(v *view.View, set string) bool {
	if !UpgradeDue(v) || view.Upgrading(v) || !slices.ContainsFunc(v.Desired.Changes, func(c model.Change) bool { return c.Class == model.ChangeImage && c.Set == set }) {
		return false
	}
	return (v.Record.ClusterID != "" || anyReady(v, set) && !(stuck(v, set) && view.WaitsForMore(v, view.GatewayReady(v)) != nil)) && !resumesOnNothing(v, set)
}

// resumesOnNothing: a resume has started a set on a template that was applied before it was
// suspended and that no pod has joined on, and none of it runs. An upgrade waits for somebody
// who answers, and nobody does without these: so the wanted version comes at once. Where it
// depends on the age of tables, which nobody can say, it does not.
func resumesOnNothing(v *view.View, set string) bool {
	op, live := v.Record.Operation, v.Live(set)
	if op == nil || op.Kind != model.OperationResume || v.Contact() || live == nil || gates.NeedsTableAges(v.Record.Version, v.Desired.Version) ||
		slices.Contains(v.Record.Proven, model.Proven{Set: set, Template: live.Template}) {
		return false
	}
	return !slices.ContainsFunc(v.Observed.Pods, func(p model.Pod) bool {
		return p.Set == set && (p.Ready || !view.Fails(&p) && v.Elapsed(p.Created) <= view.PodLimit(v))
	})
}

func anyReady(v *view.View, set string) bool {
	return v.AnyPod(func(p *model.Pod) bool { return p.Set == set && p.Ready })
}

// trialElsewhere: another set has a new template that no pod has joined on. One that is
// recorded smaller than it is live still puts its pods on that. While a cluster is being
// made each has, and none runs anything that would be lost. One that none of the other's
// pods is on is not waited for by a group that is being made, nor while a resume or anything
// else but a restart is under way: that puts none on it before it has ended.
// Nor does one whose pods stand on such a template already wait for a group that is to go:
// nothing else comes to that, and no more of them are at risk. And those that may become
// master wait for nobody else while there is none: without one nobody joins.
func trialElsewhere(v *view.View, set string) bool {
	if !v.Record.Bootstrap.Done {
		return false
	}
	for _, s := range v.Record.Sets {
		if s.Name != set && Replicas(v, s) > 0 && !view.PendingRestart(v, s.Name) && !JoinedOnLive(v, s.Name) && !UpUnasked(v, s.Name) {
			if (Added(v, set) || v.Record.Operation != nil && !view.Restarting(v)) && !TrialPods(v, s.Name) || v.DesiredSet(s.Name) == nil && TrialPods(v, set) {
				continue
			}
			if v.Contact() && !view.HasMaster(v) && view.Votes(v, set) && !view.Votes(v, s.Name) {
				continue
			}
			return view.HasMaster(v) || set != view.SoleVoter(v)
		}
	}
	return false
}

// awayByItself: while nodes come or go, one of those that stay is away, and pods of its set
// have joined on its template. It has the time to come back on that which one may take:
// another may not run, and what is under way would wait for it.
func awayByItself(v *view.View, p *model.Pod) bool {
	live := v.Live(p.Set)
	if live == nil || !Growing(v) && !Shrinking(v) || !slices.Contains(v.Record.Proven, model.Proven{Set: p.Set, Template: live.Template}) {
		return false
	}
	if from := view.Recorded(v.Record.Operation.From, p.Set); from == nil || p.Ordinal >= from.Replicas {
		return false // it is one that comes
	}
	since := v.Observed.Stable.Same
	if !v.Contact() {
		since = v.Observed.Stable.Silent
	}
	return since.IsZero() || v.Elapsed(since) <= view.PodLimit(v)
}

// OthersFirst: another set has got a new template out of its turn, and no pod of it
// has joined. Another new template waits for that one; without contact, it waits for
// those that may become master.
func OthersFirst(v *view.View, set string) bool {
	if !v.Record.Bootstrap.Done {
		return false // each has one then, and none runs anything that would be lost
	}
	if !view.HasMaster(v) && !view.Votes(v, set) {
		return slices.ContainsFunc(v.Record.Sets, func(s model.RecordedSet) bool {
			return s.Name != set && view.Votes(v, s.Name) && TrialPods(v, s.Name) && !UpUnasked(v, s.Name)
		})
	}
	return slices.ContainsFunc(v.Record.Unproven, func(name string) bool {
		// Without a master nobody joins: only what is tried elsewhere already is not
		// tried here too, and what runs elsewhere untried is mended before what has run.
		return name != set && (TrialPods(v, name) || replacing(v, name)) &&
			(view.HasMaster(v) || !view.PendingRestart(v, name) || ranBefore(v, set)) && !precedes(v, set, name)
	})
}

// ranBefore: a pod of the set has joined on its live template, and it may be away now.
func ranBefore(v *view.View, set string) bool {
	live := v.Live(set)
	return live != nil && slices.Contains(v.Record.Proven, model.Proven{Set: set, Template: live.Template})
}

// precedes: pods of both sets are on templates that none has joined on, as others' hands
// bring about, and each would wait for the other. The one whose turn it is goes first,
// else the first of them. One that has what is wanted already waits for nobody.
func precedes(v *view.View, set, other string) bool {
	if !TrialPods(v, set) || view.HasMaster(v) && v.DesiredSet(other) != nil && !view.PendingRestart(v, other) {
		return false
	}
	if view.Restarting(v) {
		switch v.Record.Operation.Restart.Set {
		case set:
			return true
		case other:
			return false
		}
	}
	if ran, otherRan := hasWritten(v, set), hasWritten(v, other); ran != otherRan && view.PendingRestart(v, set) && view.PendingRestart(v, other) {
		return otherRan // with the record lost: what has run may only be away
	}
	for _, s := range v.Record.Sets {
		if s.Name == set || s.Name == other {
			// One that is not noted was well, and is away by itself.
			return s.Name == set && slices.Contains(v.Record.Unproven, set)
		}
	}
	return false
}

// hasWritten: a claim of the set says which version has written to it.
func hasWritten(v *view.View, set string) bool {
	return slices.ContainsFunc(v.Observed.Claims, func(c model.Claim) bool { return c.Set == set && c.Version != "" })
}

// replacing: a pod of the set does not run, and is to be made anew on its live template.
func replacing(v *view.View, set string) bool {
	live := v.Live(set)
	return live != nil && live.Template != "" && v.AnyPod(func(p *model.Pod) bool {
		return p.Set == set && !p.Ready && !p.Terminating && p.Template != live.Template && !view.WouldGoBack(v, p, live) && view.Replaceable(v, p)
	})
}

// nextSetFirst: the set whose turn it is has to be proven before another is mended.
func nextSetFirst(v *view.View, turn, set string) bool {
	if OthersFirst(v, set) {
		return true
	}
	if turn == "" || turn == set || OthersFirst(v, turn) {
		return false
	}
	return !UpUnasked(v, turn) && (view.PendingRestart(v, turn) || !JoinedOnLive(v, turn))
}

// UpUnasked: a pod of the set is ready on its live template, and nobody can be asked. What
// is wanted by now is no cure for it, and keeps nobody else waiting.
func UpUnasked(v *view.View, set string) bool { return !v.Contact() && ReadyOnLive(v, set) }

// ranOnLive: a pod that runs the set's live template has joined, now or in this
// restart.
func ranOnLive(v *view.View, set string) bool {
	live := v.Live(set)
	return JoinedOnLive(v, set) || live != nil && view.Restarting(v) && v.AnyPod(func(p *model.Pod) bool {
		return p.Set == set && p.Template == live.Template && slices.Contains(v.Record.Operation.Restart.Done, p.UID)
	})
}

// Failing: a pod of the set fails.
func Failing(v *view.View, set string) bool {
	return v.AnyPod(func(p *model.Pod) bool { return p.Set == set && !p.Ready && !p.Terminating && view.Fails(p) })
}

// stuck: a pod of the set does not run, whichever template it is on.
func stuck(v *view.View, set string) bool {
	return v.AnyPod(func(p *model.Pod) bool {
		return p.Set == set && !p.Ready && !p.Terminating && view.Absent(v, p.NodeName) && (view.Fails(p) || v.Elapsed(view.Up(p)) > view.PodLimit(v))
	})
}

// BudgetOpen: a budget would let another pod go meanwhile.
func BudgetOpen(v *view.View) bool {
	return slices.ContainsFunc(v.Observed.Budgets, func(b model.ObservedBudget) bool { return b.MaxUnavailable != 0 })
}

// OnItsWay is a pod on its set's wanted template that has not joined, where none
// of the set has: with the record lost meanwhile, another set waits for it. One
// that came back in this restart and is down again is no such pod.
func OnItsWay(v *view.View, op *model.Operation) *model.Pod {
	if !v.Contact() {
		return nil
	}
	for _, s := range v.Record.Sets {
		live := v.Live(s.Name)
		if live == nil || view.PendingRestart(v, s.Name) || v.DesiredSet(s.Name) == nil || JoinedOnLive(v, s.Name) {
			continue
		}
		var found *model.Pod
		for i := range v.Observed.Pods {
			p := &v.Observed.Pods[i]
			if p.Set != s.Name || p.Ordinal >= s.Replicas || p.Template != live.Template {
				continue
			}
			if slices.Contains(op.Restart.Done, p.UID) {
				found = nil
				break
			}
			if found == nil || p.Ordinal < found.Ordinal {
				found = p
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// Remember notes which template is kept to return to: what the set had before, or
// what its pods have joined on since.
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

// Returns: there is a pod that the remembered template protects. Where none runs
// it, it may be of a version that no volume takes any more.
func Returns(v *view.View, set string) bool {
	r := v.Record.Operation.Restart
	return r.Remembered == "" || v.AnyPod(func(p *model.Pod) bool {
		return p.Set == set && p.Name != r.Pod && p.Template == r.Remembered
	})
}

// AnotherFirst: the pod would be the first on its set's template while another
// set waits for its own first one. What runs for others of its set, as it did for this
// one, it comes back on by itself, whatever is under way.
func AnotherFirst(v *view.View, p *model.Pod) bool {
	if JoinedOnLive(v, p.Set) {
		return false
	}
	if view.Restarting(v) && v.Record.Operation.Restart.Set == p.Set {
		// One that waits for others with what is wanted by now is not tried on what it has.
		return view.HasMaster(v) && view.PendingRestart(v, p.Set) && OthersFirst(v, p.Set)
	}
	return (view.Restarting(v) || runsFor(v, p)) && trialElsewhere(v, p.Set)
}

// runsFor: another pod of the set has joined on the template that this one is of.
func runsFor(v *view.View, p *model.Pod) bool {
	return v.AnyPod(func(q *model.Pod) bool {
		return q.Set == p.Set && q.Name != p.Name && q.Template == p.Template && view.Joined(v, q)
	})
}
