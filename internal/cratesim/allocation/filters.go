package allocation

import (
	"slices"
	"strings"
)

// Filters are the require, include and exclude of the cluster or of one table. The zero
// value has none.
type Filters struct{ Require, Include, Exclude []Filter }

// Filter is one attribute, name or id of nodes, with the values that match; each but of
// _id may have "*" for any text.
type Filter struct {
	Key    string
	Values []string
}

// FilterKinds are the kinds of filters, in the order in which they are asked.
var FilterKinds = []string{"require", "include", "exclude"}

// Any reports whether there is one.
func (f *Filters) Any() bool {
	return len(f.Require) > 0 || len(f.Include) > 0 || len(f.Exclude) > 0
}

// Of is the list of a kind.
func (f *Filters) Of(kind string) *[]Filter {
	switch kind {
	case "require":
		return &f.Require
	case "include":
		return &f.Include
	}
	return &f.Exclude
}

// Add adds the values of a setting such as routing.allocation.exclude._name: kind is
// "exclude", key "_name". A list without a value is no filter.
func (f *Filters) Add(kind, key, list string) {
	var values []string
	for v := range strings.SplitSeq(list, ",") {
		if v = strings.TrimSpace(v); v != "" {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return
	}
	to := f.Of(kind)
	*to = append(*to, Filter{key, values})
	slices.SortStableFunc(*to, func(a, b Filter) int { return bucket(a.Key) - bucket(b.Key) })
}

// bucket is where Java's HashMap of 16 has a key, and so the order in which CrateDB lists
// the filters.
func bucket(key string) int {
	var h uint32
	for i := range len(key) {
		h = h*31 + uint32(key[i])
	}
	return int((h ^ h>>16) & 15)
}

// matches is DiscoveryNodeFilters: of require each value of each filter has to match, so a
// list of two names matches no node; of include and exclude one is enough.
func matches(filters []Filter, n *Node, all bool) bool {
	for i := range filters {
		f := &filters[i]
		v, ok := n.attribute(f.Key)
		if !ok {
			if all {
				return false
			}
			continue
		}
		// An address is looked for in the list also by require.
		one := !all || f.Key == "_ip" || f.Key == "_host_ip" || f.Key == "_publish_ip"
		hit := false
		for _, pattern := range f.Values {
			hit = pattern == v || f.Key != "_id" && wildcard(pattern, v)
			if hit == one {
				break
			}
		}
		if hit != all {
			return hit
		}
	}
	return all
}

// wildcard reports whether the pattern, in which "*" is any text, fits the whole value.
func wildcard(pattern, v string) bool {
	head, rest, any := strings.Cut(pattern, "*")
	if !any {
		return pattern == v
	}
	if !strings.HasPrefix(v, head) {
		return false
	}
	v = v[len(head):]
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(v, part)
		}
		i := strings.Index(v, part)
		if i < 0 {
			return false
		}
		v, rest = v[i+len(part):], after
	}
}

// filter is FilterAllocationDecider. From 5.9 the first kind that a table has decides for
// it alone: require, else include, else exclude; and the cluster's are asked only of a
// table that has none. Before, all of them had to agree.
func (s *Settings) filter(t *Table, n *Node, words bool) (Verdict, string) {
	own := &t.Filters
	if !s.Version.AtLeast(5, 9) {
		if v, why := s.Filters.agree("cluster", n, words); v != Yes {
			return v, why
		}
		return own.agree("index", n, words)
	}
	switch {
	case len(own.Require) > 0:
		own = &Filters{Require: own.Require}
	case len(own.Include) > 0:
		own = &Filters{Include: own.Include}
	case len(own.Exclude) > 0:
		own = &Filters{Exclude: own.Exclude}
	default:
		return s.Filters.agree("cluster", n, words)
	}
	return own.agree("index", n, words)
}

// agree asks all three kinds; scope is "cluster" or "index".
func (f *Filters) agree(scope string, n *Node, words bool) (Verdict, string) {
	kind, filters, how := "", f.Require, " does not match "
	switch {
	case len(f.Require) > 0 && !matches(f.Require, n, true):
		kind = "require"
	case len(f.Include) > 0 && !matches(f.Include, n, false):
		kind, filters = "include", f.Include
		if scope == "cluster" {
			how = " does not " // as CrateDB has it
		}
	case len(f.Exclude) > 0 && matches(f.Exclude, n, false):
		kind, filters, how = "exclude", f.Exclude, " matches "
	default:
		return Yes, ""
	}
	if !words {
		return No, ""
	}
	return No, "node" + how + scope + " setting [" + scope + ".routing.allocation." + kind + "] filters [" + filterWords(filters, kind) + "]"
}

func filterWords(filters []Filter, kind string) string {
	join := " OR "
	if kind == "require" {
		join = " AND "
	}
	var b strings.Builder
	for i, f := range filters {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(f.Key + `:"` + strings.Join(f.Values, join) + `"`)
	}
	return b.String()
}
