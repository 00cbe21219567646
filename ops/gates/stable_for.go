package gates

import "time"

// StableForRule is the rule stable-for.
var StableForRule = Rule{
	Name:   "stable-for",
	Kind:   Waits,
	Passes: true,
	Says:   "After a restarted node is back the cluster has to be green, with the same nodes, for stableFor. Where nobody has set that, it is enough that the cluster state has been the same on every node for 5 s, after the first pod on another template for 30 s. A restart of the daemon begins this wait again.",
	Do:     "Wait.",
	Source: "docs/operations.md",
}

// StableFor says how long it has been.
func StableFor(pod string, stable Elapsed) (Reason, bool) {
	if stable.Enough() {
		return Reason{}, false
	}
	return StableForRule.because("pod %s is back; the cluster has been green with the same nodes for %s of the %s that stableFor asks for%s",
		pod, stable.Time.Round(time.Second), stable.Needed, stable.sooner()), true
}
