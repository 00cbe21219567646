package ops

import (
	"cmp"
	"time"

	"stevedore.dev/stevedore/ops/gates"
)

// unready: the node in the pod is a member, by its own word and by that of the others,
// and Kubernetes does not call the pod ready: a probe of it fails, or a container beside
// CrateDB's. To the database it is a node as any other, with shards on it: so it goes
// through every gate, as one that is ready does, and is not made anew like one that hangs.
// An answer from before it started is of the pod that was there before.
func (t *turn) unready(p *Pod) bool {
	a, id := t.answer(p.Name), t.expectedID()
	return !p.Ready && !p.Terminating && t.contact() && processRuns(p) && !p.Started.IsZero() && !p.Started.After(t.o.Database.At) && id != "" && a != nil && a.ClusterID == id && t.member(p.NodeName)
}

// upLong: the same of a pod of which nobody can say yet whether its node is a member, for
// `system` is not there, or the gateway waits for others. CrateDB has run in it for longer
// than a pod may take: a probe of it may fail, or a container beside CrateDB's.
func (t *turn) upLong(p *Pod) bool {
	return t.unready(p) || !p.Terminating && processRuns(p) && !p.Started.IsZero() && t.elapsed(p.Started) > t.podLimit()
}

// mayMend: such a pod is due for a restart, which may be what makes it ready. It comes
// before those that are ready: it serves nobody, so nothing more goes down with it. What is
// wanted counts, whatever its set has gone back to until its turn.
func (t *turn) mayMend(p *Pod) bool {
	live := t.live(p.Set)
	return t.unready(p) && live != nil && live.Ours && (t.outdated(p) || t.pendingRestart(p.Set))
}

// mayMendIn says whether the set has one; of any set with "".
func (t *turn) mayMendIn(set string) bool {
	return t.anyPod(func(p *Pod) bool { return (set == "" || p.Set == set) && t.mayMend(p) })
}

// besides: while such a pod is about to go, it and the others of its kind count as what
// they are to the database. One that is ready waits for all of them, but for those that can
// only leave once it has gone.
func (t *turn) besides(going, p *Pod) bool {
	return !p.Ready && (t.leavesUnready(p) && !t.anyTakes(p) || going != nil && t.mayMend(going) && t.mayMend(p))
}

// growUnready: every node of a grow has joined, some of them in pods that are not ready,
// and what is wanted by now may make them so.
func (t *turn) growUnready(op *Operation) bool {
	return !t.blocked && !t.parked && t.onlyUnready(op.To)
}

// onlyUnready: every node of these sets has joined, and what is wanted by now may make
// ready those of their pods that are not, or lets them go.
func (t *turn) onlyUnready(sets []RecordedSet) bool {
	if !t.anyPod(t.mendsOrLeaves) {
		return false
	}
	for _, s := range sets {
		for ordinal := range s.Replicas {
			if p := t.pod(s.Name, ordinal); p == nil || !t.joined(p) && !t.mendsOrLeaves(p) {
				return false
			}
		}
	}
	return true
}

// mendsOrLeaves: such a pod is to leave, or what may make it ready waits for those that
// do. For a shrink it counts as what it is to the database: no node goes down meanwhile,
// and what has left is empty.
func (t *turn) mendsOrLeaves(p *Pod) bool { return t.mayMend(p) || t.leavesUnready(p) }

// leavesUnready: such a pod is to leave, and nothing that is wanted restarts it. One that
// others have added stays until the definition says what becomes of it.
func (t *turn) leavesUnready(p *Pod) bool {
	s := recorded(t.r.Sets, p.Set)
	return s != nil && p.Ordinal < s.Replicas && p.Ordinal >= t.target(p.Set) && t.unready(p) && !t.mayMend(p)
}

// anyTakes: the data nodes that stay are all of one version, and it is none before this
// pod's. Any of them may take its copies then; in the middle of an upgrade the older ones
// do not, or lack what the newer ones have, and a drain waits for them.
func (t *turn) anyTakes(p *Pod) bool {
	version := ""
	return !t.anyPod(func(q *Pod) bool {
		w := t.wanted(q.Set)
		if w == nil || !w.Data || q.Ordinal >= w.Replicas {
			return false
		}
		version = cmp.Or(version, q.Version)
		return q.Version != version || gates.Compare(version, p.Version) < 0
	})
}

// shrinksFirst: a restart of the others waits for such a pod, for ever as it may be: so it
// leaves before, where any of them may take its copies. So does one in which CrateDB never
// started, which nothing that is wanted brings up.
func (t *turn) shrinksFirst() bool {
	return t.anyPod(func(p *Pod) bool {
		return t.leavesUnready(p) && t.anyTakes(p) || t.leavesUnstarted(p)
	})
}

// leavesUnstarted: such a pod is to leave, has had its time, and has nothing on it.
func (t *turn) leavesUnstarted(p *Pod) bool {
	s := recorded(t.r.Sets, p.Set)
	return s != nil && p.Ordinal < s.Replicas && p.Ordinal >= t.target(p.Set) && !p.Terminating && !t.pendingRestart(p.Set) && !t.outdated(p) &&
		t.neverStarted(p) && (fails(p) || t.elapsed(p.Created) > t.podLimit())
}

// readySoon is how long after its start a pod may well become ready by itself.
const readySoon = 2 * time.Minute

// state says of a pod what a person has to know who is to make it ready.
func (t *turn) state(name string, p *Pod) string {
	words := t.podState(name, p)
	if p == nil || !t.unready(p) {
		return words
	}
	words = "its node has joined, and the pod is not ready yet: " + words
	// Of one whose machine does not report that is said, and no probe has failed.
	if p.Lost.Unheard.IsZero() && (p.Waiting != "" || t.elapsed(p.Started) > readySoon) {
		words += "; its readiness probe or a container beside CrateDB's fails, and a corrected definition restarts it before all others"
	}
	return words
}
