package ops

import (
	"maps"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
)

// filtersWin is the first version in which a table's own allocation filters stand
// in place of the cluster's, and in which the first of its require, include and
// exclude decides alone (FilterAllocationDecider.shouldIndexFilter).
const filtersWin = "5.9.0"

// listed are the entries of a comma list, as CrateDB reads one.
func listed(text string) []string {
	if text == "" {
		return nil
	}
	var out []string
	for _, entry := range strings.Split(text, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			out = append(out, entry)
		}
	}
	return out
}

// matches compares with `*` as any text, as CrateDB does in filters.
func matches(pattern, text string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, head)
	if !ok {
		return false
	}
	if !strings.Contains(rest, "*") {
		return strings.HasSuffix(text, rest)
	}
	for i := range len(text) + 1 {
		if matches(rest, text[i:]) {
			return true
		}
	}
	return false
}

// filterHits says whether a pattern under a filter's key fits a node
// (DiscoveryNodeFilters.match).
func filterHits(n *Node, key, pattern string) Answer {
	switch key {
	case "_id":
		// CrateDB takes no wildcard in an id.
		return AnswerOf(pattern == n.ID)
	case "_name", "name":
		return AnswerOf(matches(pattern, n.Name))
	case "_ip", "_host_ip", "_publish_ip":
		if n.Address == "" {
			return Unknown
		}
		return AnswerOf(matches(pattern, n.Address))
	case "_host":
		// The name under which the node publishes itself is its address, unless its
		// network.publish_host is a name: no system table shows that one.
		switch {
		case n.Address != "" && matches(pattern, n.Address):
			return Yes
		case n.Address != "" && strings.Trim(pattern, "0123456789.*") == "":
			return No // no name reads like an address
		}
		return Unknown
	}
	if n.Attributes == nil {
		return Unknown
	}
	value, has := n.Attributes[key]
	return AnswerOf(has && matches(pattern, value))
}

// any, all and not of answers: what is unknown decides nothing that another answer
// decides without it.
func anyOf(answers []Answer) Answer {
	switch {
	case slices.Contains(answers, Yes):
		return Yes
	case slices.Contains(answers, Unknown):
		return Unknown
	}
	return No
}

func allOf(answers []Answer) Answer {
	switch {
	case slices.Contains(answers, No):
		return No
	case slices.Contains(answers, Unknown):
		return Unknown
	}
	return Yes
}

func (a Answer) not() Answer {
	switch a {
	case Yes:
		return No
	case No:
		return Yes
	}
	return Unknown
}

// lists are the patterns of one kind of filter, by their key. A key whose list has no
// entry is no filter.
type lists map[string]string

func (l lists) any() bool {
	for _, list := range l {
		if len(listed(list)) > 0 {
			return true
		}
	}
	return false
}

// keys are those of filters, in an order that does not change.
func (l lists) keys() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(l)), func(key string) bool { return len(listed(l[key])) == 0 })
}

// one: any pattern of any key fits, as include and exclude ask.
func (l lists) one(n *Node) Answer {
	var hits []Answer
	for key, list := range l {
		for _, pattern := range listed(list) {
			hits = append(hits, filterHits(n, key, pattern))
		}
	}
	return anyOf(hits)
}

// every: each pattern of each key fits, as require asks; of addresses one of a key is
// enough.
func (l lists) every(n *Node) Answer {
	var keys []Answer
	for key, list := range l {
		var hits []Answer
		for _, pattern := range listed(list) {
			hits = append(hits, filterHits(n, key, pattern))
		}
		switch {
		case len(hits) == 0:
		case key == "_ip" || key == "_host_ip" || key == "_publish_ip":
			keys = append(keys, anyOf(hits))
		default:
			keys = append(keys, allOf(hits))
		}
	}
	return allOf(keys)
}

// filters are allocation filters of the cluster or of a table.
type filters struct{ require, include, exclude lists }

func (f filters) any() bool { return f.require.any() || f.include.any() || f.exclude.any() }

// together says whether shards may be on the node where all three are asked.
func (f filters) together(n *Node) Answer {
	out := []Answer{f.require.every(n), f.exclude.one(n).not()}
	if f.include.any() {
		out = append(out, f.include.one(n))
	}
	return allOf(out)
}

// first says it where the first of them that is set decides alone.
func (f filters) first(n *Node) Answer {
	switch {
	case f.require.any():
		return f.require.every(n)
	case f.include.any():
		return f.include.one(n)
	}
	return f.exclude.one(n).not()
}

func (t *Table) filters() filters { return filters{t.Require, t.Include, t.Exclude} }

func (a *AllocationSettings) filters() filters { return filters{a.Require, a.Include, a.Exclude} }

// own is true where the table's filters stand in place of the cluster's.
func (t *Table) own(version string) bool {
	return t.filters().any() && gates.Compare(version, filtersWin) >= 0
}

// ownDecide: the table's require or include decides alone. No exclude list counts for
// it, neither the cluster's nor its own.
func (t *Table) ownDecide(version string) bool {
	return t.own(version) && (t.filters().require.any() || t.filters().include.any())
}

// MayUse says whether shards of a table may be on a node by the filters of both, in a
// cluster of that version.
func (t *Table) MayUse(n *Node, cluster *AllocationSettings, version string) Answer {
	return t.mayUse(n, cluster.filters(), version)
}

func (t *Table) mayUse(n *Node, cluster filters, version string) Answer {
	if t.own(version) {
		return t.filters().first(n)
	}
	return allOf([]Answer{t.filters().together(n), cluster.together(n)})
}
