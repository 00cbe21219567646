package ops_test

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// toySwaps are tables that take the place of others.
type toySwaps struct {
	// exchanged: what was called by the name is kept. ever: it was so once, and all shards have started again since.
	exchanged, ever map[string]bool
	swaps           int
	// unswappable is what CrateDB says against an exchange; "" for nothing. unanswered exchanges are done, and nobody hears of it.
	unswappable string
	unanswered  int
	// incomplete looks find replicas missing of what takes another's place.
	incomplete int
	// granted are privileges: "user privilege state ident".
	granted []string
	// originals are tables that were dropped as they were before a restore.
	originals []string
}

var (
	swapped     = regexp.MustCompile(`^ALTER CLUSTER SWAP TABLE "(\w+)"\."(\w+)" TO "(\w+)"\."(\w+)"$`)
	onTable     = regexp.MustCompile(`^(GRANT|DENY|REVOKE) (\w+) ON TABLE "(\w+)"\."(\w+)" (?:TO|FROM) "(\w+)"$`)
	setReplicas = regexp.MustCompile(`^ALTER TABLE "(\w+)"\."(\w+)" SET \(number_of_replicas = '1'\)$`)
)

// keptName is what a table of the toy cluster is called while another has its place.
func (w *world) keptName(table string) string {
	f := model.Fetch{Schema: model.KeptSchema(w.record.ClusterID)}
	return f.Target(table)
}

func (w *world) execSwap(statement string) (bool, error) {
	if m := onTable.FindStringSubmatch(statement); m != nil {
		of := []string{m[5], m[2], m[3] + "." + m[4]}
		w.write(func() {
			w.granted = slices.DeleteFunc(w.granted, func(g string) bool {
				f := strings.Fields(g)
				return f[0] == of[0] && f[1] == of[1] && f[3] == of[2]
			})
			if m[1] != "REVOKE" {
				w.granted = append(w.granted, strings.Join([]string{of[0], of[1], m[1], of[2]}, " "))
			}
		})
		return true, nil
	}
	if m := setReplicas.FindStringSubmatch(statement); m != nil {
		require.Contains(w.t, w.restored, m[1]+"."+m[2], "only what was restored is altered")
		return true, nil
	}
	m := swapped.FindStringSubmatch(statement)
	if m == nil {
		return false, nil
	}
	from, to := m[1]+"."+m[2], m[3]+"."+m[4]
	require.Equal(w.t, from, w.keptName(to))
	require.Zero(w.t, w.restored[from], "only what is whole takes the place of another table")
	require.Contains(w.t, w.operations, to)
	require.Nil(w.t, w.record.Operation, "no operation is under way")
	require.NotNil(w.t, w.record.Backups.Fetch, "the intent is recorded before the statement")
	require.NotEmpty(w.t, w.record.Backups.Fetch.Index)
	if w.unswappable != "" {
		return true, fmt.Errorf("%w: %s", execute.ErrRejected, w.unswappable)
	}
	w.write(func() {
		if w.exchanged == nil {
			w.exchanged, w.ever = map[string]bool{}, map[string]bool{}
		}
		w.operations[to], w.came[from] = w.came[from], w.operations[to]
		w.exchanged[to], w.ever[to] = !w.exchanged[to], true
		w.swaps++
		for i, g := range w.granted {
			switch f := strings.Fields(g); f[3] {
			case from:
				w.granted[i] = strings.Join(append(f[:3], to), " ")
			case to:
				w.granted[i] = strings.Join(append(f[:3], from), " ")
			}
		}
	})
	if w.unanswered > 0 {
		w.unanswered--
		return true, errors.New("no answer")
	}
	return true, nil
}

// dropsKept notes that a table is dropped that may be one of before.
func (w *world) dropsKept(name string) {
	table := model.KeptOf(w.record.ClusterID, name)
	if table == "" {
		require.NotZero(w.t, w.restored[name], "no table is dropped that is there")
		return
	}
	require.Contains(w.t, w.operations, table, "the one is not dropped before the other is there")
	if w.exchanged[table] {
		w.originals = append(w.originals, table)
	}
}

// swapRows is what an executor asks of two tables of a name.
func (w *world) swapRows(query string, arguments []any) (rows [][]string, ok bool) {
	if len(arguments) == 0 {
		return nil, false
	}
	name := fmt.Sprint(arguments[0])
	var tables []string
	for _, t := range append(slices.Sorted(maps.Keys(w.operations)), slices.Sorted(maps.Keys(w.restored))...) {
		if _, n, _ := strings.Cut(t, "."); n == name {
			tables = append(tables, t)
		}
	}
	switch {
	case strings.Contains(query, "path, recovery['type'] FROM sys.shards"):
		for _, t := range tables {
			schema, _, _ := strings.Cut(t, ".")
			of := model.KeptOf(w.record.ClusterID, t)
			original := of != "" && w.exchanged[of] || of == "" && !w.exchanged[t]
			index, kind := "copy", "SNAPSHOT"
			if original || w.ever[of] || w.ever[t] {
				kind = "EXISTING_STORE"
			}
			if original {
				index = "original"
			}
			if w.restored[t] == 0 {
				rows = append(rows, []string{schema, "/data/nodes/0/indices/" + index + "-" + name + "/0", kind})
			}
		}
	case strings.Contains(query, "FROM sys.health WHERE table_name"):
		for _, t := range tables {
			schema, _, _ := strings.Cut(t, ".")
			row := []string{schema, "0", "0"}
			if w.restored[t] != 0 {
				row[1] = "1"
			}
			if _, copied := w.restored[t]; copied && w.incomplete > 0 {
				row[2] = "1"
				w.incomplete--
			}
			rows = append(rows, row)
		}
	case strings.Contains(query, "number_of_replicas FROM information_schema.tables"):
		for _, t := range tables {
			schema, _, _ := strings.Cut(t, ".")
			_, copied := w.restored[t]
			rows = append(rows, []string{schema, map[bool]string{true: "0", false: "1"}[copied]})
		}
	case strings.Contains(query, "class = 'TABLE'"):
		for _, g := range w.granted {
			if f := strings.Fields(g); slices.Contains(arguments, any(f[3])) {
				rows = append(rows, f)
			}
		}
	default:
		return nil, false
	}
	return rows, true
}

// masterOf is the id of the first node; where nobody is there it stays as it is.
func masterOf(db *model.Database) string {
	if len(db.Nodes) == 0 {
		return db.MasterNode
	}
	return db.Nodes[0].ID
}
