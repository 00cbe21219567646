package gates

import "time"

// StableForRule is the rule stable-for.
var StableForRule = Rule{
	Name:   "stable-for",
	Kind:   Waits,
	Says:   "After a restarted node is back the cluster has to be green, with the same nodes, for stableFor; a restart of the daemon begins this wait again.",
	Do:     "Wait.",
	Source: "docs/operations.md",
}

// StableFor says how long it has been.
func StableFor(pod string, stable, wanted time.Duration) (Reason, bool) {
	if stable >= wanted {
		return Reason{}, false
	}
	return StableForRule.because("pod %s is back; the cluster has been green with the same nodes for %s of the %s that stableFor asks for", pod, stable.Round(time.Second), wanted), true
}
