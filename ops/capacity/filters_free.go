package capacity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// Freed are the statements by which a person lets a table leave nodes that its own
// require or include lets it use: first the names of the nodes that stay, then the
// filters off that decide before them. A list of names counts nothing while a require
// is there, and adds nothing to other includes, so that no shard moves in between.
func (f *OwnFilters) Freed(t *model.Table) string {
	alter := "ALTER TABLE " + quotedTable(whole(t))
	if t.Of != "" && !f.even(t) {
		alter += " PARTITION (…)"
	}
	var stay []string
	for _, n := range f.remaining {
		if t.Filters().First(n) == model.Yes {
			stay = append(stay, n.Name)
		}
	}
	slices.Sort(stay)
	var off []string
	for _, key := range model.Lists(t.Require).Keys() {
		off = append(off, `"routing.allocation.require.`+key+`"`)
	}
	for _, key := range model.Lists(t.Include).Keys() {
		if key != "_name" || len(stay) == 0 {
			off = append(off, `"routing.allocation.include.`+key+`"`)
		}
	}
	var out []string
	if len(stay) > 0 {
		out = append(out, alter+` SET ("routing.allocation.include._name" = '`+strings.ReplaceAll(strings.Join(stay, ","), "'", "''")+`')`)
	}
	if len(off) > 0 {
		out = append(out, alter+" RESET ("+strings.Join(off, ", ")+")")
	}
	return strings.Join(out, "; ")
}

// FilterText is the filters as one text that can be compared; "" for none.
func FilterText(l model.Lists) string {
	var b strings.Builder
	for _, key := range l.Keys() {
		b.WriteString(key + "=" + l[key] + ";")
	}
	return b.String()
}

// quotedTable quotes "schema.table" as CrateDB's SQL has it.
func quotedTable(name string) string {
	schema, table, _ := strings.Cut(name, ".")
	return quoted(schema) + "." + quoted(table)
}

// lowered are tables whose copies do not fit on the nodes that remain, with what a person can do.
type lowered struct {
	tables []*model.Table
	// values are what number_of_replicas is to be, by table: of its partitions the one for which
	// fewest copies fit.
	values map[string]replicasThatFit
	// most are the copies of a shard of the table that wants most; -1: more nodes are not known to help.
	most int
}

type replicasThatFit struct {
	number int
	value  string
}

func (l *lowered) add(f *Forecast, t *model.Table, usable []*model.Node) {
	least, _, known := Bounds(t.Replicas)
	if l.most >= 0 && known && least+1 > len(usable) && len(usable) == len(f.remaining) {
		l.most = max(l.most, least+1)
	} else {
		l.most = -1
	}
	if !known {
		least = len(usable) // any number is fewer than that
	}
	fits := f.replicasThatFit(t, usable, least)
	if fits < 0 {
		return
	}
	to := replicasThatFit{fits, fmt.Sprint(fits)}
	if known && fits < least && len(usable) == len(f.remaining) && len(f.db.Settings.Awareness) == 0 {
		// Nothing is lost before the nodes leave: CrateDB goes down as far as it must.
		to.value = fmt.Sprintf("%d-%d", fits, least)
	}
	if l.values == nil {
		l.values = map[string]replicasThatFit{}
	}
	before, named := l.values[whole(t)]
	if !named {
		l.tables = append(l.tables, t)
	}
	if !named || to.number < before.number {
		l.values[whole(t)] = to
	}
}

// replicasThatFit is the largest number of replicas, at most so many, that fits on these nodes; -1
// where none does.
func (f *Forecast) replicasThatFit(t *model.Table, usable []*model.Node, most int) int {
	for replicas := min(most, len(usable)-1); replicas >= 0; replicas-- {
		fits := true
		for _, a := range f.db.Settings.Awareness {
			_, hold := f.zonesHold(t, usable, a, replicas+1)
			fits = fits && hold
		}
		if fits {
			return replicas
		}
	}
	return -1
}

// statements make the tables fit.
func (l *lowered) statements() []string {
	var out []string
	for _, t := range l.tables {
		out = append(out, fmt.Sprintf("%s SET (number_of_replicas = '%s')", alters(t), l.values[whole(t)].value))
	}
	return out
}

// keep is how many data nodes are enough for all of them; 0 where that is not known.
func (l *lowered) keep() int { return max(l.most, 0) }

// whole is the table's name, for a partition that of its table.
func whole(t *model.Table) string { return cmp.Or(t.Of, t.Name) }

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
