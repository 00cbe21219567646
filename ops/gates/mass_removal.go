package gates

import "strings"

// MassRemovalRule is the rule mass-removal.
var MassRemovalRule = Rule{
	Name:   "mass-removal",
	Kind:   Refuses,
	Says:   "When more definitions of a source are gone at the same time than `--max-removed` allows, or all of several, no cluster is deleted, whatever they consented to.",
	Do:     "Put the definitions back; those that are back go on as before. If all of them are to go, raise `--max-removed` to their number, or remove them in several steps. `stevedore release` keeps a cluster and lets it go.",
	Source: "docs/ownership.md, deleting a cluster",
}

// MassRemoval compares how many were gone at the same time with how many may be;
// emptied says that their source named no cluster any more.
func MassRemoval(gone, most int, emptied bool, clusters []string) (Reason, bool) {
	switch {
	case emptied && gone > 1:
		return MassRemovalRule.because("all %d cluster(s) of this source were gone at the same time: %s; none is deleted: put the definitions back, or release the clusters",
			gone, strings.Join(firstOf(clusters, 5), ", ")), true
	case gone > most:
		return MassRemovalRule.because("%d clusters that may be deleted were gone from this source at the same time, and at most %d may be (--max-removed): %s; none is deleted: put the definitions back, or raise --max-removed",
			gone, most, strings.Join(firstOf(clusters, 5), ", ")), true
	}
	return Reason{}, false
}
