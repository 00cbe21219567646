package execute_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

var scratch = model.ScratchSchema("id-1", restoredSnapshot)

// onTrial are tables of a drill.
func onTrial(kind model.ActionKind, tables string) model.Action {
	a := everything(restoring(kind, tables))
	a.Schema = scratch
	return a
}

func under(schema string, a model.Action) model.Action {
	a.Schema = schema
	return a
}

func TestTablesAreFetchedIntoARunningCluster(t *testing.T) {
	exists := fmt.Errorf("%w: Relation 'old.a' already exists.", execute.ErrRejected)
	of := `RESTORE SNAPSHOT "` + repository + `"."` + restoredSnapshot + `" TABLE "doc"."a", "doc"."b" WITH (wait_for_completion = false`
	const rename = `, schema_rename_pattern = '(.+)', schema_rename_replacement = `
	for _, c := range []struct {
		name     string
		action   model.Action
		fails    error
		came     [][]string
		sent     string
		replicas bool
		code     model.ResultCode
		err      string
	}{
		{"under their own names", restoring(model.ActionFetchTables, "doc.a,doc.b"), nil, nil, of + ")", false, 0, ""},
		{"under another schema", under("old", restoring(model.ActionFetchTables, "doc.a,doc.b")), nil, nil, of + rename + "'old')", false, 0, ""},
		{"on trial, without replicas", onTrial(model.ActionFetchTables, "doc.a,doc.b"), nil, nil, of + rename + "'" + scratch + "')", true, 0, ""},
		{"an answer was lost, and they come", under("old", restoring(model.ActionFetchTables, "doc.a,doc.b")), exists, [][]string{{"old", "a", "SNAPSHOT"}, {"old", "b", "SNAPSHOT"}}, "", false, model.ResultPresumed, ""},
		{"somebody's table has the name", under("old", restoring(model.ActionFetchTables, "doc.a,doc.b")), exists, [][]string{{"old", "a", "EMPTY_STORE"}}, "", false, model.ResultRefused, ""},
		{"an answer was lost, and one cannot be fetched", under("old", restoring(model.ActionFetchTables, "doc.a,doc.b")), exists, [][]string{{"old", "a", ""}, {"old", "b", "SNAPSHOT"}}, "", false, model.ResultPresumed, ""},
		{"an answer was lost, and none can be fetched", under("old", restoring(model.ActionFetchTables, "doc.a")), exists, [][]string{{"old", "a", ""}, {"doc", "a", "EMPTY_STORE"}}, "", false, model.ResultPresumed, ""},
		{"a table of a drill is there already", onTrial(model.ActionFetchTables, "doc.a"), exists, nil, "", true, 0, ""},
		{"CrateDB refuses", onTrial(model.ActionFetchTables, "doc.a"), fmt.Errorf("%w: this action would exceed the shard limit", execute.ErrRejected), nil, "", false, model.ResultRefused, ""},
		{"the snapshot is gone", onTrial(model.ActionFetchTables, "doc.a"), fmt.Errorf("%w: [r:s] snapshot does not exist", execute.ErrRejected), nil, "", false, model.ResultMissing, ""},
		{"a table that takes another's place, which was asked for, is there already", inPlace(true), exists, nil, "", false, 0, ""},
		{"nobody knows", onTrial(model.ActionFetchTables, "doc.a"), errors.New("connection reset"), nil, "", false, 0, "connection reset"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript("system/real")
			s.replies = map[string][][][]string{"recovery": {c.came}}
			if c.fails != nil {
				s.fails["RESTORE SNAPSHOT"] = c.fails
			}
			r, err := execute.Run(t.Context(), c.action, backupTools(s, &listing{}))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.code, r.Code)
			if c.sent != "" {
				assert.Contains(t, s.told, c.sent)
			}
			assert.Equal(t, c.replicas, strings.Contains(strings.Join(s.told, "\n"), "SET (number_of_replicas = 0)"))
		})
	}
}

