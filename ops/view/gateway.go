package view

import (
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
	return s != nil && (Data(v, *s) || gates.Compare(Version(v), "4.7.0") < 0)
}
