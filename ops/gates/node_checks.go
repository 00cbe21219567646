package gates

// NodeChecksRule is the rule node-checks-acknowledged.
var NodeChecksRule = Rule{
	Name:   "node-checks-acknowledged",
	Kind:   Waits,
	Says:   "After a grow each node's check 1 (expected data nodes) is acknowledged, since the gateway counts of running nodes only change with a restart.",
	Do:     "Wait; it is done by stevedore as soon as every node has joined.",
	Source: "CrateDB manual, sys.node_checks",
}

// NodeChecks counts those that are open.
func NodeChecks(known bool, open int) (Reason, bool) {
	if known && open == 0 {
		return Reason{}, false
	}
	if !known {
		return NodeChecksRule.because("the node checks could not be read yet"), true
	}
	return NodeChecksRule.because("node check 1 is open on %d node(s)", open), true
}
