package scale

import (
	"slices"

	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/render/definition"
)

// extends records filters of tables that were made, or got filters of their own, since the drain began,
// and refuses by name what may not be changed: shards of such a table come to nodes that leave.
func extends(t *pass.Pass, x *model.Exclusions) bool {
	op, s := t.Record.Operation, view.Recorded(t.Record.Sets, x.Set)
	if s == nil || op.Shrink.Masters {
		return false
	}
	f := forecast(&t.View, t.Record.Operation.Shrink, []model.RecordedSet{*s})
	reasons := f.Filtered()
	t.Refuse(reasons...)
	if !f.Extend || len(reasons) > 0 {
		return len(reasons) > 0
	}
	more := slices.DeleteFunc(extendFilters(t, ToShrink(&t.View, false), f.Leaving), func(more model.TableExclusion) bool {
		return slices.ContainsFunc(x.Tables, func(has model.TableExclusion) bool { return has.Name == more.Name })
	})
	if len(more) == 0 {
		return false
	}
	model.Own(&t.Record.Exclusions).Tables = slices.Concat(x.Tables, more)
	op.Step = model.StepExclude
	return true
}

// lacksDrain says whether a table, or a partition, does not have the filters of the drain yet.
// others is the one whose filters somebody has changed since they were recorded.
func lacksDrain(db *model.Database, version string, x *model.Exclusions, want *model.TableExclusion) (due bool, others *model.Table) {
	for _, tables := range [][]model.Table{db.Tables, db.Partitioned} {
		for table := range model.Each(tables) {
			switch {
			case table.Name != want.Name && table.Of != want.Name:
			case want.Drain == "" && table.OwnDecide(version):
				return false, table // its exclude list would count nothing
			case want.Drain == "":
				due = due || !within(x.IDs, table.Exclude["_id"])
			case want.Filtering(table) == model.FilteringOthers:
				return false, table
			default:
				due = due || want.Filtering(table) == model.FilteringBefore
			}
		}
	}
	return due, nil
}

// keepsNodes refuses the drain where filters that somebody has set meanwhile let a table use nodes
// that leave.
func keepsNodes(t *pass.Pass, x *model.Exclusions, table *model.Table) {
	s := view.Recorded(t.Record.Sets, x.Set)
	if s == nil || !table.OwnDecide(t.Record.Version) {
		return // then the cluster's exclusion counts, or what is on its nodes is waited for
	}
	f := forecast(&t.View, t.Record.Operation.Shrink, []model.RecordedSet{*s})
	if slices.ContainsFunc(f.Leaving, func(n *model.Node) bool { return table.Filters().First(n) != model.No }) {
		t.Refuse(gates.TableFilterDecides([]string{table.Name + ": " + f.Own.Freed(table)}))
	}
}

// ToShrink are the sets that are to become smaller or to go: dedicated masters,
// or the others.
func ToShrink(v *view.View, masters bool) []model.RecordedSet {
	var out []model.RecordedSet
	for _, s := range v.Record.Sets {
		if w := v.DesiredSet(s.Name); view.Data(v, s) != masters && (w == nil || w.Replicas < s.Replicas) {
			out = append(out, s)
		}
	}
	return out
}

// forecast is of all these sets becoming as small as they are desired, or of one node being drained
// for other volumes.
func forecast(v *view.View, sh *model.Shrink, sets []model.RecordedSet) *capacity.Forecast {
	var leaving, remaining []*model.Node
	for p := range model.Each(v.Observed.Pods) {
		s, n := view.Recorded(v.Record.Sets, p.Set), view.NodeNamed(v, p.NodeName)
		switch {
		case s == nil || !view.Data(v, *s) || n == nil:
		case sh.Replaces == "" && view.Recorded(sets, p.Set) != nil && p.Ordinal >= view.Target(v, p.Set), sh.Replaces == p.Name:
			leaving = append(leaving, n)
		default:
			remaining = append(remaining, n)
		}
	}
	db := v.Observed.Database // what is kept points into no pass
	return capacity.NewForecast(&db, v.Record.Version, leaving, remaining, v.Desired.Operations.Has(definition.ConsentExtendTableFilters), mayLeaveZone(v, sh))
}

// mayLeaveZone: by consent nodes leave with copies. A node that comes back onto other volumes keeps its zone.
func mayLeaveZone(v *view.View, sh *model.Shrink) bool {
	return sh.Replaces == "" && v.Desired.Operations.Has(definition.ConsentLeaveZone)
}

// extendFilters are the tables whose filters change for the drain. Nodes of all these sets leave, so that
// no table is sent to one that leaves next.
func extendFilters(t *pass.Pass, sets []model.RecordedSet, leaving []*model.Node) []model.TableExclusion {
	sh := t.Record.Operation.Shrink
	f := forecast(&t.View, sh, sets)
	tables, _ := f.TableExclusions(leaving)
	sh.Pinned = model.Once(sh.Pinned, f.Own.Pinned()...)
	return tables
}

func within(ids, list string) bool {
	have := model.Listed(list)
	return !slices.ContainsFunc(model.Listed(ids), func(id string) bool { return !slices.Contains(have, id) })
}
