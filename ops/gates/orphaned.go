package gates

// OrphanedRule is the rule orphaned.
var OrphanedRule = Rule{
	Name:   "orphaned",
	Kind:   Refuses,
	Says:   "A definition that is gone deletes nothing: the cluster runs on as it is until the definition is back or the cluster is released.",
	Do:     "Put the definition back where it was, or run `stevedore release` if the cluster is to be run by hand from now on. Of a cluster that was never made nothing is to be released: `stevedore forget` deletes its record.",
	Source: "docs/safety.md, invariant D",
}

// Orphaned names the source that had the definition. Of a cluster that was never made only its record
// is there, and nothing is to be released.
func Orphaned(owner string, made bool) Reason {
	if !made {
		return OrphanedRule.because("its definition is gone from %s, and no cluster is recorded: it was never made, or it was deleted with its namespace. Put the definition back, or run `stevedore forget`, which deletes what is recorded", owner)
	}
	return OrphanedRule.because("its definition is gone from %s; nothing is deleted: put the definition back, or run `stevedore release`", owner)
}
