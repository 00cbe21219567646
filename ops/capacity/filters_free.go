package capacity

import (
	"cmp"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// Freed are the statements by which a person lets a table leave nodes that its own
// require or include lets it use: first the names of the nodes that stay, then the
// filters off that decide before them. A list of names counts nothing while a require
// is there, and adds nothing to other includes, so that no shard moves in between.
func (f *OwnFilters) Freed(t *model.Table) string {
	alter := "ALTER TABLE " + model.TableIdentifier(whole(t))
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

// whole is the table's name, for a partition that of its table.
func whole(t *model.Table) string { return cmp.Or(t.Of, t.Name) }
