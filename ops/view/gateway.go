package view

import (
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// MadeGatewayWaits is, in a cluster that is being made, a ready pod whose gateway waits for
// more data nodes than there are: a group left the definition, or became smaller, before its
// nodes had come up. It holds no data: that many nodes were never ready, so the gateway has
// never recovered. nil where there is none.
func MadeGatewayWaits(v *View) *model.Pod {
	if v.Contact() || v.Rejected || v.Record.ClusterID != "" || v.Record.Bootstrap.System != (model.SecretVersion{}) {
		return nil
	}
	if p := WaitsForMore(v, max(GatewayReady(v), GatewayNodes(v))); p != nil && p.Ready && v.Elapsed(p.Created) > PodLimit(v) {
		return p
	}
	return nil
}

// GatewayReady counts the ready pods among those that the gateway counts.
func GatewayReady(v *View) int {
	ready := 0
	for i := range v.Observed.Pods {
		if p := &v.Observed.Pods[i]; p.Ready && countsForGateway(v, p.Set) {
			ready++
		}
	}
	return ready
}

// WaitsForMore is a master-eligible pod that waits for more data nodes than these; nil for none.
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

// GatewayReason says that the gateway of this pod waits for more nodes than there are.
func GatewayReason(v *View, p *model.Pod) model.Reason {
	return gates.GatewayWaits(p.Name, p.RecoverAfter, GatewayNodes(v))
}
