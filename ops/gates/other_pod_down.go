package gates

// OtherPodDownRule is the rule other-pod-down.
var OtherPodDownRule = Rule{
	Name:   "other-pod-down",
	Kind:   Waits,
	Says:   "At most one pod of the cluster is down: a pod that is not ready, or is terminating, lets no other go.",
	Do:     "Look at the pod that is named. If it cannot run because of its definition, correct that: such a pod is recreated whatever the health.",
	Source: "docs/safety.md, invariant B",
}

// OtherPodDown names the pod and its state.
func OtherPodDown(pod, state string) Reason {
	return OtherPodDownRule.because("pod %s is down (%s); no other goes before it is back", pod, state)
}
