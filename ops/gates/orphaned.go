package gates

// OrphanedRule is the rule orphaned.
var OrphanedRule = Rule{
	Name:   "orphaned",
	Kind:   Refuses,
	Says:   "A definition that is gone deletes nothing: the cluster runs on as it is until the definition is back or the cluster is released.",
	Do:     "Put the definition back where it was, or run `stevedore release` if the cluster is to be run by hand from now on.",
	Source: "docs/safety.md, invariant D",
}

// Orphaned names the source that had the definition.
func Orphaned(owner string) Reason {
	return OrphanedRule.because("its definition is gone from %s; nothing is deleted: put the definition back, or run `stevedore release`", owner)
}
