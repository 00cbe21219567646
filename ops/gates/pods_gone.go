package gates

// PodsGoneRule is the rule pods-gone.
var PodsGoneRule = Rule{
	Name:   "pods-gone",
	Kind:   Waits,
	Says:   "A suspension, or the deletion of a cluster, goes on to the dedicated masters when every data node has ended, and is over when every pod has.",
	Do:     "Wait. A pod that stays `terminating` is on a Kubernetes node that does not answer: look at that node.",
	Source: "docs/operations.md, suspend and resume",
}

// PodsGone counts the pods that are still there and names the first.
func PodsGone(left int, pod, state string) (Reason, bool) {
	if left == 0 {
		return Reason{}, false
	}
	if state == "" {
		state = "running"
	}
	return PodsGoneRule.because("%d pod(s) have not ended yet; the first is %s (%s)", left, pod, state), true
}
