package located

import (
	"sort"
	"strings"
)

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
