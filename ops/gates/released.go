package gates

// ReleasedRule is the rule released.
var ReleasedRule = Rule{
	Name:   "released",
	Kind:   Waits,
	Says:   "A cluster that was released is run by its people: its budgets are returned and nothing else is written.",
	Do:     "Run `stevedore resume NAMESPACE/CLUSTER` (or take the annotation off) to let stevedore manage the cluster again.",
	Source: "docs/safety.md, invariant C",
}

// Released says so.
func Released() Reason {
	return ReleasedRule.because("its disruption budgets are set to 1, each as soon as its StatefulSets have a pod, and nothing more is written; `stevedore resume` or a push that changes its definition ends that")
}
