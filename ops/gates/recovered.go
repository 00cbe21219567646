package gates

// RecoveredRule is the rule gateway-recovered.
var RecoveredRule = Rule{
	Name:   "gateway-recovered",
	Kind:   Waits,
	Says:   "Before the gateway has recovered a cluster looks empty and green: nothing is concluded from it.",
	Do:     "Start the nodes that are missing: the gateway waits for `gateway.recover_after_data_nodes` of them.",
	Source: "CrateDB manual, gateway.recover_after_data_nodes",
}

// GatewayWaits names a pod that was started when there were more nodes.
func GatewayWaits(pod string, waitsFor, nodes int) Reason {
	return RecoveredRule.because("after a full outage the cluster waits for %d data nodes and has %d: the node in pod %s was started with that gateway.recover_after_data_nodes before the cluster was made smaller. Its template counts those that there are now, and it is recreated on it; nothing else is concluded", waitsFor, nodes, pod)
}

// Recovered counts the nodes that have joined.
func Recovered(recovered bool, joined, wanted int) (Reason, bool) {
	if recovered {
		return Reason{}, false
	}
	return RecoveredRule.because("the cluster has not recovered its state yet: %d of %d nodes have joined", joined, wanted), true
}
