package ops_test

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/fetch"
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
	// operations were done on the tables that the cluster has; nil for those without any.
	operations map[string]int64
	// came are the operations of what was restored; refused are tables that CrateDB does not restore, and why.
	came    map[string]int64
	refused map[string]string
	// diskUse is what is used of the disk of each node, of 1 GiB, -1 where CrateDB does not know; nil: sizes are as
	// the claims have them. watermark is the low one, "" for 85%.
	diskUse   *int64
	watermark string
	// undroppable: no DROP TABLE is answered.
	undroppable bool
	toySwaps
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
	w.seeFetch(db)
	wanted := backup.NeedsRestore(&w.desired, &w.record) || fetch.NeedsReading(&w.desired, &w.record)
	if db.Contact != model.Yes || !wanted {
		return
	}
	r := &db.Restore
	for name := range w.operations {
		r.Tables = append(r.Tables, name)
	}
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
			r.Missing = append(r.Missing, name)
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
	if m := fetchedTables.FindStringSubmatch(statement); m != nil {
		return true, w.fetchUnder(m[1], m[2], m[3], m[5])
	}
	if m := withoutReplicas.FindStringSubmatch(statement); m != nil {
		require.Contains(w.t, w.restored, m[1]+"."+m[2], "only what was restored is altered")
		return true, nil
	}
	if done, err := w.execSwap(statement); done {
		return true, err
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
		if w.undroppable {
			return true, errors.New("no answer")
		}
		name := m[1] + "." + m[2]
		if _, there := w.restored[name]; !there {
			return true, nil
		}
		require.NotContains(w.t, w.operations, name, "no table of a person is dropped")
		if !model.Scratch(name) {
			w.dropsKept(name)
		}
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
	if strings.Contains(query, "FROM sys.health WHERE missing_shards > 0") {
		rows = slices.DeleteFunc(rows, func(r []string) bool { return w.restored[r[0]+"."+r[1]] == 0 })
		return rows, true
	}
	switch {
	case strings.Contains(query, "recovery['type'] FROM sys.shards"), strings.Contains(query, "FROM sys.health WHERE health = 'RED'"):
		return rows, true
	}
	return nil, false
}
