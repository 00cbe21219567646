package gates

// NodesAnswerRule is the rule nodes-answer.
var NodesAnswerRule = Rule{
	Name:   "nodes-answer",
	Kind:   Waits,
	Says:   "Before a node goes down or leaves, every other node answers the node that is asked. A node that is listed and does not answer may have ended: the list is as old as the last word of the master. What is on it, and how much room it has, is not known.",
	Do:     "Look at the pod of the node that is named: `kubectl describe pod`, and its logs. A process that hangs is replaced once its pod is not ready; a machine that is overloaded needs less to do.",
	Source: "sys.nodes: version and fs are NULL for a node that does not answer (run on CrateDB 6.4.3)",
}

// NodesAnswer names the first node that does not.
func NodesAnswer(unreachable string) (Reason, bool) {
	if unreachable == "" {
		return Reason{}, false
	}
	return NodesAnswerRule.because("node %s is listed in sys.nodes and does not answer the node that was asked: what is on it is not known", unreachable), true
}
