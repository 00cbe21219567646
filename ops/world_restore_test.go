package ops_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// toyRestore is what snapshots of another cluster have, and the tables that are there.
type toyRestore struct {
	// folders are what is in a location.
	folders map[string]*toyRepository
	// restored are there; the value counts the looks until a table has come, and is negative for one that never
	// comes.
	restored map[string]int
	// needs is how many looks a table needs; unfetchable are tables that cannot be fetched, so many times.
	needs       int
	unfetchable map[string]int
	// fetching is the repository that tables come from; "" for none.
	fetching string
	// behind looks show neither tables nor that they come, as a node that is behind.
	behind int
	// restores are the statements, dropped the tables that were dropped, analyzed counts ANALYZE.
	restores, dropped []string
	analyzed          int
	// usersCame: the users of the other cluster are there.
	usersCame bool
}

// seeRestore lets time pass for tables that come, and shows what a reading asks for.
func (w *world) seeRestore(db *model.Database) {
	coming := false
	for name, looks := range w.restored {
		if looks > 0 {
			w.restored[name]--
			coming = coming || looks > 1
		}
	}
	if !coming {
		w.fetching = ""
	}
	if db.Contact != model.Yes || !backup.RestoreWanted(&w.desired, &w.record) {
		return
	}
	r := &db.Restore
	r.Known = true
	if w.behind > 0 {
		w.behind--
		return
	}
	if w.fetching != "" {
		r.Running = []string{w.fetching}
	}
	for _, name := range slices.Sorted(maps.Keys(w.restored)) {
		r.Tables = append(r.Tables, name)
		if w.restored[name] != 0 {
			r.Red = append(r.Red, name)
		}
	}
}

var (
	restoredUsers  = regexp.MustCompile(`^RESTORE SNAPSHOT "(\w+)"\."([a-z0-9-]+)" USERMANAGEMENT WITH \(wait_for_completion = true\)$`)
	restoredTables = regexp.MustCompile(`^RESTORE SNAPSHOT "(\w+)"\."([a-z0-9-]+)" (TABLES, VIEWS, UDFS|TABLE .*) WITH \(wait_for_completion = false\)$`)
	droppedTable   = regexp.MustCompile(`^DROP TABLE IF EXISTS "(\w+)"\."(\w+)"$`)
)

func (w *world) execRestore(statement string) (bool, error) {
	switch {
	case statement == "ANALYZE":
		w.analyzed++
		return true, nil
	case strings.HasPrefix(statement, "RESTORE SNAPSHOT"):
		w.restores = append(w.restores, statement)
	}
	if m := restoredUsers.FindStringSubmatch(statement); m != nil {
		require.NotNil(w.t, w.repository(m[1]))
		w.write(func() {
			w.usersCame = true
			w.users = map[string]*toyUser{"system": {password: "of the other cluster", granted: true}, "ada": {password: "old", granted: true}}
		})
		return true, nil
	}
	if m := restoredTables.FindStringSubmatch(statement); m != nil {
		return true, w.fetch(m[1], m[2], m[3])
	}
	if m := droppedTable.FindStringSubmatch(statement); m != nil {
		name := m[1] + "." + m[2]
		require.NotZero(w.t, w.restored[name], "no table is dropped that is there")
		w.write(func() {
			delete(w.restored, name)
			w.dropped = append(w.dropped, name)
		})
		return true, nil
	}
	return false, nil
}

func (w *world) fetch(repository, snapshot, what string) error {
	r := w.repository(repository)
	require.NotNil(w.t, r)
	i := slices.IndexFunc(r.snapshots, func(s *toySnapshot) bool { return s.name == snapshot })
	require.GreaterOrEqual(w.t, i, 0, "the snapshot is there")
	names := strings.Split(r.snapshots[i].what, ",")
	if list, some := strings.CutPrefix(what, "TABLE "); some {
		names = strings.Split(strings.ReplaceAll(list, `"`, ""), ", ")
	}
	for _, name := range names {
		if _, there := w.restored[name]; there {
			return fmt.Errorf("%w: Relation '%s' already exists.", execute.ErrRejected, name)
		}
	}
	w.write(func() {
		for _, name := range names {
			if w.restored == nil {
				w.restored = map[string]int{}
			}
			w.restored[name] = max(w.needs, 1)
			if w.unfetchable[name] > 0 {
				w.unfetchable[name]--
				w.restored[name] = -1
			}
		}
		w.fetching = repository
	})
	return nil
}

func (w *world) restoreRows(query string) ([][]string, bool) {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(w.restored)) {
		schema, table, _ := strings.Cut(name, ".")
		red := w.restored[name] != 0
		if strings.Contains(query, "FROM sys.shards") || red {
			rows = append(rows, []string{schema, table, "SNAPSHOT"})
		}
	}
	switch {
	case strings.Contains(query, "recovery['type'] FROM sys.shards"), strings.Contains(query, "FROM sys.health WHERE health = 'RED'"):
		return rows, true
	}
	return nil, false
}
