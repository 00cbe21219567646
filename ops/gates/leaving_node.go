package gates

// LeavingNodeRule is the rule leaving-node-away.
var LeavingNodeRule = Rule{
	Name:   "leaving-node-away",
	Kind:   Waits,
	Says:   "A node that is being drained has to be there: one that is away may hold the last copy of a shard.",
	Do:     "Look at the pod that is named, and bring it back: `kubectl describe pod`. Or put the replicas back.",
	Source: "docs/safety.md, invariant A",
}

// LeavingNode names it.
func LeavingNode(node, pod string) Reason {
	return LeavingNodeRule.because("node %s (pod %s) was being drained and is not in the cluster: it may hold shards, and is waited for", node, pod)
}