// inPlace is a table that is to take the place of another one.
func inPlace(asked bool) model.Action {
	a := under("stevedore_replaced_0a1b2c_$1", restoring(model.ActionFetchTables, "doc.a"))
	a.Table, a.Tried = "doc.a", asked
	return a
}

func TestATableThatTakesAnothersPlaceIsLookedForBeforeItIsAskedFor(t *testing.T) {
	const tables, kept = "SELECT table_schema, number_of_replicas", "stevedore_replaced_0a1b2c_doc"
	for _, c := range []struct {
		name string
		has  [][]string
		code model.ResultCode
	}{
		{"nothing has its name", [][]string{{"doc", "1"}}, model.ResultFree},
		{"a table is kept that has its name", [][]string{{"doc", "1"}, {kept, "1"}}, model.ResultRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript("system/real")
			s.replies = map[string][][][]string{"FROM sys.nodes": {{{"n0"}}}, tables: {c.has}}
			r, err := execute.Run(t.Context(), inPlace(false), backupTools(s, &listing{}))
			require.NoError(t, err)
			assert.Equal(t, c.code, r.Code)
			assert.NotContains(t, strings.Join(s.told, "\n"), `RESTORE SNAPSHOT "`)
		})
	}
}

func TestOnlyWhatARestoreHasMadeIsDropped(t *testing.T) {
	trial := strings.TrimSuffix(scratch, "$1")
	for _, c := range []struct {
		name    string
		action  model.Action
		dropped []string
		err     string
	}{
		{"each table of a drill", onTrial(model.ActionDropFetched, "doc.a,doc.b"), []string{trial + "doc.a", trial + "doc.b"}, ""},
		{"those of a person that have not come", under("old", restoring(model.ActionDropFetched, "doc.a,doc.b")), []string{"old.b"}, ""},
		{"no table of a person as one of a drill", under("old", everything(restoring(model.ActionDropFetched, "doc.a"))), nil, "is none of a drill"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript("system/real")
			s.replies = map[string][][][]string{"sys.health": {{{"old", "b"}, {"doc", "mine"}}}, "FROM sys.nodes": {{{"n0"}}}}
			_, err := execute.Run(t.Context(), c.action, backupTools(s, &listing{}))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
			} else {
				require.NoError(t, err)
			}
			var dropped []string
			for _, statement := range s.told {
				if name, ok := strings.CutPrefix(statement, "DROP TABLE IF EXISTS "); ok {
					dropped = append(dropped, strings.ReplaceAll(name, `"`, ""))
				}
			}
			assert.Equal(t, c.dropped, dropped)
		})
	}
}

// It is what it was in the snapshot, and CrateDB drops no table that is read only (run on 6.3.7 and 6.4.3).
func TestATableOfADrillThatIsReadOnlyIsDropped(t *testing.T) {
	s := newScript("system/real")
	s.fails["DROP TABLE"] = fmt.Errorf("%w: The relation doesn't support or allow DROP operations", execute.ErrRejected)
	_, err := execute.Run(t.Context(), onTrial(model.ActionDropFetched, "doc.a"), backupTools(s, &listing{}))
	require.Error(t, err, "the script refuses it again")
	assert.Contains(t, strings.Join(s.told, "\n"), `SET ("blocks.read_only" = false)`)
}

// A repository that does not answer holds the statement, and it makes the tables whenever that answers again.
func TestTablesAreNotDroppedForGoodWhileARestoreStillHasNoAnswer(t *testing.T) {
	for _, a := range []model.Action{onTrial(model.ActionDropFetched, "doc.a"), under("old", restoring(model.ActionDropFetched, "doc.a"))} {
		s := newScript("system/real")
		s.replies = map[string][][][]string{"sys.jobs": {{{`RESTORE SNAPSHOT "` + repository + `"."` + restoredSnapshot + `" TABLE "doc"."a"`}}}}
		_, err := execute.Run(t.Context(), a, backupTools(s, &listing{}))
		require.ErrorContains(t, err, "still works on an earlier RESTORE SNAPSHOT")
	}
}
