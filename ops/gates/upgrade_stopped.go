package gates

import "time"

// UpgradeStoppedRule is the rule upgrade-stopped.
var UpgradeStoppedRule = Rule{
	Name:    "upgrade-stopped",
	Kind:    Refuses,
	Webhook: "upgrade",
	Says:    "The first pod on the new version did not come up within its limit: the upgrade stops there, and the template returns to what the other pods run, to protect them. A pod in which the new version has started is never put back on the older one by stevedore.",
	Do:      "Where the new version has started in the pod: set a version or registry that works, of the same minor version or a newer one; the pod is recreated on it. Where it never started: that, or take the change back.",
	Source:  "docs/operations.md, upgrade; CrateDB manual, upgrading: no downgrade",
}

// UpgradeStopped names the pod and its state. Started is true when a container
// of the new version has run in it.
func UpgradeStopped(pod, state string, limit time.Duration, from, to string, started bool) Reason {
	if started && CompareMinor(to, from) > 0 {
		if from == to {
			return UpgradeStoppedRule.because("pod %s did not come up within %s on the new image of CrateDB %s (%s): the change has stopped and the template has returned to what the other pods run. This pod stays as it is, and does not come back by itself. Set spec.cluster.imageRegistry to what works, or take the change back: the pod is then recreated", pod, limit, to, state)
		}
		return UpgradeStoppedRule.because("pod %s did not come up within %s on CrateDB %s (%s): the upgrade from %s has stopped and the template has returned to what the other pods run. The new version has started in the pod, so that it does not go back: set spec.cluster.version to a release of this minor version or a newer one that works, and the pod is recreated on it", pod, limit, to, state, from)
	}
	return UpgradeStoppedRule.because("pod %s did not come up within %s on CrateDB %s (%s): the upgrade from %s has stopped and the template has returned to what the other pods run. This pod stays as it is, and does not come back by itself. Set spec.cluster.version or imageRegistry to what works, or take the change back: the pod is then recreated", pod, limit, to, state, from)
}
