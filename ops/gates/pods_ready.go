package gates

// PodsReadyRule is the rule pods-ready.
var PodsReadyRule = Rule{
	Name:   "pods-ready",
	Kind:   Waits,
	Passes: true,
	Says:   "A revision counts as verified when every pod of the cluster is ready.",
	Do:     "Look at the pod that is named: `kubectl describe pod`, `kubectl logs`.",
	Source: "Kubernetes, pod readiness",
}

// PodsReady names the first pod that is not ready, and why if it is known.
func PodsReady(ready, wanted int, missing, why string) (Reason, bool) {
	if ready >= wanted {
		return Reason{}, false
	}
	if why != "" {
		why = " (" + why + ")"
	}
	return PodsReadyRule.because("%d of %d pods are ready; waiting for %s%s", ready, wanted, missing, why), true
}
