// Package spelling finds the name that a mistyped one was most likely meant to be.
package spelling

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// longest bounds the edit distance's cost: what is longer is no typing mistake.
const longest = 64

// Nearest returns the candidate that name was most likely meant to be, or "".
// A third of the letters may differ; case does not count.
func Nearest(name string, candidates []string) string {
	if len(name) > longest {
		return ""
	}
	best, bestDistance := "", max(len(name)/3, 1)+1
	for _, c := range candidates {
		if d := distance(name, c); d < bestDistance && d < len(c) {
			best, bestDistance = c, d
		}
	}
	return best
}

// Meant returns the candidates that begin with name, which was not typed to its end;
// without one the nearest.
func Meant(name string, candidates []string) (meant []string) {
	for _, c := range candidates {
		if name != "" && strings.HasPrefix(strings.ToLower(c), strings.ToLower(name)) {
			meant = append(meant, c)
		}
	}
	if near := Nearest(name, candidates); len(meant) == 0 && near != "" {
		meant = []string{near}
	}
	return meant
}

// Path returns the path that was most likely meant by one that is not there: below a folder that is there,
// each of the names is taken for the nearest one that list gives of its folder; "" where one has none.
func Path(folder string, names []string, list func(folder string) []string) string {
	for _, name := range names {
		near := Nearest(name, list(folder))
		if near == "" {
			return ""
		}
		folder = path.Join(folder, near)
	}
	return folder
}

// Sorted returns all candidates, those that are spelled most like name first.
func Sorted(name string, candidates []string) []string {
	distances := make(map[string]int, len(candidates))
	for _, c := range candidates {
		distances[c] = distance(name, c)
	}
	sorted := slices.Clone(candidates)
	slices.SortFunc(sorted, func(x, y string) int {
		return cmp.Or(cmp.Compare(distances[x], distances[y]), cmp.Compare(x, y))
	})
	return slices.Compact(sorted)
}

// distance counts insertions, deletions, substitutions and swapped neighbours.
func distance(a, b string) int {
	x, y := letters(a), letters(b)
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

// letters are those that are compared: of a name that is too long, the beginning.
func letters(name string) []rune {
	all := []rune(strings.ToLower(name))
	return all[:min(len(all), 2*longest)]
}
