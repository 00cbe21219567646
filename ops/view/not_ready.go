package view

import (
	"cmp"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// JoinedNotReady: the node in the pod is a member, by its own word and by that of the others,
// and Kubernetes does not call the pod ready: a probe of it fails, or a container beside
// CrateDB's. To the database it is a node as any other, with shards on it: so it goes
// through every gate, as one that is ready does, and is not made anew like one that hangs.
// An answer from before it started is of the pod that was there before.
func JoinedNotReady(v *View, p *model.Pod) bool {
	a, id := v.Answer(p.Name), v.ExpectedID()
	return !p.Ready && !p.Terminating && v.Contact() && ProcessRuns(p) && !p.Started.IsZero() && !p.Started.After(v.Observed.Database.At) && id != "" && a != nil && a.ClusterID == id && v.Member(p.NodeName)
}

// UpLong: the same of a pod of which nobody can say yet whether its node is a member, for
// `system` is not there, or the gateway waits for others. CrateDB has run in it for longer
// than a pod may take: a probe of it may fail, or a container beside CrateDB's.
func UpLong(v *View, p *model.Pod) bool {
	return JoinedNotReady(v, p) || !p.Terminating && ProcessRuns(p) && !p.Started.IsZero() && v.Elapsed(p.Started) > PodLimit(v)
}

// HealedByRestart: such a pod is due for a restart, which may be what makes it ready. It comes
// before those that are ready: it serves nobody, so nothing more goes down with it. What is
// wanted counts, whatever its set has gone back to until its turn.
func HealedByRestart(v *View, p *model.Pod) bool {
	live := v.Live(p.Set)
	return JoinedNotReady(v, p) && live != nil && live.Ours && (Outdated(v, p) || PendingRestart(v, p.Set))
}

// AnyHealedByRestart says whether the set has one; of any set with "".
func AnyHealedByRestart(v *View, set string) bool {
	return v.AnyPod(func(p *model.Pod) bool { return (set == "" || p.Set == set) && HealedByRestart(v, p) })
}

// Tolerated: while such a pod is about to go, it and the others of its kind count as what
// they are to the database. One that is ready waits for all of them, but for those that can
// only leave once it has gone.
func Tolerated(v *View, going, p *model.Pod) bool {
	return !p.Ready && (LeavesNotReady(v, p) && !anyTakes(v, p) || going != nil && HealedByRestart(v, going) && HealedByRestart(v, p))
}

// GrowNotReady: every node of a grow has joined, some of them in pods that are not ready,
// and what is wanted by now may make them so.
func GrowNotReady(v *View, op *model.Operation) bool {
	return !v.Rejected && !v.Suspending && OnlyNotReady(v, op.To)
}

// OnlyNotReady: every node of these sets has joined, and what is wanted by now may make
// ready those of their pods that are not, or lets them go.
func OnlyNotReady(v *View, sets []model.RecordedSet) bool {
	if !v.AnyPod(func(p *model.Pod) bool { return HealedOrLeaves(v, p) }) {
		return false
	}
	for _, s := range sets {
		for ordinal := range s.Replicas {
			if p := v.Pod(s.Name, ordinal); p == nil || !Joined(v, p) && !HealedOrLeaves(v, p) {
				return false
			}
		}
	}
	return true
}

// HealedOrLeaves: such a pod is to leave, or what may make it ready waits for those that
// do. For a shrink it counts as what it is to the database: no node goes down meanwhile,
// and what has left is empty.
func HealedOrLeaves(v *View, p *model.Pod) bool { return HealedByRestart(v, p) || LeavesNotReady(v, p) }

// LeavesNotReady: such a pod is to leave, and nothing that is wanted restarts it. One that
// others have added stays until the definition says what becomes of it.
func LeavesNotReady(v *View, p *model.Pod) bool {
	s := Recorded(v.Record.Sets, p.Set)
	return s != nil && p.Ordinal < s.Replicas && p.Ordinal >= Target(v, p.Set) && JoinedNotReady(v, p) && !HealedByRestart(v, p)
}

// anyTakes: the data nodes that stay are all of one version, and it is none before this
// pod's. Any of them may take its copies then; in the middle of an upgrade the older ones
// do not, or lack what the newer ones have, and a drain waits for them.
func anyTakes(v *View, p *model.Pod) bool {
	version := ""
	return !v.AnyPod(func(q *model.Pod) bool {
		w := v.DesiredSet(q.Set)
		if w == nil || !w.Data || q.Ordinal >= w.Replicas {
			return false
		}
		version = cmp.Or(version, q.Version)
		return q.Version != version || gates.Compare(version, p.Version) < 0
	})
}

// ShrinksFirst: a restart of the others waits for such a pod, for ever as it may be: so it
// leaves before, where any of them may take its copies. So does one in which CrateDB never
// started, which nothing that is wanted brings up.
func ShrinksFirst(v *View) bool {
	return v.AnyPod(func(p *model.Pod) bool {
		return LeavesNotReady(v, p) && anyTakes(v, p) || leavesUnstarted(v, p)
	})
}

// leavesUnstarted: such a pod is to leave, has had its time, and has nothing on it.
func leavesUnstarted(v *View, p *model.Pod) bool {
	s := Recorded(v.Record.Sets, p.Set)
	return s != nil && p.Ordinal < s.Replicas && p.Ordinal >= Target(v, p.Set) && !p.Terminating && !PendingRestart(v, p.Set) && !Outdated(v, p) &&
		NeverStarted(v, p) && (Fails(p) || v.Elapsed(p.Created) > PodLimit(v))
}

// readySoon is how long after its start a pod may well become ready by itself.
const readySoon = 2 * time.Minute

// State says of a pod what a person has to know who is to make it ready.
func State(v *View, name string, p *model.Pod) string {
	words := PodState(v, name, p)
	if p == nil || !JoinedNotReady(v, p) {
		return words
	}
	words = "its node has joined, and the pod is not ready yet: " + words
	// Of one whose machine does not report that is said, and no probe has failed.
	if p.Lost.Unheard.IsZero() && (p.Waiting != "" || v.Elapsed(p.Started) > readySoon) {
		words += "; its readiness probe or a container beside CrateDB's fails, and a corrected definition restarts it before all others"
	}
	return words
}
