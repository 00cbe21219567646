package capacity

import (
	"cmp"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// OwnFilters are the filters of the tables in a reading, where some data nodes leave.
type OwnFilters struct {
	db                 *model.Database
	version            string
	leaving, remaining []*model.Node
	// uneven are partitioned tables whose partitions have different require or include filters.
	uneven map[string]bool
}

// tables are all that shards may be of: a partitioned table has none, and a partition
// that is made tomorrow has its filters.
func (f *OwnFilters) tables() []*model.Table {
	out := make([]*model.Table, 0, len(f.db.Tables)+len(f.db.Partitioned))
	out = slices.AppendSeq(out, model.Each(f.db.Tables))
	return slices.AppendSeq(out, model.Each(f.db.Partitioned))
}

// overrides reports whether a table's own filters stand in place of the cluster's and let it
// use a node that is to leave, or may do so: what is not known of a node keeps no shard off it.
func (f *OwnFilters) overrides(t *model.Table, leaving []*model.Node) bool {
	return t.Own(f.version) && slices.ContainsFunc(leaving, func(n *model.Node) bool { return t.Filters().First(n) != model.No })
}

// home are the names of the remaining nodes that a table may use while its require or include
// does not keep it on those that leave. pinned: these filters let it use no node that remains.
// Then the filter that decides is left out, and the next one decides: include after require,
// exclude after include, and after that those of the cluster. known is false where a filter asks
// what is not known of a node.
func (f *OwnFilters) home(t *model.Table) (names []string, pinned, known bool) {
	probe := *t
	for _, next := range []func(){func() {}, func() { probe.Require = nil }, func() { probe.Include = nil }} {
		next()
		for _, n := range f.remaining {
			switch probe.Allows(n, f.db.Settings.Filters(), f.version) {
			case model.Yes:
				names = append(names, n.Name)
			case model.Unknown:
				return nil, false, false
			}
		}
		if len(names) > 0 {
			slices.Sort(names)
			return names, pinned, true
		}
		pinned = true
	}
	return nil, pinned, true
}

// nowhere: nodes leave, and a table's own require or include lets it use none that stays, nor one that leaves:
// those that they name have left before. What of it is on the leaving nodes could go nowhere.
func (f *OwnFilters) nowhere(t *model.Table) bool {
	return len(f.leaving) > 0 && t.OwnDecide(f.version) && !slices.ContainsFunc(f.remaining, func(n *model.Node) bool { return t.Filters().First(n) != model.No })
}

// extendable: its require or include decides, lets it use nodes that leave or none at all, and can
// be changed for the drain and given back.
func (f *OwnFilters) extendable(t *model.Table) bool {
	if !t.OwnDecide(f.version) || !f.overrides(t, f.leaving) && !f.nowhere(t) {
		return false
	}
	if !f.even(t) || strings.Contains(FilterText(t.Require)+FilterText(t.Include), "\n") {
		return false
	}
	names, _, known := f.home(t)
	return known && len(names) > 0
}

// even: a partitioned table and all its partitions have the same require and include, so that
// one statement gives them all back.
func (f *OwnFilters) even(t *model.Table) bool {
	if f.uneven == nil {
		f.uneven = map[string]bool{}
		first := map[string]*model.Table{}
		for _, o := range f.tables() {
			one := cmp.Or(first[whole(o)], o)
			first[whole(o)] = one
			if FilterText(o.Require) != FilterText(one.Require) || FilterText(o.Include) != FilterText(one.Include) {
				f.uneven[whole(o)] = true
			}
		}
	}
	return !f.uneven[whole(t)]
}

// extended are the filters of such a table during the drain. include._name lists the nodes that
// stay, and alone decides: CrateDB asks no include while a require is there, and one entry of
// any include is enough.
func (f *OwnFilters) extended(t *model.Table) model.TableExclusion {
	names, _, _ := f.home(t)
	drain := []model.Setting{{Name: model.NameFilter, Value: strings.Join(names, ",")}}
	before := []model.Setting{{Name: model.NameFilter, Value: t.Include["_name"]}}
	off := func(kind string, l model.Lists) {
		for _, key := range l.Keys() {
			if name := kind + "." + key; name != model.NameFilter {
				drain = append(drain, model.Setting{Name: name})
				before = append(before, model.Setting{Name: name, Value: l[key]})
			}
		}
	}
	off("require", t.Require)
	off("include", t.Include)
	return model.TableExclusion{Name: whole(t), Drain: manifest.NewSettingList(drain), Filters: manifest.NewSettingList(before)}
}

// during is the reading, with the filters of each table that is to be changed as they are during the
// drain.
func (f *OwnFilters) during() *model.Database {
	db := *f.db
	db.Tables = slices.Clone(db.Tables)
	for i := range db.Tables {
		if t := &f.db.Tables[i]; f.extendable(t) {
			names, _, _ := f.home(t)
			db.Tables[i].Require, db.Tables[i].Include = nil, map[string]string{"_name": strings.Join(names, ",")}
		}
	}
	return &db
}

// Pinned are the tables that are to be changed and whose own filters name only nodes that leave:
// after the drain no copy of theirs may be anywhere.
func (f *OwnFilters) Pinned() []string {
	var out []string
	for _, t := range f.tables() {
		if _, pinned, _ := f.home(t); pinned && f.extendable(t) {
			out = append(out, whole(t))
		}
	}
	return model.Once(nil, out...)
}
