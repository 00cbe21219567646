package view

import (
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// MadeGatewayWaits is such a pod of a cluster that is being made: a group went out of its
// definition, or became smaller, before its nodes had come up. Nothing was ever in it, and
// its gateway has not recovered: so many data nodes have never been ready as it waits for.
func MadeGatewayWaits(v *View) *model.Pod {
	if v.Contact() || v.Rejected || v.Record.ClusterID != "" || v.Record.Bootstrap.System != (model.SecretVersion{}) {
		return nil
	}
	if p := WaitsForMore(v, max(GatewayReady(v), GatewayNodes(v))); p != nil && p.Ready && v.Elapsed(p.Created) > PodLimit(v) {
		return p
	}
	return nil
}

// GatewayReady is how many pods are ready of those that a gateway waits for.
func GatewayReady(v *View) int {
	ready := 0
	for i := range v.Observed.Pods {
		if p := &v.Observed.Pods[i]; p.Ready && countsForGateway(v, p.Set) {
			ready++
		}
	}
	return ready
}

// WaitsForMore is a pod that may be master and waits for more data nodes than so many.
func WaitsForMore(v *View, nodes int) *model.Pod {
	for _, s := range v.Record.Sets {
		if !Votes(v, s.Name) {
			continue
		}
		for ordinal := range s.Replicas {
			if p := v.Pod(s.Name, ordinal); p != nil && p.RecoverAfter > nodes {
				return p
			}
		}
	}
	return nil
}

// GatewayReason says it.
func GatewayReason(v *View, p *model.Pod) model.Reason {
	return gates.GatewayWaits(p.Name, p.RecoverAfter, GatewayNodes(v))
}
