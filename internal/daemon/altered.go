package daemon

import (
	"slices"

	"stevedore.dev/stevedore/apply"
)

// alteredWords puts first what matters most: StatefulSets, then fields that were
// applied, and labels that something puts on everything last.
func alteredWords(altered []apply.Altered) []string {
	rank := func(a apply.Altered) int {
		switch {
		case a.Key.Kind == "StatefulSet":
			return 0
		case !a.OnlyAdded():
			return 1
		}
		return 2
	}
	sorted := slices.Clone(altered)
	slices.SortStableFunc(sorted, func(a, b apply.Altered) int { return rank(a) - rank(b) })
	var words []string
	for _, each := range sorted {
		words = append(words, each.String())
	}
	return words
}
