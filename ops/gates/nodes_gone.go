package gates

// NodesGoneRule is the rule nodes-gone.
var NodesGoneRule = Rule{
	Name:   "nodes-gone",
	Kind:   Waits,
	Says:   "What the nodes that left were excluded by is taken off only when their pods are gone and they are in sys.nodes no more.",
	Do:     "Wait: a pod has a grace period of 20 minutes. `kubectl describe pod` says what keeps it.",
	Source: "CrateDB manual, sys.nodes",
}

// NodesGone names the first pod or node that is still there.
func NodesGone(which string) Reason {
	return NodesGoneRule.because("%s is not gone yet", which)
}
