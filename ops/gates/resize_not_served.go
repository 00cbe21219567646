package gates

// ResizeNotServedRule is the rule resize-not-served.
var ResizeNotServedRule = Rule{
	Name:    "resize-not-served",
	Kind:    Waits,
	Informs: true,
	Says:    "This Kubernetes resizes no running pod: it is older than 1.33. Other CPU and memory come by a rolling restart, as any other change of a template.",
	Do:      "Nothing. To be asked before, pause the cluster, or upgrade Kubernetes.",
	Source:  "Kubernetes 1.33, in-place resize of pods (beta, on)",
}

// ResizeNotServed says that pods restart for it.
func ResizeNotServed() Reason {
	return ResizeNotServedRule.because("this Kubernetes has no pods/resize (1.33 and later have it): the pods get their CPU and memory by a rolling restart")
}
