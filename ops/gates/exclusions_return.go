package gates

// ExclusionsReturnRule is the rule exclusions-return.
var ExclusionsReturnRule = Rule{
	Name:   "exclusions-return",
	Kind:   Waits,
	Passes: true,
	Says:   "Before anything else begins, the nodes that were excluded for a drain that is over are taken off the list again.",
	Do:     "Wait. If it lasts, look whether the database answers.",
	Source: "docs/safety.md, invariant C",
}

// ExclusionStays names the pod with which the volume of an excluded node goes.
func ExclusionStays(pod string) Reason {
	return ExclusionsReturnRule.because("the node in pod %s stays excluded until this pod has gone with its volume", pod)
}

// ExclusionsReturn names the StatefulSet.
func ExclusionsReturn(set string, nodes int) Reason {
	return ExclusionsReturnRule.because("the exclusion of %d node(s) of %s is being taken off", nodes, set)
}
