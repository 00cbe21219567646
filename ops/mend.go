package ops

import (
	"cmp"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
)

// readyOnLive: a pod of the set is ready on its live template; nobody can be asked
// whether it has joined, and a pod is ready once it has.
func (t *turn) readyOnLive(set string) bool {
	live := t.live(set)
	return live != nil && t.anyPod(func(p *Pod) bool {
		return p.Set == set && p.Template == live.Template && p.Ready && !p.Terminating
	})
}

// soleVoter is the set of the only node that may vote; "" where there are more.
func (t *turn) soleVoter() string {
	voters, set := 0, ""
	for _, s := range t.r.Sets {
		if w := t.wanted(s.Name); w != nil && w.MasterEligible && s.Replicas > 0 {
			voters += s.Replicas
			set = s.Name
		}
	}
	if voters != 1 {
		return ""
	}
	return set
}

// quorumWaits is the set of the only node that may vote, or one of which such a node does
// not run: its new template may be what brings the contact back.
func (t *turn) quorumWaits() string {
	set := t.soleVoter()
	for _, s := range t.r.Sets {
		if set == "" && t.votes(s.Name) && t.hangs(s.Name) && t.pendingRestart(s.Name) && !t.othersFirst(s.Name) {
			set = s.Name
		}
	}
	return set
}

// leavesHanging: the restart was aborted, or the set whose turn it is went out of the
// definition and nothing else is wanted of it, while its pods hang on a template that none
// has joined on. What may be on them cannot be drained, nor corrected: it goes back to what
// it had before, and the restart waits for it. Where no other pod of it runs that, nothing is
// won by haste: one that still has time may join on the newer version of an upgrade, and once
// that has started only it starts on the volume.
func (t *turn) leavesHanging(r *Restart) bool {
	live := t.live(r.Set)
	if r.Remembered == "" || live == nil || t.wanted(r.Set) != nil && !t.aborted() || t.blocked || !t.unprovenPods(r.Set) {
		return false
	}
	c := t.nodes([]RecordedSet{*cmp.Or(recorded(t.r.Sets, r.Set), &RecordedSet{})})
	others := slices.ContainsFunc(t.o.Pods, func(p Pod) bool { return p.Set == r.Set && p.Template == r.Remembered && !p.Terminating })
	rollBack := live.Template != r.Remembered && (others || t.verifiedOn(r.Set, r.Remembered))
	if rollBack && t.upgrading() && !others {
		started, hangs := t.triedOn(live)
		if started && hangs {
			return false
		}
		rollBack = hangs
	}
	if rollBack {
		t.undo = r.Set
	}
	t.wait(gates.PodReturns(c.notJoined, c.notJoinedWhy))
	return true
}

// triedOn says of the pods on a set's live template whether CrateDB has started in one, and
// whether there are any and all of them hang.
func (t *turn) triedOn(live *ObservedSet) (started, hangs bool) {
	tried, hanging := 0, 0
	for i := range t.o.Pods {
		if p := &t.o.Pods[i]; p.Set == live.Name && p.Template == live.Template {
			tried++
			started = started || !p.Started.IsZero()
			if !p.Terminating && (fails(p) || t.elapsed(up(p)) > t.podLimit()) {
				hanging++
			}
		}
	}
	return started, tried > 0 && hanging == tried
}

// mends names a set whose live template does not run: a pod of it fails, and what
// is wanted is another. That one goes in whatever else is under way, for a node
// that hangs may be what everything else waits for. "" for none.
func (t *turn) mends() string {
	turn := ""
	if t.restarting() {
		turn = t.r.Operation.Restart.Set
	}
	if t.blocked || t.parked && !(t.r.Operation != nil && t.r.Operation.Kind == OperationResume) || turn != "" && t.r.Operation.Step == StepStopped {
		return ""
	}
	for i := range t.o.Pods {
		p := &t.o.Pods[i]
		live := t.live(p.Set)
		if p.Ready || p.Terminating || live == nil || p.Template != live.Template || t.wanted(p.Set) == nil || !t.pendingRestart(p.Set) || t.turnFirst(turn, p.Set) || t.byUpgrade(p.Set) || t.awayByItself(p) {
			continue
		}
		if t.unprovenBeside(p.Set) {
			return ""
		}
		if (fails(p) || t.elapsed(up(p)) > t.podLimit()) && t.isCurable(p) {
			return p.Set
		}
	}
	return ""
}

