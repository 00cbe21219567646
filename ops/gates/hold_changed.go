package gates

// HoldChangedRule is the rule hold-changed.
var HoldChangedRule = Rule{
	Name:   "hold-changed",
	Kind:   Waits,
	Says:   "Somebody changed cluster.routing.allocation.enable while we hold it: theirs is not overwritten, and no node goes down before it is as it was.",
	Do:     "Somebody changed what stevedore holds. Set the value to one of the two that are named; nothing goes on before.",
	Source: "docs/safety.md, invariant C",
}

// HoldChanged gives both values.
func HoldChanged(value, ours, before string) Reason {
	if value == "" {
		return HoldChangedRule.because("cluster.routing.allocation.enable cannot be read, and is to be given back to '%s'", before)
	}
	return HoldChangedRule.because("cluster.routing.allocation.enable is '%s'; we had set it to '%s' and are to give it back to '%s': set it to '%s'", value, ours, before, before)
}
