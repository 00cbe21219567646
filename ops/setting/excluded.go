package setting

import (
	"maps"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// hindrance is an entry of the cluster's filters, set by others, that keeps shards off nodes.
type hindrance struct {
	// entry is "exclude._name = 'data-hot-3'", remedy the statement that removes it.
	entry, remedy string
	nodes         []string
}

// hindrances are the entries that keep shards off the nodes of these data pods, in an order that does not
// change. Our own exclusions are none. What is not known of a node hinders nothing: no grow
// waits for a filter that may not be there. With away a filter by name counts for a node that is away, too.
func hindrances(v *view.View, away bool, of func(p *model.Pod) bool) []hindrance {
	s := &v.Observed.Database.Settings
	if !s.Filters().Any() {
		return nil
	}
	var out []hindrance
	note := func(entry, remedy string, n *model.Node) {
		i := slices.IndexFunc(out, func(h hindrance) bool { return h.entry == entry })
		if i < 0 {
			i, out = len(out), append(out, hindrance{entry: entry, remedy: remedy})
		}
		out[i].nodes = append(out[i].nodes, n.Name)
	}
	const prefix = "cluster.routing.allocation."
	required, excluded := model.Lists(s.Require).Keys(), model.Lists(s.Exclude).Keys()
	for _, n := range dataNodes(v, away, of) {
		for _, key := range required {
			if (model.Lists{key: s.Require[key]}).Every(n) == model.No {
				note("require."+key+" = '"+s.Require[key]+"'", `RESET GLOBAL "`+prefix+"require."+key+`"`, n)
			}
		}
		if include := model.Lists(s.Include); include.Any() && include.One(n) == model.No {
			key := include.Keys()[0]
			note("include."+key+" = '"+s.Include[key]+"'", `RESET GLOBAL "`+prefix+"include."+key+`"`, n)
		}
		for _, key := range excluded {
			var hits, rest []string
			for _, pattern := range model.Listed(s.Exclude[key]) {
				if model.FilterHits(n, key, pattern) == model.Yes && !(key == "_id" && v.Record.Exclusions != nil && slices.Contains(v.Record.Exclusions.Ours(), pattern)) {
					hits = append(hits, pattern)
				} else {
					rest = append(rest, pattern)
				}
			}
			if len(hits) > 0 {
				remedy := `RESET GLOBAL "` + prefix + "exclude." + key + `"`
				if len(rest) > 0 {
					remedy = `SET GLOBAL PERSISTENT "` + prefix + "exclude." + key + `" = '` + strings.ReplaceAll(strings.Join(rest, ","), "'", "''") + "'"
				}
				note("exclude."+key+" = '"+strings.Join(hits, ",")+"'", remedy, n)
			}
		}
	}
	return out
}

// dataNodes are the nodes in pods of data groups, those of which `is` holds. Of a node that is away only the name is known.
func dataNodes(v *view.View, away bool, is func(p *model.Pod) bool) []*model.Node {
	var out []*model.Node
	for p := range model.Each(v.Observed.Pods) {
		if p.NodeName == "" || !holdsData(v, p) || !is(p) {
			continue
		}
		if n := view.NodeNamed(v, p.NodeName); n != nil {
			out = append(out, n)
		} else if away {
			out = append(out, &model.Node{Name: p.NodeName})
		}
	}
	return out
}

// holdsData reports whether the pod is one of those that a data group has, or is to have: somebody may have raised the replicas
// to what is desired before a grow has begun.
func holdsData(v *view.View, p *model.Pod) bool {
	s := view.Recorded(v.Record.Sets, p.Set)
	return s != nil && view.Data(v, *s) && p.Ordinal < max(s.Replicas, view.Target(v, p.Set))
}

func hindranceWords(list []hindrance) []string {
	return model.Texts(list, func(h *hindrance) string {
		return h.entry + " keeps shards off " + strings.Join(h.nodes, ", ") + ": " + h.remedy
	})
}

// OthersFilters names filters of the cluster that others have set and that keep shards off
// nodes which stay; each change is reported once. The daemon changes none: a person, or another
// tool, may be draining a node.
func OthersFilters(t *pass.Pass) {
	if !t.Record.Bootstrap.Done || !t.Contact() || !t.Observed.Database.AllocationKnown {
		return
	}
	list := slices.DeleteFunc(hindrances(&t.View, false, func(*model.Pod) bool { return true }), func(h hindrance) bool {
		return strings.HasPrefix(h.entry, "exclude._id ") // unexplained-exclusion says that list
	})
	if len(list) == 0 {
		t.Record.OthersFilters = ""
		return
	}
	reason := gates.ExcludedByOthers(hindranceWords(list))
	t.Warns(reason, "ExcludedByOthers", &t.Record.OthersFilters, reason.Message)
}

// GrownExcluded waits where nodes that a grow has added take no shards, because of a filter
// that others have set. CrateDB is green all the same, and the grow has brought nothing.
func GrownExcluded(t *pass.Pass, op *model.Operation) bool {
	if t.Waits(gates.AllocationKnown(t.Observed.Database.AllocationKnown)) {
		return true
	}
	list := hindrances(&t.View, false, func(p *model.Pod) bool { return view.Added(op, p) })
	if len(list) == 0 {
		return false
	}
	t.Wait(gates.GrownExcluded(hindranceWords(list)))
	return true
}

// ExcludedByOtherKeys are the exclusions that others set by another key than the id of a node, as one text that
// can be compared; "" for none.
func ExcludedByOtherKeys(exclude map[string]string) string {
	others := maps.Clone(exclude)
	delete(others, "_id")
	return capacity.FilterText(others)
}

// OtherExclusions is ExcludedByOtherKeys of the reading.
func OtherExclusions(v *view.View) string {
	return ExcludedByOtherKeys(v.Observed.Database.Settings.Exclude)
}

// EndsOthersExclusions is exclusion-voids-others: our exclusion by id would end the effect of what others
// have excluded by another key, for nodes that stay. For those that leave ours does the same. A node that is away
// counts, as it may be back when the exclusion is written; in a release it does not, which would keep ours for ever.
func EndsOthersExclusions(v *view.View) (model.Reason, bool) {
	stays := func(p *model.Pod) bool { return p.Ordinal < view.Target(v, p.Set) }
	away := !v.Desired.Removed && !view.Released(v)
	return gates.ExclusionVoidsOthers(hindranceWords(slices.DeleteFunc(hindrances(v, away, stays), func(h hindrance) bool {
		return !strings.HasPrefix(h.entry, "exclude.") || strings.HasPrefix(h.entry, "exclude._id ")
	})))
}
