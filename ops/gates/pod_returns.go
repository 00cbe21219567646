package gates

// PodReturnsRule is the rule pod-returns.
var PodReturnsRule = Rule{
	Name:   "pod-returns",
	Kind:   Waits,
	Says:   "A pod that was restarted has to go, to come back ready, and its node to join the cluster that it left.",
	Source: "docs/safety.md, invariant B",
}

// PodReturns says where it is.
func PodReturns(pod, state string) Reason {
	return PodReturnsRule.because("pod %s is being restarted: %s", pod, state)
}