// byUpgrade: what is wanted of the set is another version than its live template has.
// That comes by an upgrade only, but to what was never made, to what nobody answers
// without, and to what the gateway of a new cluster waits for.
func (t *turn) byUpgrade(set string) bool {
	if !t.upgradeDue() || t.upgrading() || !slices.ContainsFunc(t.d.Changes, func(c Change) bool { return c.Class == ChangeImage && c.Set == set }) {
		return false
	}
	return (t.r.ClusterID != "" || t.anyReady(set) && !(t.hangs(set) && t.waitsForMore(t.gatewayReady()) != nil)) && !t.resumesOnNothing(set)
}

// resumesOnNothing: a resume has started a set on a template that was applied before it was
// suspended and that no pod has joined on, and none of it runs. An upgrade waits for somebody
// who answers, and nobody does without these: so the wanted version comes at once. Where it
// depends on the age of tables, which nobody can say, it does not.
func (t *turn) resumesOnNothing(set string) bool {
	op, live := t.r.Operation, t.live(set)
	if op == nil || op.Kind != OperationResume || t.contact() || live == nil || gates.NeedsTableAges(t.r.Version, t.d.Version) ||
		slices.Contains(t.r.Proven, Proven{set, live.Template}) {
		return false
	}
	return !slices.ContainsFunc(t.o.Pods, func(p Pod) bool {
		return p.Set == set && (p.Ready || !fails(&p) && t.elapsed(p.Created) <= t.podLimit())
	})
}

func (t *turn) anyReady(set string) bool {
	return t.anyPod(func(p *Pod) bool { return p.Set == set && p.Ready })
}

// unprovenBeside: another set has a new template that no pod has joined on. One that is
// recorded smaller than it is live still puts its pods on that. While a cluster is being
// made each has, and none runs anything that would be lost. One that none of the other's
// pods is on is not waited for by a group that is being made, nor while a resume or anything
// else but a restart is under way: that puts none on it before it has ended.
// Nor does one whose pods stand on such a template already wait for a group that is to go:
// nothing else comes to that, and no more of them are at risk. And those that may become
// master wait for nobody else while there is none: without one nobody joins.
func (t *turn) unprovenBeside(set string) bool {
	if !t.r.Bootstrap.Done {
		return false
	}
	for _, s := range t.r.Sets {
		if s.Name != set && t.replicas(s) > 0 && !t.pendingRestart(s.Name) && !t.joinedOnLive(s.Name) && !t.upUnasked(s.Name) {
			if (t.added(set) || t.r.Operation != nil && !t.restarting()) && !t.unprovenPods(s.Name) || t.wanted(s.Name) == nil && t.unprovenPods(set) {
				continue
			}
			if t.contact() && !t.led() && t.votes(set) && !t.votes(s.Name) {
				continue
			}
			return t.led() || set != t.soleVoter()
		}
	}
	return false
}

// awayByItself: while nodes come or go, one of those that stay is away, and pods of its set
// have joined on its template. It has the time to come back on that which one may take:
// another may not run, and what is under way would wait for it.
func (t *turn) awayByItself(p *Pod) bool {
	live := t.live(p.Set)
	if live == nil || !t.growing() && !t.shrinking() || !slices.Contains(t.r.Proven, Proven{p.Set, live.Template}) {
		return false
	}
	if from := recorded(t.r.Operation.From, p.Set); from == nil || p.Ordinal >= from.Replicas {
		return false // it is one that comes
	}
	since := t.o.Stable.Same
	if !t.contact() {
		since = t.o.Stable.Silent
	}
	return since.IsZero() || t.elapsed(since) <= t.podLimit()
}

