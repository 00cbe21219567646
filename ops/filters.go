package ops

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
)

// filtersWin is the first version in which a table's own allocation filters make
// the cluster's void for it.
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

// attribute is what a filter's key means on a node; known is false for what is
// not read (_ip, _host and so on).
func attribute(n *Node, key string) (value string, known bool) {
	switch key {
	case "_id":
		return n.ID, true
	case "_name":
		return n.Name, true
	}
	if strings.HasPrefix(key, "_") {
		return "", false
	}
	return n.Attributes[key], true
}

func filterHits(n *Node, key, list string, unknown bool) bool {
	value, known := attribute(n, key)
	if !known {
		return unknown
	}
	return slices.ContainsFunc(listed(list), func(pattern string) bool { return matches(pattern, value) })
}

// filters are allocation filters of the cluster or of a table.
type filters struct{ require, include, exclude map[string]string }

func (f filters) any() bool { return len(f.require)+len(f.include)+len(f.exclude) > 0 }

// allow says whether shards may be on the node: all of require, one of include,
// none of exclude. What is not known of a node allows nothing.
func (f filters) allow(n *Node) bool {
	for key, list := range f.require {
		if !filterHits(n, key, list, false) {
			return false
		}
	}
	for key, list := range f.exclude {
		if filterHits(n, key, list, true) {
			return false
		}
	}
	if len(f.include) == 0 {
		return true
	}
	for key, list := range f.include {
		if filterHits(n, key, list, false) {
			return true
		}
	}
	return false
}

func (t *Table) filters() filters { return filters{t.Require, t.Include, t.Exclude} }

func (a *AllocationSettings) filters() filters { return filters{a.Require, a.Include, a.Exclude} }

// own is true where the table's filters stand instead of the cluster's.
func (t *Table) own(version string) bool {
	return t.filters().any() && gates.Compare(version, filtersWin) >= 0
}

// mayUse says whether shards of a table may be on a node.
func (t *Table) mayUse(n *Node, cluster filters, version string) bool {
	return t.filters().allow(n) && (t.own(version) || cluster.allow(n))
}
