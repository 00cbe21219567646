package gates

// PodReturnsRule is the rule pod-returns.
var PodReturnsRule = Rule{
	Name:   "pod-returns",
	Kind:   Waits,
	Says:   "A pod that was restarted has to go, to come back ready, and its node to join the cluster that it left.",
	Do:     "Look at the pod that is named: `kubectl describe pod`. Nothing else is touched while it is away.",
	Source: "docs/safety.md, invariant B",
}

// PodReturns says where it is.
func PodReturns(pod, state string) Reason {
	return PodReturnsRule.because("pod %s is being restarted: %s", pod, state)
}

// PodCannotStart says why one that was restarted does not come back by itself.
func PodCannotStart(pod, state string) Reason {
	return PodReturnsRule.because("pod %s went for its restart and cannot start: %s", pod, state)
}
