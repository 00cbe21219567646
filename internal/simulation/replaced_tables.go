package simulation

import (
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// exchanging is the first seed whose schedule may replace tables by what they were in a snapshot.
const exchanging = 2_800_000_000

// exchanged is what the judge remembers of tables that take the place of others: how often people asked for it by name and how
// often it was done, and how often people asked that what is kept is dropped.
type exchanged struct {
	asked, done, drops map[string]int
}

// replaces draws commands that replace tables into a schedule that has restores.
func (s *Schedule) replaces(r *random) {
	s.Start.Replaces = true
	for n := 0; n < 2 || r.oneIn(2); n++ {
		s.Items = append(s.Items, Item{What: fetchCommand, At: minute + r.span(0, 6*minute), A: r.below(64), B: r.below(64)})
	}
	for n := 0; n < 2 || r.oneIn(2); n++ { // what is kept comes back, or goes
		s.Items = append(s.Items, Item{What: fetchCommand, At: 6*minute + r.span(0, 6*minute), A: 1 + 3*r.below(20), B: r.below(64)})
	}
}

// keptOf is what a table was called that is kept; "" for another.
func keptOf(name string) string {
	if !model.Kept(name) {
		return ""
	}
	_, of, _ := strings.Cut(strings.TrimPrefix(name, "stevedore_replaced_"), "_")
	return of
}

// asksOfTable makes a command one about a table that is there; false for one that touches none.
func (w *world) asksOfTable(it Item, c *model.FetchCommand) bool {
	if !w.schedule.Start.Replaces || it.A%3 == 0 {
		return false
	}
	j := &w.judge.exchanged
	if j.asked == nil {
		j.asked, j.done, j.drops = map[string]int{}, map[string]int{}, map[string]int{}
	}
	*c = model.FetchCommand{At: c.At, Verb: model.FetchReplace, Tables: []string{w.tables[it.B%w.common()].name}, Dry: it.B%16 == 15}
	for i := range w.common() {
		if of := keptOf(w.tables[i].name); of != "" && it.B%3 > 0 {
			c.Verb, c.Tables, c.Dry = []model.FetchVerb{"", model.FetchUndo, model.FetchDropKept}[it.B%3], []string{of}, false
		}
	}
	switch {
	case c.Dry:
	case c.Verb == model.FetchDropKept:
		j.drops[c.Tables[0]]++
	default:
		j.asked[c.Tables[0]]++
	}
	return true
}

// uuid is that of the index of a table: it stays the same whatever the table is called.
func (w *world) uuid(t *table) string {
	if t.index == 0 {
		w.indexes++
		t.index = w.indexes
	}
	return fmt.Sprintf("index-%03d", t.index)
}

// swapTables is ALTER CLUSTER SWAP TABLE: all shards of both start again from their disks.
func (w *world) swapTables(d *daemon, from, to string) error {
	a, b := w.tableNamed(from), w.tableNamed(to)
	if a == nil || b == nil {
		return rejected("Relation '%s' or '%s' unknown", from, to)
	}
	w.judge.swaps(w, d, a, b)
	a.was, b.was, a.exchanged, b.exchanged = a.name, b.name, w.now, w.now
	a.name, b.name = b.name, a.name
	a.swapped, b.swapped = true, true
	for i := range w.shards {
		s := &w.shards[i]
		if t := &w.tables[s.table]; t != a && t != b {
			continue
		}
		for k := range s.copies {
			c := &s.copies[k]
			c.state, c.primary, c.due = onDisk, false, 0
		}
		s.delayUntil = 0
	}
	w.changes()
	w.reroute, w.dueKnown = max(w.now, 1), false
	return nil
}

// execSwap is a daemon's statement on a table that takes another's place; done is false for others.
func (w *world) execSwap(d *daemon, statement string, quoted []string) (done bool, err error) {
	switch {
	case strings.HasPrefix(statement, "ALTER CLUSTER SWAP TABLE "):
		w.say("daemon %s: %s", d.name, statement)
		return true, w.swapTables(d, quoted[1]+"."+quoted[3], quoted[5]+"."+quoted[7])
	case strings.HasPrefix(statement, "ALTER TABLE ") && strings.Contains(statement, "SET (number_of_replicas = '"):
		t := w.tableNamed(quoted[1] + "." + quoted[3])
		if t == nil {
			return true, rejected("Relation '%s' unknown", quoted[1]+"."+quoted[3])
		}
		if keptOf(t.name) == "" {
			w.violate("C", "a daemon changes the replicas of table %s, which takes nobody's place", t.name)
		}
		t.number = numberOf(strings.Split(statement, "'")[1])
		w.reroute = max(w.now, 1)
		return true, nil
	}
	return false, nil
}

// swapStrings answers what the executors ask of two tables of a name; done is false for others.
func (w *world) swapStrings(l *slot, query string, arguments []any) (rows [][]string, done bool) {
	switch {
	case strings.HasPrefix(query, "SELECT grantee, type, state, ident FROM sys.privileges"):
		return nil, true
	case !strings.HasPrefix(query, "SELECT schema_name, path, recovery") && !strings.HasPrefix(query, "SELECT table_schema, sum(missing_shards)") && !strings.HasPrefix(query, "SELECT table_schema, number_of_replicas FROM"):
		return nil, false
	}
	for i := range w.tables {
		t := &w.tables[i]
		schema, name, _ := strings.Cut(w.calledAt(l, t), ".")
		if t.denied || name != arguments[0] || w.hiddenAt(l, t) {
			continue
		}
		_, missing, under := w.health(i, w.desiredReplicas(t))
		switch {
		case strings.Contains(query, "missing_shards"):
			rows = append(rows, []string{schema, fmt.Sprint(missing), fmt.Sprint(under)})
		case strings.Contains(query, "number_of_replicas"):
			rows = append(rows, []string{schema, t.replicas})
		default:
			for k := range w.shards {
				if s := &w.shards[k]; s.table == i && s.primary() != nil {
					rows = append(rows, []string{schema, "/data/nodes/0/indices/" + w.uuid(t) + "/0", t.cameBy()})
				}
			}
		}
	}
	return rows, true
}

// lagging is the first seed in whose schedules one node is behind that is not the master, and in what tables are called too.
const lagging = 3_000_000_000

// nodeLags: a node has not applied the last states of the cluster.
func (w *world) nodeLags(l *slot) bool {
	if w.schedule.Seed < lagging || w.now >= w.listingBehind {
		return false
	}
	first := slices.IndexFunc(w.slots, func(o slot) bool { return o.pod.joined && o.index != w.master })
	return first == l.index
}

// hiddenAt: a node does not know yet that a table is being restored.
func (w *world) hiddenAt(l *slot, t *table) bool {
	return w.behind(t) && (w.schedule.Seed < lagging || w.nodeLags(l))
}

// calledAt is what a table is called by a node.
func (w *world) calledAt(l *slot, t *table) string {
	if t.was != "" && t.exchanged >= w.behindSince && w.nodeLags(l) {
		return t.was
	}
	return t.name
}

// cameBy is how the primaries of a table came to where they are.
func (t *table) cameBy() string {
	switch {
	case t.swapped:
		return "EXISTING_STORE"
	case t.source != "":
		return "SNAPSHOT"
	}
	return "EMPTY_STORE"
}

// swaps: a daemon has two tables exchange their names. A person has asked for it, what takes the place is whole, and nothing
// else goes on.
func (j *judge) swaps(w *world, d *daemon, from, to *table) {
	j.quietly(w, d, from.name)
	if j.exchanged.done[to.name] >= j.exchanged.asked[to.name] {
		w.violate("D", "%s and %s exchange their names, and people have asked for that %d times", from.name, to.name, j.exchanged.asked[to.name])
	}
	if j.exchanged.done != nil {
		j.exchanged.done[to.name]++
	}
	if keptOf(from.name) != to.name {
		w.violate("D", "%s takes the place of %s, which is another table", from.name, to.name)
	}
	index := slices.IndexFunc(w.tables, func(t table) bool { return t.name == from.name })
	if _, missing, _ := w.health(index, 0); missing > 0 && j.faulted < d.acted {
		w.violate("D", "%s takes the place of %s, and %d of its shards are not there", from.name, to.name, missing)
	}
	r := &w.stored.record
	if r.Operation != nil && d.view.version[kindRecord] == w.stored.version {
		w.violate("drill", "%s takes the place of %s, and a %s is under way", from.name, to.name, r.Operation.Kind)
	}
	// One that is kept was not restored for this, but by whoever had dropped it by hand and has it exchanged now.
	if b := r.Backups; b != nil && from.flaw == lacksRows && !from.swapped && from.source == to.name {
		for i := range b.Taken {
			if n, known := b.Taken[i].Operations.Of(from.source); b.Taken[i].Name == from.snapshot && known && n > from.origin.operations {
				w.violate("F", "%s takes the place of %s, and lacks rows", from.name, to.name)
			}
		}
	}
}

// dropsKept: a daemon drops a table that took another's place, or was to. What was there before goes only if a person has asked
// for that, while the other is whole.
func (j *judge) dropsKept(w *world, d *daemon, t *table) {
	if t.source != "" && !t.swapped {
		return // a copy that has not taken the place
	}
	of := keptOf(t.name)
	if j.exchanged.drops[of] == 0 {
		w.violate("D", "table %s is dropped, and nobody has asked for that", t.name)
		return
	}
	index := slices.IndexFunc(w.tables, func(o table) bool { return o.name == of })
	if index < 0 {
		if j.disturbed < d.checked { // nor has somebody dropped it since the last look
			w.violate("D", "table %s is dropped, and %s is not there", t.name, of)
		}
	} else if _, missing, _ := w.health(index, 0); missing > 0 && w.now > j.disturbed+second {
		w.violate("D", "table %s is dropped, and %d shards of %s are not there", t.name, missing, of)
	}
}

// keptLack says what is left of a replacement that nobody knows of; "" for nothing.
func (j *judge) keptLack(w *world) string {
	b := w.stored.record.Backups
	for i := range w.tables {
		t := &w.tables[i]
		if keptOf(t.name) == "" || b == nil || w.forgotten(t) || j.lostRecord > 0 {
			continue
		}
		if !slices.ContainsFunc(b.Kept, func(k model.KeptTable) bool { return k.Name == t.name }) {
			return "table " + t.name + " is there, and the record does not know of it"
		}
	}
	return ""
}
