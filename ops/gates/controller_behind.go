package gates

// ControllerBehindRule is the rule controller-behind.
var ControllerBehindRule = Rule{
	Name:   "controller-behind",
	Kind:   Waits,
	Passes: true,
	Says:   "Kubernetes' StatefulSet controller has to see what was applied to a StatefulSet before a pod goes: before that the pod would come back on the template of before.",
	Do:     "Nothing for some seconds. If it lasts, Kubernetes' controllers do not run or do not write: look at kube-controller-manager.",
	Source: "Kubernetes, StatefulSet, metadata.generation and status.observedGeneration",
}

// ControllerBehind compares what was applied with what the controller has seen.
func ControllerBehind(set string, generation, observed int64) (Reason, bool) {
	if observed == generation {
		return Reason{}, false
	}
	return ControllerBehindRule.because("Kubernetes' StatefulSet controller has seen generation %d of StatefulSet %s, and %d is applied", observed, set, generation), true
}
