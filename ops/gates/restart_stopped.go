package gates

import "time"

// RestartStoppedRule is the rule restart-stopped.
var RestartStoppedRule = Rule{
	Name:    "restart-stopped",
	Kind:    Refuses,
	Webhook: "change_compute",
	Says:    "The first pod on a new template did not come up within its limit (join, and be ready): the restart stops there, and the template returns to what the other pods run; a corrected definition recreates the pod.",
	Do:      "Correct the definition or take the change back: the pod that did not come up is recreated on it.",
	Source:  "docs/operations.md",
}

// RestartStopped names the pod and its state.
func RestartStopped(pod, state string, limit time.Duration) Reason {
	return RestartStoppedRule.because("pod %s did not come up within %s on its new template (%s): the restart has stopped and the template of its StatefulSet has returned to what the other pods run; this pod stays as it is, and does not come back by itself: correct the definition, the pod is then recreated", pod, limit, state)
}
