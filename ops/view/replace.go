package view

import "stevedore.dev/stevedore/ops/model"

// Replaceable reports whether a pod that is not ready may be deleted: as far as anybody knows
// its node is no member. If the only master-eligible node is stuck there is no contact, and
// perhaps none if the pod of the restart is and its node is master-eligible. A pod on a verified template may only be out of
// reach, until no node has answered for PodLimit.
func Replaceable(v *View, p *model.Pod) bool {
	switch {
	case !ProcessRuns(p):
		return true
	case v.Contact() && !Absent(v, p.NodeName):
		return false // it is not stuck, though its pod is not ready yet
	case HasMaster(v), v.Contact() && v.Elapsed(StartedOrCreated(p)) > PodLimit(v):
		return true // without a master nobody joins, and one that has just started may be what the quorum waits for
	case lateSinceCreated(v, p) && (clusterStartsLong(v) || Unreachable(v) && othersWaitFor(v, p)):
		return true
	case Votes(v, p.Set) && Restarting(v) && v.Record.Operation.Restart.Pod == p.Name && v.Record.Operation.Restart.PodUID != p.UID:
		return true
	case SoleVoter(v) == p.Set:
		return PastPodLimit(v, v.Observed.Stable.Unreachable) || !JoinedBefore(v, p.Set, p.Template)
	}
	return false
}

// othersWaitFor reports whether others wait for this pod while no node answers: the quorum waits
// for master-eligible nodes, and ready pods wait for any node until the gateway has recovered.
func othersWaitFor(v *View, p *model.Pod) bool {
	return Votes(v, p.Set) || v.AnyPod(func(q *model.Pod) bool { return q.Ready })
}

// Unreachable reports whether no node has answered for longer than PodLimit, and no pod is
// ready, or the ready ones wait for more data nodes after a full outage. A stuck pod then takes
// nothing with it, and may be what the quorum or the gateway waits for.
func Unreachable(v *View) bool {
	if !PastPodLimit(v, v.Observed.Stable.Unreachable) || v.Observed.Database.Contact != model.No {
		return false
	}
	none, needed := true, 0
	for p := range model.Each(v.Observed.Pods) {
		if Serves(p) {
			none, needed = false, max(needed, p.RecoverAfter)
		}
	}
	return none || GatewayReady(v) < needed && v.Observed.Database.SystemLogin == model.LoginRefused
}

// ClusterStarts reports whether a bootstrap or a resume is under way and the cluster has not answered yet. It may
// wait for the pod that is stuck.
func ClusterStarts(v *View) bool {
	op := v.Record.Operation
	return !v.Contact() && (op.Is(model.OperationBootstrap) || op.Is(model.OperationResume))
}

// clusterStartsLong reports whether that has lasted for longer than PodLimit.
func clusterStartsLong(v *View) bool {
	return ClusterStarts(v) && v.Elapsed(v.Record.Operation.Started) > PodLimit(v)
}
