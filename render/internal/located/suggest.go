package located

import (
	"sort"
	"strings"
)

// maxSuggested bounds the edit distance's cost: what is longer is no typing
// mistake.
const maxSuggested = 64

// Suggest returns the candidate that name was most likely meant to be, or "".
// A third of the letters may differ; case does not count.
func Suggest(name string, candidates []string) string {
	if len(name) > maxSuggested {
		return ""
	}
	best, bestDistance := "", len(name)/3
	if bestDistance < 1 {
		bestDistance = 1
	}
	bestDistance++
	lower := strings.ToLower(name)
	for _, c := range candidates {
		if d := distance(lower, strings.ToLower(c)); d < bestDistance && d < len(c) {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance counts insertions, deletions, substitutions and swapped neighbours.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(y) > maxSuggested {
		return len(y)
	}
	before := make([]int, len(y)+1)
	last := make([]int, len(y)+1)
	current := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		current[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			current[j] = min(last[j]+1, current[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, last, current = last, current, before
	}
	return last[len(y)]
}

// belongs names the parents under which the misplaced field exists, nearest
// first; nil when there are none or too many to be of use.
func (index Index) belongs(name, parent string) []string {
	best, most := []string(nil), 0
	for _, p := range index[name] {
		if p == parent || p == "" {
			continue
		}
		// Of parents that are as near, the one that is less deep.
		n := 100*(sharedPrefix(p, parent)+1) - strings.Count(p, ".")
		switch {
		case n > most:
			best, most = []string{p}, n
		case n == most:
			best = append(best, p)
		}
	}
	if len(best) > 3 {
		return nil
	}
	sort.Strings(best)
	return best
}

func sharedPrefix(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return n
}
