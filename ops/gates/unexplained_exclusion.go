package gates

// UnexplainedExclusionRule is the rule unexplained-exclusion.
var UnexplainedExclusionRule = Rule{
	Name:    "unexplained-exclusion",
	Kind:    Waits,
	Informs: true,
	Says:    "cluster.routing.allocation.exclude._id names nodes and neither the record nor a StatefulSet says that it is ours: it is left, reported once, and holds nothing up.",
	Do:      "If nobody needs it, take the ids off the list, or run `stevedore release` and then `stevedore resume`.",
	Source:  "docs/safety.md, invariant C",
}

// UnexplainedExclusion gives the list.
func UnexplainedExclusion(ids string) Reason {
	return UnexplainedExclusionRule.because("cluster.routing.allocation.exclude._id names '%s', and nothing recorded explains why: if nobody needs it, take it off, or run `stevedore release` and then `stevedore resume`", ids)
}
