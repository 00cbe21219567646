package simulation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// rejected is what CrateDB answers.
func rejected(format string, values ...any) error {
	return fmt.Errorf("%w: %s", execute.ErrRejected, fmt.Sprintf(format, values...))
}

// execBackup is a daemon's statement on a repository or a snapshot; done is false for another one.
func (w *world) execBackup(d *daemon, statement string, arguments []any) (done bool, err error) {
	quoted := strings.Split(statement, `"`)
	verb := strings.TrimSpace(quoted[0])
	var run func() error
	switch verb {
	case "CREATE REPOSITORY":
		run = func() error { return w.createRepository(quoted, arguments) }
	case "ALTER REPOSITORY":
		run = func() error { return w.alterRepository(quoted, arguments) }
	case "DROP REPOSITORY":
		w.say("daemon %s: %s", d.name, statement)
		return true, w.dropRepository(quoted[1])
	case "CREATE SNAPSHOT":
		w.judge.asksSnapshot(w, d, quoted[1], quoted[3])
		held := w.now < w.storeHangs
		run = func() error { return w.createSnapshot(quoted[1], quoted[3], quoted[4:], d, held) }
	case "DROP SNAPSHOT":
		w.judge.drops(w, d, quoted[1], quoted[3])
		run = func() error { return w.dropSnapshot(quoted[1], quoted[3]) }
	default:
		return false, nil
	}
	w.say("daemon %s: %s", d.name, statement)
	if w.now < w.storeHangs {
		w.held = append(w.held, heldStatement{text: statement, run: run})
		return true, errSlow
	}
	return true, run()
}

// placeIn is the folder and the key that a statement gives a repository.
func placeIn(quoted []string, arguments []any) (folder, key string) {
	for i, part := range quoted {
		if (part == "base_path" || part == "location") && i+1 < len(quoted) {
			folder = strings.Split(quoted[i+1], "'")[1]
		}
	}
	if len(arguments) > 0 {
		key = fmt.Sprint(arguments[0])
	}
	return folder, key
}

func (w *world) createRepository(quoted []string, arguments []any) error {
	if w.repositoryNamed(quoted[1]) != nil {
		return rejected("Repository '%s' already exists", quoted[1])
	}
	path, key := placeIn(quoted, arguments)
	r := repository{name: quoted[1], folder: path, key: key}
	if w.unreadable(&r) {
		if w.rnd.oneIn(4) {
			w.known = append(w.known, r) // CrateDB drops it again, and has not this time
		}
		return rejected("Unable to verify the repository, [%s] is not accessible on master node with %s", r.name, key)
	}
	w.known = append(w.known, r)
	w.folderOf(path)
	return nil
}

// takesInto: CrateDB changes no repository while a snapshot of it runs.
func (w *world) takesInto(r *repository) bool {
	return w.keepsFrom(r.name, "") || slices.ContainsFunc(w.folderOf(r.folder).snapshots, func(s snapshotTaken) bool { return s.state == model.SnapshotInProgress })
}

// alterRepository keeps what it is given, also where the verification fails.
func (w *world) alterRepository(quoted []string, arguments []any) error {
	r := w.repositoryNamed(quoted[1])
	switch {
	case r == nil:
		return rejected("Repository '%s' unknown", quoted[1])
	case w.takesInto(r):
		return rejected("trying to modify or unregister repository that is currently used")
	}
	for _, i := range w.used {
		if l := &w.slots[i]; l.pod.joined && l.place.Version.Minor < 4 {
			return rejected("Cannot execute ALTER REPOSITORY while there are nodes before 6.4")
		}
	}
	r.folder, r.key = placeIn(quoted, arguments)
	if w.unreadable(r) {
		return rejected("Unable to verify the repository, [%s] is not accessible on master node with %s", r.name, r.key)
	}
	return nil
}

func (w *world) dropRepository(name string) error {
	r := w.repositoryNamed(name)
	switch {
	case r == nil:
		return rejected("Repository '%s' unknown", name)
	case w.takesInto(r):
		return rejected("trying to modify or unregister repository that is currently used")
	}
	w.known = slices.DeleteFunc(w.known, func(r repository) bool { return r.name == name })
	return nil
}

