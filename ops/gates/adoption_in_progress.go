package gates

// AdoptionInProgressRule is the rule adoption-in-progress.
var AdoptionInProgressRule = Rule{
	Name:   "adoption-in-progress",
	Kind:   Waits,
	Says:   "`stevedore adopt` recreates the StatefulSets of a cluster around their pods: while one is away the daemon would make another one in its place, with another pod template.",
	Do:     "Let `stevedore adopt` end. If it was ended in the middle, run it again: it goes on from there. `--back` gives the cluster back.",
	Source: "docs/moving-in.md",
}

// AdoptionInProgress waits while an adoption has begun and not ended.
func AdoptionInProgress(begun bool, cluster string) (Reason, bool) {
	if !begun {
		return Reason{}, false
	}
	return AdoptionInProgressRule.because("an adoption of the cluster %s has begun and has not ended: nothing is made meanwhile; if nobody runs `stevedore adopt %s` any more, run it again", cluster, cluster), true
}
