package ops

import (
	"maps"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
)

// hindrance is an entry of the cluster's filters, set by others, that keeps shards off nodes.
type hindrance struct {
	// entry is "exclude._name = 'data-hot-3'", cure the statement that takes it off.
	entry, cure string
	nodes       []string
}

// hindrances are those that keep shards off these nodes, in an order that does not change.
// What we exclude ourselves is none, and what is not known of a node hinders nothing: no
// grow waits for a filter that may not be there.
func (t *turn) hindrances(nodes []*Node) []hindrance {
	s := &t.o.Database.Settings
	var out []hindrance
	note := func(entry, cure string, n *Node) {
		i := slices.IndexFunc(out, func(h hindrance) bool { return h.entry == entry })
		if i < 0 {
			i, out = len(out), append(out, hindrance{entry: entry, cure: cure})
		}
		out[i].nodes = append(out[i].nodes, n.Name)
	}
	const prefix = "cluster.routing.allocation."
	for _, n := range nodes {
		for _, key := range lists(s.Require).keys() {
			if (lists{key: s.Require[key]}).every(n) == No {
				note("require."+key+" = '"+s.Require[key]+"'", `RESET GLOBAL "`+prefix+"require."+key+`"`, n)
			}
		}
		if include := lists(s.Include); include.any() && include.one(n) == No {
			key := include.keys()[0]
			note("include."+key+" = '"+s.Include[key]+"'", `RESET GLOBAL "`+prefix+"include."+key+`"`, n)
		}
		for _, key := range lists(s.Exclude).keys() {
			var hits, rest []string
			for _, pattern := range listed(s.Exclude[key]) {
				if filterHits(n, key, pattern) == Yes && !(key == "_id" && t.r.Exclusions != nil && slices.Contains(t.r.Exclusions.ours(), pattern)) {
					hits = append(hits, pattern)
				} else {
					rest = append(rest, pattern)
				}
			}
			if len(hits) > 0 {
				cure := `RESET GLOBAL "` + prefix + "exclude." + key + `"`
				if len(rest) > 0 {
					cure = `SET GLOBAL PERSISTENT "` + prefix + "exclude." + key + `" = '` + strings.ReplaceAll(strings.Join(rest, ","), "'", "''") + "'"
				}
				note("exclude."+key+" = '"+strings.Join(hits, ",")+"'", cure, n)
			}
		}
	}
	return out
}

// dataMembers are the nodes in pods of data groups, those of which `is` holds.
func (t *turn) dataMembers(is func(p *Pod) bool) []*Node {
	var out []*Node
	for i := range t.o.Database.Nodes {
		n := &t.o.Database.Nodes[i]
		if t.anyPod(func(p *Pod) bool {
			return p.NodeName == n.Name && t.holdsData(p) && is(p)
		}) {
			out = append(out, n)
		}
	}
	return out
}

// holdsData: the pod is one of those that a data group is to have.
func (t *turn) holdsData(p *Pod) bool {
	s := recorded(t.r.Sets, p.Set)
	return s != nil && t.data(*s) && p.Ordinal < s.Replicas
}

func hindranceWords(list []hindrance) []string {
	out := make([]string, 0, len(list))
	for _, h := range list {
		nodes := h.nodes
		if len(nodes) > 5 {
			nodes = append(slices.Clone(nodes[:5]), "…")
		}
		out = append(out, h.entry+" keeps shards off "+strings.Join(nodes, ", ")+": "+h.cure)
	}
	return out
}

// othersFilters names filters of the cluster that others have set and that keep shards off
// nodes which stay; each change of them is reported once. Nothing of them is changed: a
// person, or another tool, may be draining a node.
func (t *turn) othersFilters() {
	if !t.r.Bootstrap.Done || !t.contact() || !t.o.Database.AllocationKnown {
		return
	}
	list := slices.DeleteFunc(t.hindrances(t.dataMembers(func(*Pod) bool { return true })), func(h hindrance) bool {
		return strings.HasPrefix(h.entry, "exclude._id ") // unexplained-exclusion says that list
	})
	if len(list) == 0 {
		t.r.OthersFilters = ""
		return
	}
	reason := gates.ExcludedByOthers(hindranceWords(list))
	t.wait(reason)
	if t.r.OthersFilters != reason.Message {
		t.r.OthersFilters = reason.Message
		t.report(Report{Reason: "ExcludedByOthers", Warning: true, Status: StatusFailure, Message: reason.Message, Names: []string{reason.Name}})
	}
}

// grownExcluded: nodes that a grow has added take no shards, because of a filter that others
// have set. CrateDB is green over that, and the grow has brought nothing.
func (t *turn) grownExcluded(op *Operation) bool {
	if reason, waits := gates.AllocationKnown(t.o.Database.AllocationKnown); waits {
		t.wait(reason)
		return true
	}
	list := t.hindrances(t.dataMembers(func(p *Pod) bool {
		from, to := recorded(op.From, p.Set), recorded(op.To, p.Set)
		return to != nil && p.Ordinal < to.Replicas && (from == nil || p.Ordinal >= from.Replicas)
	}))
	if len(list) == 0 {
		return false
	}
	t.wait(gates.GrownExcluded(hindranceWords(list)))
	return true
}

// ExcludedBeside are the exclusions of the cluster by other keys than the id of a node, in
// one text that can be compared; "" for none.
func ExcludedBeside(exclude map[string]string) string {
	others := maps.Clone(exclude)
	delete(others, "_id")
	return filterText(others)
}

func (t *turn) excludedBeside() string { return ExcludedBeside(t.o.Database.Settings.Exclude) }

// voidsOthers: an exclusion by id would take the effect from what others have excluded by
// another key, of nodes that stay. Of those that leave ours does the same.
func (t *turn) voidsOthers() (Reason, bool) {
	stays := t.dataMembers(func(p *Pod) bool { return p.Ordinal < t.target(p.Set) })
	return gates.ExclusionVoidsOthers(hindranceWords(slices.DeleteFunc(t.hindrances(stays), func(h hindrance) bool {
		return !strings.HasPrefix(h.entry, "exclude.") || strings.HasPrefix(h.entry, "exclude._id ")
	})))
}
