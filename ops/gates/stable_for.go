package gates

// StableForRule is the rule stable-for.
var StableForRule = Rule{
	Name:   "stable-for",
	Kind:   Waits,
	Passes: true,
	Says:   "Before a restart takes down a pod the cluster has to be green, with the same nodes, for stableFor. Where nobody has set that, it is enough that the cluster state has been the same on every node for 5 s, after the first pod on another template for 30 s. A restart of the daemon begins this wait again.",
	Do:     "Wait.",
	Source: "docs/operations.md",
}

// StableFor says how long that takes. How much of it has passed would be old when it is read. pod has come back, "" for none.
func StableFor(pod string, stable Elapsed) (Reason, bool) {
	if stable.Enough() {
		return Reason{}, false
	}
	if pod != "" {
		pod = "pod " + pod + " is back; "
	}
	return StableForRule.because("%sthe cluster has to be green with the same nodes for %s (stableFor)%s", pod, stable.Needed, stable.sooner()), true
}
