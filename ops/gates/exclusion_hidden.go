package gates

// ExclusionHiddenRule is the rule exclusion-hidden.
var ExclusionHiddenRule = Rule{
	Name:    "exclusion-hidden",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "A transient cluster.routing.allocation.exclude._id hides our persistent one: no node can be drained, and ours is given back.",
	Do:      "Run `SET GLOBAL TRANSIENT \"cluster.routing.allocation.exclude._id\" = ''` and write what it held as persistent; it is tried again once a minute.",
	Source:  "CrateDB manual, SET and RESET: transient settings win",
}

// ExclusionHidden says how to take the other away.
func ExclusionHidden() Reason {
	return ExclusionHiddenRule.because("a transient value of cluster.routing.allocation.exclude._id hides what a drain needs; ours was taken off again, and it is tried once a minute: run SET GLOBAL TRANSIENT \"cluster.routing.allocation.exclude._id\" = ''")
}
