package gates

import "strings"

// NodeEndedRule is the rule node-ended.
var NodeEndedRule = Rule{
	Name:    "node-ended",
	Kind:    Waits,
	Informs: true,
	Says:    "CrateDB's process of a pod has ended by itself within the last ten minutes, and the kubelet has started it again. It holds nothing back.",
	Do: "The exit code says who ended it: 137 with `OOMKilled` is the memory limit, 137 alone the machine, 143 a probe or a person, others are CrateDB's own. " +
		"`kubectl logs POD -c crate --previous` has its last words.",
	Source: "Kubernetes' manual, Pod Lifecycle, container restarts",
}

// NodeEnded names pods, with how their processes have ended.
func NodeEnded(ended []string) (Reason, bool) {
	if len(ended) == 0 {
		return Reason{}, false
	}
	return NodeEndedRule.because("CrateDB has ended by itself and runs again: %s", strings.Join(firstOf(ended, 4), "; ")), true
}
