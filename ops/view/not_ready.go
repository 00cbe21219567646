package view

import (
	"cmp"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// HealedByRestart reports whether such a pod is due for a restart, which may make it ready. It
// comes before ready pods: it serves nobody, so nothing more goes down with it. The desired
// template counts, whichever its set has until its turn.
func HealedByRestart(v *View, p *model.Pod) bool {
	live := v.Live(p.Set)
	return JoinedNotReady(v, p) && live != nil && live.Ours && RestartDue(v, p)
}

// RestartDue reports whether a pod is outdated already, or will be once its set has the desired
// template.
func RestartDue(v *View, p *model.Pod) bool { return Outdated(v, p) || PendingRestart(v, p.Set) }

// AnyHealedByRestart reports whether the set has such a pod; "" is any set.
func AnyHealedByRestart(v *View, set string) bool {
	return v.AnyPod(func(p *model.Pod) bool { return (set == "" || p.Set == set) && HealedByRestart(v, p) })
}

// Tolerated reports whether a pod that is about to go does not wait for p, which is not ready.
// If a restart may heal both, each counts as the member that it is. A ready pod waits for p,
// unless p is to leave and can only leave after it, and has had its time to become ready.
func Tolerated(v *View, going, p *model.Pod) bool {
	if LeavesNotReady(v, p) {
		return StuckSinceStart(v, p) && !anyTakes(v, p)
	}
	return !p.Ready && going != nil && HealedByRestart(v, going) && HealedByRestart(v, p)
}

// GrowNotReady reports whether every node of a grow has joined, and the desired template may
// make ready those of their pods that are not. Each pod that the grow adds is not ready for a
// moment: it has its time, unless a later push corrects it.
func GrowNotReady(v *View, op *model.Operation) bool {
	if v.Rejected || v.Suspending || !OnlyNotReady(v, op.To) {
		return false
	}
	return op.Revision != v.Desired.Revision || !v.AnyPod(func(p *model.Pod) bool {
		return HealedOrLeaves(v, p) && Added(op, p) && !StuckSinceStart(v, p)
	})
}

// Added reports whether a grow adds this pod.
func Added(op *model.Operation, p *model.Pod) bool {
	from, to := Recorded(op.From, p.Set), Recorded(op.To, p.Set)
	return to != nil && p.Ordinal < to.Replicas && (from == nil || p.Ordinal >= from.Replicas)
}

// OnlyNotReady reports whether every node of these sets has joined, and those of their pods
// that are not ready are to leave or may be healed by a restart.
func OnlyNotReady(v *View, sets []model.RecordedSet) bool {
	if !v.AnyPod(func(p *model.Pod) bool { return HealedOrLeaves(v, p) }) {
		return false
	}
	for _, p := range Expected(v, sets) {
		if p == nil || !Joined(v, p) && !HealedOrLeaves(v, p) {
			return false
		}
	}
	return true
}

// HealedOrLeaves reports whether such a pod is to leave, or is due for a restart that waits for
// pods that leave. For a shrink it counts as a member: no node goes down meanwhile, and what
// has left is empty.
func HealedOrLeaves(v *View, p *model.Pod) bool { return HealedByRestart(v, p) || LeavesNotReady(v, p) }

// LeavesNotReady reports whether such a pod is to leave and no restart of it is due. A pod that
// others have added stays until the definition says what becomes of it.
func LeavesNotReady(v *View, p *model.Pod) bool {
	return Leaves(v, p) && JoinedNotReady(v, p) && !HealedByRestart(v, p)
}

// anyTakes reports whether the data nodes that stay run one version, not older than this pod's:
// then any of them may take its copies. In the middle of an upgrade the older ones may not, or
// lack what the newer ones have, and a drain waits for them.
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

// ShrinksFirst reports whether nodes have to leave before a restart. The restart would wait for
// such a pod, perhaps for ever: so it leaves first, where any other node may take its copies.
// So does a pod in which CrateDB never started and which no desired template brings up. Before they leave each node that
// stays has to be there: where one is stuck, the restart that brings it back comes first.
func ShrinksFirst(v *View) bool {
	stays := func(p *model.Pod) bool {
		return !Leaves(v, p) && StuckSinceCreated(v, p) && !Serves(p) && !JoinedNotReady(v, p)
	}
	return !v.AnyPod(stays) && v.AnyPod(func(p *model.Pod) bool {
		return LeavesNotReady(v, p) && anyTakes(v, p) || leavesUnstarted(v, p)
	})
}

// leavesUnstarted reports whether a pod is to leave, has had its time, and has no data on it.
func leavesUnstarted(v *View, p *model.Pod) bool {
	if !Leaves(v, p) || p.Terminating || RestartDue(v, p) {
		return false
	}
	return NeverStarted(v, p) && StuckSinceCreated(v, p)
}
