package capacity

import (
	"fmt"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// held refuses tables whose own routing.allocation.enable keeps shards, or replicas, from moving.
func (f *Forecast) held() []model.Reason {
	var tables, statements []string
	for s := range model.Each(f.db.Shards) {
		if !f.gone[s.Node] {
			continue
		}
		t := f.table(s.Table)
		if t == nil || t.Enable == "" {
			continue
		}
		copied := homeless{table: t, moves: true, primary: s.Primary}
		if copied.held() != "" {
			tables = append(tables, t.Name+" ("+t.Enable+")")
			statements = append(statements, alters(t)+` RESET ("routing.allocation.enable")`)
		}
	}
	if tables, statements = model.Once(nil, tables...), model.Once(nil, statements...); len(tables) > 0 {
		return []model.Reason{gates.TableHeld(tables, statements)}
	}
	return nil
}

// alters begins a statement about a table, of a partition about its whole table.
func alters(t *model.Table) string {
	if table, blob := strings.CutPrefix(whole(t), "blob."); blob {
		return `ALTER BLOB TABLE ` + model.Identifier(table)
	}
	return `ALTER TABLE ` + model.TableIdentifier(whole(t))
}

func (f *Forecast) table(name string) *model.Table {
	if f.byName == nil {
		f.byName = tablesByName(f.db)
	}
	return f.byName[name]
}

func tablesByName(db *model.Database) map[string]*model.Table {
	tables := make(map[string]*model.Table, len(db.Tables))
	for t := range model.Each(db.Tables) {
		tables[t.Name] = t
	}
	return tables
}

// placed looks for a place for each copy that leaves. By number there is one, but it may be on
// a node that has the shard already, or be the only one of another shard.
func (f *Forecast) placed() []model.Reason {
	p := newPlaces(f.db, f.version, f.remaining, f.members())
	left := map[model.ShardID]int{}
	for s := range model.Each(f.db.Shards) {
		key := s.Of()
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
	for s := range model.Each(f.db.Shards) {
		key, t := s.Of(), f.table(s.Table)
		if t == nil || !f.gone[s.Node] || s.To != "" && !f.gone[s.To] {
			continue
		}
		// A range of replicas that counts fewer nodes gives copies up.
		copies := copies(t, len(f.usable(t)))
		p.total[key] = copies
		if left[key] < copies {
			left[key]++
			list = append(list, homeless{table: t, shard: key, bytes: s.Bytes, moves: true, primary: s.Primary})
		}
	}
	if without := p.without(list); len(without) > 0 {
		return []model.Reason{gates.ShardHasNoPlace(without)}
	}
	return nil
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
			fits = fits && f.zonesHold(f.members(), usable, a, replicas+1, f.db.Settings.Forced[a])
		}
		if fits {
			return replicas
		}
	}
	return -1
}