// othersFirst: another set has got a new template out of its turn, and no pod of it
// has joined. Another new template waits for that one; without contact, it waits for
// those that may become master.
func (t *turn) othersFirst(set string) bool {
	if !t.r.Bootstrap.Done {
		return false // each has one then, and none runs anything that would be lost
	}
	if !t.led() && !t.votes(set) {
		return slices.ContainsFunc(t.r.Sets, func(s RecordedSet) bool {
			return s.Name != set && t.votes(s.Name) && t.unprovenPods(s.Name) && !t.upUnasked(s.Name)
		})
	}
	return slices.ContainsFunc(t.r.Unproven, func(name string) bool {
		// Without a master nobody joins: only what is tried elsewhere already is not
		// tried here too, and what runs elsewhere untried is mended before what has run.
		return name != set && (t.unprovenPods(name) || t.curing(name)) &&
			(t.led() || !t.pendingRestart(name) || t.ranBefore(set)) && !t.precedes(set, name)
	})
}

// ranBefore: a pod of the set has joined on its live template, and it may be away now.
func (t *turn) ranBefore(set string) bool {
	live := t.live(set)
	return live != nil && slices.Contains(t.r.Proven, Proven{set, live.Template})
}

// precedes: pods of both sets are on templates that none has joined on, as others' hands
// bring about, and each would wait for the other. The one whose turn it is goes first,
// else the first of them. One that has what is wanted already waits for nobody.
func (t *turn) precedes(set, other string) bool {
	if !t.unprovenPods(set) || t.led() && t.wanted(other) != nil && !t.pendingRestart(other) {
		return false
	}
	if t.restarting() {
		switch t.r.Operation.Restart.Set {
		case set:
			return true
		case other:
			return false
		}
	}
	if ran, otherRan := t.hasWritten(set), t.hasWritten(other); ran != otherRan && t.pendingRestart(set) && t.pendingRestart(other) {
		return otherRan // with the record lost: what has run may only be away
	}
	for _, s := range t.r.Sets {
		if s.Name == set || s.Name == other {
			// One that is not noted was well, and is away by itself.
			return s.Name == set && slices.Contains(t.r.Unproven, set)
		}
	}
	return false
}

// hasWritten: a claim of the set says which version has written to it.
func (t *turn) hasWritten(set string) bool {
	return slices.ContainsFunc(t.o.Claims, func(c Claim) bool { return c.Set == set && c.Version != "" })
}

// led: there is contact, and a master that lets nodes join.
func (t *turn) led() bool { return t.contact() && t.o.Database.MasterNode != "" }

// curing: a pod of the set does not run, and is to be made anew on its live template.
func (t *turn) curing(set string) bool {
	live := t.live(set)
	return live != nil && live.Template != "" && t.anyPod(func(p *Pod) bool {
		return p.Set == set && !p.Ready && !p.Terminating && p.Template != live.Template && !t.wouldGoBack(p, live) && t.isCurable(p)
	})
}

func (t *turn) votes(set string) bool {
	w := t.wanted(set)
	return w != nil && w.MasterEligible
}

// turnFirst: the set whose turn it is has to be proven before another is mended.
func (t *turn) turnFirst(turn, set string) bool {
	if t.othersFirst(set) {
		return true
	}
	if turn == "" || turn == set || t.othersFirst(turn) {
		return false
	}
	return !t.upUnasked(turn) && (t.pendingRestart(turn) || !t.joinedOnLive(turn))
}

// upUnasked: a pod of the set is ready on its live template, and nobody can be asked. What
// is wanted by now is no cure for it, and keeps nobody else waiting.
func (t *turn) upUnasked(set string) bool { return !t.contact() && t.readyOnLive(set) }

// ranOnLive: a pod that runs the set's live template has joined, now or in this
// restart.
func (t *turn) ranOnLive(set string) bool {
	live := t.live(set)
	return t.joinedOnLive(set) || live != nil && t.restarting() && t.anyPod(func(p *Pod) bool {
		return p.Set == set && p.Template == live.Template && slices.Contains(t.r.Operation.Restart.Done, p.UID)
	})
}

