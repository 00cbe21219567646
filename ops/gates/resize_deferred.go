package gates

// ResizeDeferredRule is the rule resize-deferred.
var ResizeDeferredRule = Rule{
	Name: "resize-deferred",
	Kind: Waits,
	Says: "The machine of a pod has no room now for the CPU or memory that the pod is to have. The kubelet tries again by itself. The pod runs on as it is, and other pods go on.",
	Do: "Make room on that machine (move other pods away), or wait until there is. Or write less in Git. " +
		"With `spec.operations.resize: restart` the pod is restarted behind all gates, and the scheduler may choose another machine if its volume can follow.",
	Source: "Kubernetes, Resize CPU and Memory Resources assigned to Containers, Pod Resize Status",
}

// ResizeDeferred names the pod and its machine.
func ResizeDeferred(p ResizingPod) Reason {
	return ResizeDeferredRule.because("%s on %s is to have %s and runs on without: %s", p.Name, p.Node, p.Desired, said(p.Says))
}

func said(words string) string {
	if words == "" {
		return "nobody says why"
	}
	return "Kubernetes says: " + words
}
