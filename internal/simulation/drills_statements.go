package simulation

import (
	"errors"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// execDrill is a daemon's statement on tables that a restore makes; done is false for another one.
func (w *world) execDrill(d *daemon, statement string) (done bool, err error) {
	quoted := strings.Split(statement, `"`)
	switch {
	case !w.schedule.Start.Drills:
		return false, nil
	case strings.HasPrefix(statement, "RESTORE SNAPSHOT "):
		w.say("daemon %s: %s", d.name, statement)
		w.judge.restores(w, d)
		d.looked.restores = true
		if w.now < w.storeHangs {
			w.held = append(w.held, heldStatement{text: statement, run: func() error { return w.restoreTables(quoted, true) }})
			return true, errSlow
		}
		return true, w.restoreTables(quoted, false)
	case strings.HasPrefix(statement, "DROP TABLE "):
		w.say("daemon %s: %s", d.name, statement)
		name := quoted[1] + "." + quoted[3]
		w.judge.dropsTable(w, d, name)
		if s := w.taking(); s != nil && slices.Contains(s.tables, name) {
			return true, rejected("Cannot delete indices that are being snapshotted: [%s]", name)
		}
		w.removeTable(name)
		return true, nil
	case strings.HasPrefix(statement, "ALTER TABLE ") && strings.Contains(statement, "number_of_replicas = 0"):
		t := w.tableNamed(quoted[1] + "." + quoted[3])
		if t == nil {
			return true, rejected("Relation '%s' unknown", quoted[1]+"."+quoted[3])
		}
		if !t.drill {
			w.violate("C", "a daemon takes the replicas of table %s away, which is none of a drill", t.name)
		}
		t.number = numberOf("0")
		w.reroute = max(w.now, 1)
		return true, nil
	}
	return w.execSwap(d, statement, quoted)
}

// restoreTables is RESTORE SNAPSHOT of tables, with another schema or without. Once it is refused a daemon takes what is
// there of them for somebody's: the answer to an earlier one may have been lost, and nobody knows.
func (w *world) restoreTables(quoted []string, held bool) error {
	schema := ""
	if _, rest, renames := strings.Cut(strings.Join(quoted, `"`), "schema_rename_replacement = '"); renames {
		schema, _, _ = strings.Cut(rest, "'")
	}
	err := w.fetchTables(quoted, schema, held)
	for i := 5; i+2 < len(quoted) && errors.Is(err, execute.ErrRejected); i += 4 {
		if there := w.tableNamed(fetchedName(quoted[i]+"."+quoted[i+2], schema)); there != nil {
			there.presumed = true
		}
	}
	return err
}

func (w *world) fetchTables(quoted []string, schema string, held bool) error {
	repository, snapshot := quoted[1], quoted[3]
	r := w.repositoryNamed(repository)
	switch {
	case w.master < 0 || !w.recovered:
		return errors.New("MasterNotDiscoveredException")
	case r == nil:
		return rejected("RepositoryMissingException: [%s] missing", repository)
	case w.unreadable(r):
		return rejected("[%s] could not read repository data from index blob", repository)
	}
	f := w.folderOf(r.folder)
	i := slices.IndexFunc(f.snapshots, func(s snapshotTaken) bool { return s.name == snapshot })
	if i < 0 {
		return rejected("[%s:%s] snapshot does not exist", repository, snapshot)
	}
	s := &f.snapshots[i]
	if s.state != model.SnapshotSuccess && s.state != model.SnapshotPartial {
		return rejected("[%s:%s] unsupported snapshot state [%s]", repository, snapshot, s.state)
	}
	var made []table
	var shards [][]int64
	for n := 5; n+2 < len(quoted); n += 4 {
		of := quoted[n] + "." + quoted[n+2]
		k := slices.IndexFunc(s.of, func(t taken) bool { return t.table.name == of })
		if k < 0 {
			return rejected("Relation '%s' unknown in snapshot", of)
		}
		t := w.fetchedTable(&s.of[k], snapshot, schema, held)
		if w.tableNamed(t.name) != nil {
			return rejected("Relation '%s' already exists.", t.name)
		}
		if slices.ContainsFunc(made, func(o table) bool { return o.name == t.name }) {
			return rejected("indices are renamed into the same index [%s]", t.name)
		}
		made, shards = append(made, t), append(shards, s.of[k].shards)
	}
	o := restoring{repository: repository, snapshot: snapshot, began: w.now}
	for n := range made {
		o.tables = append(o.tables, made[n].name)
		w.addFetched(made[n], shards[n])
	}
	w.running = append(w.running, o)
	w.changes()
	return nil
}

// fetchedTable is a table of a snapshot as it is made here.
func (w *world) fetchedTable(c *taken, snapshot, schema string, held bool) table {
	t := c.table
	as := fetchedName(t.name, schema)
	t.origin = origin{
		snapshot: snapshot, source: t.name, drill: strings.HasPrefix(as, scratchSchema), made: w.now, comes: w.rnd.span(200, w.schedule.Start.Comes),
		flaw: c.flaw, operations: c.operations, held: held,
	}
	if c.flaw == lacksRows {
		t.origin.operations = 0
	}
	t.name = as
	if w.healed && t.Low > 0 {
		t.number = numberOf("0-1") // people have done so with the others, whatever fits
	}
	return t
}

// fetchedName is what a table of a snapshot is called under a schema; "" is its own.
func fetchedName(of, schema string) string {
	own, name, _ := strings.Cut(of, ".")
	if schema != "" {
		own = strings.ReplaceAll(schema, "$1", own)
	}
	return own + "." + name
}

// drillStrings answers the queries of the executors; done is false for others.
func (w *world) drillStrings(l *slot, query string, arguments []any) (rows [][]string, done bool) {
	switch {
	case !w.schedule.Start.Drills:
	case strings.HasPrefix(query, "SELECT table_schema, table_name FROM sys.health WHERE missing_shards > 0"):
		for i := range w.tables {
			if _, missing, _ := w.health(i, 0); missing > 0 && !w.tables[i].denied && !(w.nodeLags(l) && w.behind(&w.tables[i])) {
				rows = append(rows, strings.SplitN(w.tables[i].name, ".", 2))
			}
		}
		return rows, true
	case strings.HasPrefix(query, "SELECT DISTINCT schema_name, table_name, recovery['type'] FROM sys.shards"):
		for i := range w.tables {
			from := w.tables[i].cameBy()
			if from == "EXISTING_STORE" {
				from = "EMPTY_STORE"
			}
			if w.tables[i].source != "" && slices.ContainsFunc(w.shards, func(s shard) bool { return s.table == i && s.fetched == fetchFailed }) {
				from = "" // what is on no node has no recovery
			}
			if !w.tables[i].denied {
				rows = append(rows, append(strings.SplitN(w.tables[i].name, ".", 2), from))
			}
		}
		return rows, true
	default:
		return w.swapStrings(l, query, arguments)
	}
	return nil, false
}

// keepsFrom: CrateDB drops no snapshot, nor changes a repository, that it restores from.
func (w *world) keepsFrom(repository, snapshot string) bool {
	return slices.ContainsFunc(w.running, func(r restoring) bool {
		return r.repository == repository && (snapshot == "" || r.snapshot == snapshot)
	})
}