// createSnapshot begins one; what follows the names are ALL, or the tables.
func (w *world) createSnapshot(in, name string, rest []string, d *daemon, held bool) error {
	r := w.repositoryNamed(in)
	if r == nil {
		return rejected("Repository '%s' unknown", in)
	}
	if w.master < 0 || !w.recovered {
		return errors.New("MasterNotDiscoveredException")
	}
	if w.unreadable(r) {
		return rejected("[%s] could not read repository data from index blob", in)
	}
	f := w.folderOf(r.folder)
	if slices.ContainsFunc(f.snapshots, func(s snapshotTaken) bool { return s.name == name }) {
		return fmt.Errorf("%w: Invalid snapshot name [%s], snapshot with the same name already exists", execute.ErrSnapshotExists, name)
	}
	s := snapshotTaken{name: name, state: model.SnapshotInProgress, began: w.now, held: held, all: strings.HasPrefix(rest[0], " ALL ")}
	s.whole = s.all || w.skips(d, name)
	for i := range w.tables {
		t := &w.tables[i]
		if !s.all && !namesTable(rest, t.name) {
			continue
		}
		if w.fetchesTable(i) {
			return rejected("Indices don't have primary shards [%s]", t.name)
		}
		if why := w.closedToSnapshots(i); why != "" {
			return rejected("The relation %q doesn't support or allow READ operations, as it is %s", t.name, why)
		}
		s.tables = append(s.tables, t.name)
		if w.schedule.Start.Drills {
			s.of = append(s.of, w.copiesTable(i))
		}
		for k := range w.shards {
			if w.shards[k].table == i {
				s.nodes |= w.shards[k].primaryOn()
			}
		}
	}
	s.due = w.now + w.rnd.span(500, w.schedule.Start.Takes)
	if w.schedule.Start.Drills {
		w.flaws(&s)
	}
	w.judge.beginsSnapshot(w, d, r, &s, held)
	f.snapshots = append(f.snapshots, s)
	return nil
}

// skips: people want the snapshots of all tables to be taken without those that cannot be read.
func (w *world) skips(d *daemon, name string) bool {
	c := &w.commits[d.want]
	return c.backups != nil && c.backups.Unreadable == definition.UnreadableSkip && !slices.ContainsFunc(c.backups.Schedules, func(s definition.BackupSchedule) bool {
		return s.Name == scheduleOf(name) && len(s.Tables) > 0
	})
}

// namesTable: a statement names the table, as "schema"."table".
func namesTable(rest []string, table string) bool {
	schema, name, _ := strings.Cut(table, ".")
	for i := 0; i+2 < len(rest); i++ {
		if rest[i] == schema && rest[i+1] == "." && rest[i+2] == name {
			return true
		}
	}
	return false
}

// primaryOn is the node of a shard's active primary, as a bit of its slot.
func (s *shard) primaryOn() uint64 {
	for i := range s.copies {
		if c := &s.copies[i]; c.primary && c.state >= started {
			return 1 << c.slot
		}
	}
	return 0
}

func (w *world) dropSnapshot(in, name string) error {
	r := w.repositoryNamed(in)
	if r == nil {
		return rejected("Repository '%s' unknown", in)
	}
	if w.unreadable(r) {
		return rejected("[%s] could not read repository data from index blob", in)
	}
	if w.keepsFrom(in, name) {
		return rejected("cannot delete snapshot during a restore in progress in [%s:%s]", in, name)
	}
	f := w.folderOf(r.folder)
	before := len(f.snapshots)
	f.snapshots = slices.DeleteFunc(f.snapshots, func(s snapshotTaken) bool { return s.name == name })
	if len(f.snapshots) == before {
		return rejected("Snapshot '%s' unknown", name)
	}
	return nil
}

// backupStrings answers the queries of the executors; done is false for others.
func (w *world) backupStrings(query string, arguments []any) (rows [][]string, done bool) {
	switch {
	case strings.HasPrefix(query, "SELECT type FROM sys.repositories"):
		if w.repositoryNamed(fmt.Sprint(arguments[0])) != nil {
			rows = append(rows, []string{"s3"})
		}
		return rows, true
	case strings.HasPrefix(query, "SELECT stmt FROM sys.jobs"):
		for _, h := range w.held {
			rows = append(rows, []string{h.text})
		}
		return append(rows, []string{query}), true // its own one
	}
	return nil, false
}
