package capacity

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// freed are the statements by which a person lets a table leave nodes that its own
// require or include lets it use: first the names of the nodes that stay, then the
// filters off that decide before them. A list of names counts nothing while a require
// is there, and adds nothing to other includes, so that no shard moves in between.
func (f *Forecast) freed(t *model.Table) string {
	alter := "ALTER TABLE " + quotedTable(whole(t))
	if t.Of != "" && f.apart(t) {
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

// apart reports whether a partition has other filters than its table: a statement has to name it.
func (f *Forecast) apart(t *model.Table) bool {
	for _, o := range f.tables() {
		if (o.Of == t.Of || o.Name == t.Of) && (FilterText(o.Require) != FilterText(t.Require) || FilterText(o.Include) != FilterText(t.Include)) {
			return true
		}
	}
	return false
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
