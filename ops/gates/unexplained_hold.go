package gates

// UnexplainedHoldRule is the rule unexplained-hold.
var UnexplainedHoldRule = Rule{
	Name:   "unexplained-hold",
	Kind:   Waits,
	Says:   "cluster.routing.allocation.enable is primaries and neither the record nor a StatefulSet says that it is ours: no node goes down, and only `stevedore release` or a person removes it.",
	Do:     "If nobody needs it: `SET GLOBAL PERSISTENT \"cluster.routing.allocation.enable\" = 'all'`, or `stevedore release` and then `stevedore resume`.",
	Source: "docs/safety.md, invariant C",
}

// UnexplainedHold says what removes it.
func UnexplainedHold(value string) Reason {
	return UnexplainedHoldRule.because("cluster.routing.allocation.enable is '%s', and nothing recorded explains why: if nobody needs it, set it to 'all', or run `stevedore release` and then `stevedore resume`", value)
}
