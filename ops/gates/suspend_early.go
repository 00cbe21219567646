package gates

// SuspendEarlyRule is the rule suspend-before-bootstrap.
var SuspendEarlyRule = Rule{
	Name:   "suspend-before-bootstrap",
	Kind:   Refuses,
	Says:   "Only a cluster that was made can be suspended: one that never ran has no number of replicas to come back to.",
	Do:     "Write the replicas that the cluster is to have; suspend it when the bootstrap has ended.",
	Source: "docs/operations.md, suspend and resume",
}

// SuspendEarly is all groups at 0 before the bootstrap has ended.
func SuspendEarly() Reason {
	return SuspendEarlyRule.because("all data groups at 0 replicas, and the cluster's bootstrap has not ended: write the replicas that it is to have, and suspend it afterwards")
}
