package gates

// JoinedRule is the rule nodes-joined.
var JoinedRule = Rule{
	Name:   "nodes-joined",
	Kind:   Waits,
	Passes: true,
	Says:   "Every desired node has to be in sys.nodes and to answer with the cluster's own id.",
	Do:     "Look at the log of the pod that is named: a node that is ready and has not joined finds no master or runs on the volume of another cluster.",
	Source: "CrateDB manual, sys.nodes",
}

// Joined names the first node that has not joined, and why if it is known.
func Joined(joined, wanted int, missing, why string) (Reason, bool) {
	if joined >= wanted {
		return Reason{}, false
	}
	if why != "" {
		why = " (" + why + ")"
	}
	return JoinedRule.because("%d of %d nodes have joined and are ready; waiting for %s%s", joined, wanted, missing, why), true
}
