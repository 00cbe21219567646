package model

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"stevedore.dev/stevedore/ops/gates"
)

// filtersWin is the first version in which a table's own allocation filters stand
// in place of the cluster's, and in which the first of its require, include and
// exclude decides alone (FilterAllocationDecider.shouldIndexFilter).
const filtersWin = "5.9.0"

// Listed are the entries of a comma list, as CrateDB reads one.
func Listed(text string) []string {
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

// FilterHits says whether a pattern under a filter's key fits a node
// (DiscoveryNodeFilters.match).
func FilterHits(n *Node, key, pattern string) Answer {
	switch key {
	case "_id":
		// CrateDB takes no wildcard in an id.
		if n.ID == "" {
			return Unknown // a node that is away
		}
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

// anyOf is Yes if one answer is. What is unknown decides nothing that another answer decides.
func anyOf(answers []Answer) Answer {
	switch {
	case slices.Contains(answers, Yes):
		return Yes
	case slices.Contains(answers, Unknown):
		return Unknown
	}
	return No
}

// allOf is No if one answer is, and else follows the same rule.
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

// Lists are the patterns of one kind of filter, by their key. A key whose list has no
// entry is no filter.
type Lists map[string]string

// Any reports whether a key has an entry.
func (l Lists) Any() bool {
	for _, list := range l {
		if hasEntry(list) {
			return true
		}
	}
	return false
}

// hasEntry reports whether a comma list has one, as Listed reads it.
func hasEntry(list string) bool {
	return strings.ContainsFunc(list, func(r rune) bool { return r != ',' && !unicode.IsSpace(r) })
}

// Keys are those of filters, in an order that does not change.
func (l Lists) Keys() []string {
	var keys []string
	for key, list := range l {
		if hasEntry(list) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// One says whether any pattern of any key fits, as include and exclude ask.
func (l Lists) One(n *Node) Answer {
	var hits []Answer
	for key, list := range l {
		for _, pattern := range Listed(list) {
			hits = append(hits, FilterHits(n, key, pattern))
		}
	}
	return anyOf(hits)
}

// Every says whether each pattern of each key fits, as require asks; of addresses one of a key
// is enough.
func (l Lists) Every(n *Node) Answer {
	var keys []Answer
	for key, list := range l {
		var hits []Answer
		for _, pattern := range Listed(list) {
			hits = append(hits, FilterHits(n, key, pattern))
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

// Filters are allocation filters of the cluster or of a table.
type Filters struct{ Require, Include, Exclude Lists }

// Any reports whether a filter is set.
func (f Filters) Any() bool { return f.Require.Any() || f.Include.Any() || f.Exclude.Any() }

// Together says whether shards may be on the node where all three are asked.
func (f Filters) Together(n *Node) Answer {
	out := []Answer{f.Require.Every(n), f.Exclude.One(n).not()}
	if f.Include.Any() {
		out = append(out, f.Include.One(n))
	}
	return allOf(out)
}

// First says it where the first of them that is set decides alone.
func (f Filters) First(n *Node) Answer {
	switch {
	case f.Require.Any():
		return f.Require.Every(n)
	case f.Include.Any():
		return f.Include.One(n)
	}
	return f.Exclude.One(n).not()
}

// Filters are the table's own filters.
func (t *Table) Filters() Filters { return Filters{t.Require, t.Include, t.Exclude} }

// Filters are the filters of the cluster.
func (a *AllocationSettings) Filters() Filters { return Filters{a.Require, a.Include, a.Exclude} }

// Own is true where the table's filters stand in place of the cluster's.
func (t *Table) Own(version string) bool {
	return t.Filters().Any() && gates.Compare(version, filtersWin) >= 0
}

// OwnDecide reports whether the table's require or include decides alone: no exclude list
// counts for it, neither the cluster's nor its own.
func (t *Table) OwnDecide(version string) bool {
	return t.Own(version) && (t.Filters().Require.Any() || t.Filters().Include.Any())
}

// MayUse says whether shards of a table may be on a node by the filters of both, in a cluster
// of that version.
func (t *Table) MayUse(n *Node, cluster *AllocationSettings, version string) Answer {
	return t.Allows(n, cluster.Filters(), version)
}

// Allows is MayUse with the filters of the cluster.
func (t *Table) Allows(n *Node, cluster Filters, version string) Answer {
	if t.Own(version) {
		return t.Filters().First(n)
	}
	return allOf([]Answer{t.Filters().Together(n), cluster.Together(n)})
}

// Filter is the value of one filter, by its key such as "include._name"; "" for none.
func (t *Table) Filter(key string) string {
	kind, name, _ := strings.Cut(key, ".")
	switch kind {
	case "require":
		return t.Require[name]
	case "include":
		return t.Include[name]
	}
	return t.Exclude[name]
}

// Filtering says how a table's filters compare with those of a drain.
type Filtering uint8

const (
	// FilteringDrain: all are as during the drain.
	FilteringDrain Filtering = iota
	// FilteringBefore: all are as before.
	FilteringBefore
	// FilteringOthers: somebody has changed one. We never change only some of them.
	FilteringOthers
)

// Filtering compares a table's filters with those of a drain and of before. A require or include
// that neither has is somebody's: it decides, or lets the table use more nodes.
func (x *TableExclusion) Filtering(t *Table) Filtering {
	drain, before := true, true
	for _, want := range x.Drain.Settings() {
		was, _ := x.Filters.Get(want.Name)
		now := t.Filter(want.Name)
		drain, before = drain && now == want.Value, before && now == was
	}
	switch {
	case x.added("require", t.Require), x.added("include", t.Include):
		return FilteringOthers
	case drain:
		return FilteringDrain
	case before:
		return FilteringBefore
	}
	return FilteringOthers
}

func (x *TableExclusion) added(kind string, of Lists) bool {
	return slices.ContainsFunc(of.Keys(), func(key string) bool {
		_, known := x.Drain.Get(kind + "." + key)
		return !known
	})
}

// NameFilter is the filter that lists the nodes that stay, and decides during the drain. It has
// names, because a node that stays and comes back on another volume has another id.
const NameFilter = "include._name"

// TakenOver: somebody has changed the filter that decides during the drain. Then all of the table's
// filters are theirs: to give the others back could make theirs void.
func (x *TableExclusion) TakenOver(t *Table) bool {
	during, _ := x.Drain.Get(NameFilter)
	return t.Filter(NameFilter) != during
}

// Changed are the tables whose require or include is as the drain wants it, as JSON; "" for none.
func (x *Exclusions) Changed(others func(*TableExclusion) bool) string {
	changed := slices.DeleteFunc(slices.Clone(x.Tables), func(t TableExclusion) bool { return t.Drain == "" || others(&t) })
	if len(changed) == 0 {
		return ""
	}
	text, _ := json.Marshal(changed) // texts only
	return string(text)
}
