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

// Recovered counts the nodes that have joined. It has not recovered only where a node says so: a reading that got no answer,
// or no master, says neither.
func Recovered(recovered, denied bool, joined, wanted int) (Reason, bool) {
	if recovered {
		return Reason{}, false
	}
	if !denied {
		return RecoveredRule.because("it is not known whether the cluster has recovered its state and has a master: %d of %d nodes have joined", joined, wanted), true
	}
	return RecoveredRule.because("the cluster has not recovered its state yet: %d of %d nodes have joined", joined, wanted), true
}
