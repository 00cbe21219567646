package gates

// MasterReadyRule is the rule eligible-master-ready.
var MasterReadyRule = Rule{
	Name:   "eligible-master-ready",
	Kind:   Waits,
	Says:   "The bootstrap goes on when a pod that may become master is ready.",
	Do:     "Look at the pod that is named: `kubectl describe pod`. Most often it is an image, a volume or room on the Kubernetes nodes.",
	Source: "CrateDB manual, discovery and bootstrapping",
}

// MasterReady says which pods are waited for, and why the first is not ready.
func MasterReady(ready, wanted int, first string) (Reason, bool) {
	if ready > 0 {
		return Reason{}, false
	}
	if first == "" {
		return MasterReadyRule.because("0 of %d master-eligible pods are ready", wanted), true
	}
	return MasterReadyRule.because("0 of %d master-eligible pods are ready; %s", wanted, first), true
}
