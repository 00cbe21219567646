package view

import (
	"cmp"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// BootstrapGatewayWaits is, in a cluster that is being made, a ready pod whose gateway waits for
// more data nodes than there are: a group left the definition, or became smaller, before its
// nodes had come up. It holds no data: that many nodes were never ready, so the gateway has
// never recovered. nil where there is none.
func BootstrapGatewayWaits(v *View) *model.Pod {
	if v.Contact() || v.Rejected || v.Record.ClusterID != "" || v.Record.Bootstrap.System != (model.SecretVersion{}) {
		return nil
	}
	if p := WaitsForMore(v, max(GatewayReady(v), GatewayNodes(v))); p != nil && p.Ready && lateSinceCreated(v, p) {
		return p
	}
	return nil
}

// GatewayReady counts the ready pods among those that the gateway counts.
func GatewayReady(v *View) int {
	return model.Count(v.Observed.Pods, func(p *model.Pod) bool { return p.Ready && countsForGateway(v, p.Set) })
}

// WaitsForMore is a master-eligible pod that waits for more data nodes than these; nil for none.
func WaitsForMore(v *View, nodes int) *model.Pod {
	for _, p := range Expected(v, Voting(v)) {
		if p != nil && p.RecoverAfter > nodes {
			return p
		}
	}
	return nil
}

// GatewayReason says that the gateway of this pod waits for more nodes than there are.
func GatewayReason(v *View, p *model.Pod) model.Reason {
	return gates.GatewayWaits(p.Name, p.RecoverAfter, GatewayNodes(v))
}

// WaitsForTooMany reports whether a pod waits for more data nodes than there are, and the
// template of its set no longer does.
func WaitsForTooMany(v *View, p *model.Pod) bool {
	live := v.Live(p.Set)
	return p.RecoverAfter != 0 && live != nil && live.RecoverAfter != p.RecoverAfter && p.RecoverAfter > GatewayNodes(v)
}

// GatewayNodes counts the nodes that gateway.recover_after_data_nodes counts; of a cluster that
// is being made those that are still desired.
func GatewayNodes(v *View) int {
	return Total(BootstrapSets(v), func(s model.RecordedSet) bool { return countsForGateway(v, s.Name) })
}

// countsForGateway reports whether the gateway counts a set's nodes: those with data, before 4.7
// all.
func countsForGateway(v *View, set string) bool {
	s := Recorded(v.Record.Sets, set)
	return s != nil && (Data(v, *s) || gates.Compare(cmp.Or(v.Record.Version, v.Desired.Version), "4.7.0") < 0)
}

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
	return !v.Contact() && op != nil && (op.Kind == model.OperationBootstrap || op.Kind == model.OperationResume)
}

// clusterStartsLong reports whether that has lasted for longer than PodLimit.
func clusterStartsLong(v *View) bool {
	return ClusterStarts(v) && v.Elapsed(v.Record.Operation.Started) > PodLimit(v)
}