// failing: a pod of the set fails.
func (t *turn) failing(set string) bool {
	return t.anyPod(func(p *Pod) bool { return p.Set == set && !p.Ready && !p.Terminating && fails(p) })
}

// hangs: a pod of the set does not run, whichever template it is on.
func (t *turn) hangs(set string) bool {
	return t.anyPod(func(p *Pod) bool {
		return p.Set == set && !p.Ready && !p.Terminating && t.absent(p.NodeName) && (fails(p) || t.elapsed(up(p)) > t.podLimit())
	})
}

// takesDown: a pod is about to go, or is away.
func (t *turn) takesDown() bool {
	return t.restarting() && (t.r.Operation.Step == StepHold || t.r.Operation.Step == StepDown)
}

// budgetOpen: a budget would let another pod go meanwhile.
func (t *turn) budgetOpen() bool {
	return slices.ContainsFunc(t.o.Budgets, func(b ObservedBudget) bool { return b.MaxUnavailable != 0 })
}

// fails: its container does not start or does not stay; one that is being made
// waits too, and so does one whose volumes are: the scheduler calls each new pod
// unschedulable until they are bound, and no other template would bind them.
func fails(p *Pod) bool {
	return p.Waiting != "" && p.Waiting != "ContainerCreating" && p.Waiting != "PodInitializing" && !waitsForVolumes(p)
}

func waitsForVolumes(p *Pod) bool {
	return p.Waiting == "Unschedulable" && (strings.Contains(p.Message, "unbound immediate PersistentVolumeClaims") ||
		strings.Contains(p.Message, "persistentvolumeclaim \"") && strings.Contains(p.Message, "\" not found"))
}

// onItsWay is a pod on its set's wanted template that has not joined, where none
// of the set has: with the record lost meanwhile, another set waits for it. One
// that came back in this restart and is down again is no such pod.
func (t *turn) onItsWay(op *Operation) *Pod {
	if !t.contact() {
		return nil
	}
	for _, s := range t.r.Sets {
		live := t.live(s.Name)
		if live == nil || t.pendingRestart(s.Name) || t.wanted(s.Name) == nil || t.joinedOnLive(s.Name) {
			continue
		}
		var found *Pod
		for i := range t.o.Pods {
			p := &t.o.Pods[i]
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

// remember notes which template is kept to return to: what the set had before, or
// what its pods have joined on since.
func (t *turn) remember(e *EffectiveSet) {
	r := t.r.Operation.Restart
	e.RememberAnew = t.turns == e.Name
	if e.Live == "" || t.r.Operation.Step == StepStopped || !t.pendingRestart(e.Name) {
		return
	}
	if r.Remembered == "" || t.ranOnLive(e.Name) && r.Remembered != e.Live {
		e.RememberAnew, r.Remembered = true, e.Live
	}
}

// returns: there is a pod that the remembered template protects. Where none runs
// it, it may be of a version that no volume takes any more.
func (t *turn) returns(set string) bool {
	r := t.r.Operation.Restart
	return r.Remembered == "" || t.anyPod(func(p *Pod) bool {
		return p.Set == set && p.Name != r.Pod && p.Template == r.Remembered
	})
}

// anotherFirst: the pod would be the first on its set's template while another
// set waits for its own first one. What runs for others of its set, as it did for this
// one, it comes back on by itself, whatever is under way.
func (t *turn) anotherFirst(p *Pod) bool {
	if t.joinedOnLive(p.Set) {
		return false
	}
	if t.restarting() && t.r.Operation.Restart.Set == p.Set {
		// One that waits for others with what is wanted by now is not tried on what it has.
		return t.led() && t.pendingRestart(p.Set) && t.othersFirst(p.Set)
	}
	return (t.restarting() || t.runsFor(p)) && t.unprovenBeside(p.Set)
}

// runsFor: another pod of the set has joined on the template that this one is of.
func (t *turn) runsFor(p *Pod) bool {
	return t.anyPod(func(q *Pod) bool {
		return q.Set == p.Set && q.Name != p.Name && q.Template == p.Template && t.joined(q)
	})
}
