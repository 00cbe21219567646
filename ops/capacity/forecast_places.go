package capacity

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// held refuses tables whose own routing.allocation.enable keeps shards, or replicas, from moving.
func (f *Forecast) held() []model.Reason {
	var tables, statements []string
	for i := range f.db.Shards {
		s := &f.db.Shards[i]
		if !f.gone[s.Node] {
			continue
		}
		t := f.table(s.Table)
		if t == nil || t.Enable == "" {
			continue
		}
		copied := homeless{table: t, moves: true, primary: s.Primary}
		if named := t.Name + " (" + t.Enable + ")"; copied.held() != "" && !slices.Contains(tables, named) {
			tables = append(tables, named)
			if statement := lets(t); !slices.Contains(statements, statement) {
				statements = append(statements, statement)
			}
		}
	}
	if len(tables) > 0 {
		return []model.Reason{gates.TableHeld(tables, statements)}
	}
	return nil
}

// lets is the statement that lets a table's shards move, of a partition that of its whole table.
func lets(t *model.Table) string {
	return alters(t) + ` RESET ("routing.allocation.enable")`
}

// alters begins a statement about a table, of a partition about its whole table.
func alters(t *model.Table) string {
	if table, blob := strings.CutPrefix(whole(t), "blob."); blob {
		return `ALTER BLOB TABLE ` + quoted(table)
	}
	return `ALTER TABLE ` + quotedTable(whole(t))
}

func (f *Forecast) table(name string) *model.Table {
	if f.byName == nil {
		f.byName = map[string]*model.Table{}
		for i := range f.db.Tables {
			f.byName[f.db.Tables[i].Name] = &f.db.Tables[i]
		}
	}
	return f.byName[name]
}

// placed looks for a place for each copy that leaves. By number there is one, but it may be on
// a node that has the shard already, or be the only one of another shard.
func (f *Forecast) placed() []model.Reason {
	p := newPlaces(f.db, f.version, f.remaining, slices.Concat(f.Leaving, f.remaining))
	left := map[copyOf]int{}
	for i := range f.db.Shards {
		s := &f.db.Shards[i]
		key := copyOf{s.Table, s.ID}
		switch {
		case s.Node == "":
		case !f.gone[s.Node]:
			p.stay(key, s.Node)
			left[key]++
		case s.To != "" && !f.gone[s.To]:
			p.stay(key, s.To)
			left[key]++
		}
	}
	var list []homeless
	for i := range f.db.Shards {
		s := &f.db.Shards[i]
		key, t := copyOf{s.Table, s.ID}, f.table(s.Table)
		if t == nil || !f.gone[s.Node] || s.To != "" && !f.gone[s.To] {
			continue
		}
		// A range of replicas that counts fewer nodes gives copies up.
		copies := f.copies(t, len(f.usable(t)))
		p.total[key] = copies
		if left[key] < copies {
			left[key]++
			list = append(list, homeless{table: t, shard: key, bytes: s.Bytes, moves: true, primary: s.Primary})
		}
	}
	if f.Leave {
		p.zones = nil // what a zone needs may stay behind
	}
	if without := p.without(list); len(without) > 0 {
		return []model.Reason{gates.ShardHasNoPlace(without)}
	}
	return nil
}
