package execute_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

const restoredSnapshot = "stevedore-nightly-20260101t030000z"

func restoring(kind model.ActionKind, tables string) model.Action {
	return model.Action{Kind: kind, Pod: "p", SystemSecret: "system", Repository: repository, Snapshot: restoredSnapshot, SnapshotTables: tables}
}

// everything is asked for with views and functions.
func everything(a model.Action) model.Action {
	a.New = true
	return a
}

// Never ALL and never METADATA: they replace the settings of the cluster.
func TestWhatIsRestoredIsNamed(t *testing.T) {
	of := `RESTORE SNAPSHOT "` + repository + `"."` + restoredSnapshot + `" `
	for _, c := range []struct {
		action model.Action
		sent   string
	}{
		{restoring(model.ActionRestoreUsers, ""), of + `USERMANAGEMENT WITH (wait_for_completion = true)`},
		{everything(restoring(model.ActionRestoreTables, "doc.a,My.B")), of + `TABLES, VIEWS, UDFS WITH (wait_for_completion = false)`},
		{restoring(model.ActionRestoreTables, "doc.a,My.B"), of + `TABLE "doc"."a", "My"."B" WITH (wait_for_completion = false)`},
	} {
		s := newScript("system/real")
		_, err := execute.Run(t.Context(), c.action, backupTools(s, &listing{}))
		require.NoError(t, err)
		assert.Contains(t, s.told, c.sent)
	}
}

func TestTablesAreAskedForOnce(t *testing.T) {
	exists := fmt.Errorf("%w: Relation 'doc.a' already exists.", execute.ErrRejected)
	for _, c := range []struct {
		name  string
		fails error
		came  [][]string
		job   string
		code  model.ResultCode
		err   string
	}{
		{"they begin to come", nil, nil, "", 0, ""},
		{"an answer was lost, and they come", exists, [][]string{{"doc", "a", "SNAPSHOT"}, {"doc", "a", "PEER"}, {"doc", "mine", "EMPTY_STORE"}}, "", 0, ""},
		{"one of them has no shards", exists, [][]string{{"doc", "b", "SNAPSHOT"}}, "", 0, ""},
		{"they are somebody's", exists, [][]string{{"doc", "a", "EMPTY_STORE"}}, "", model.ResultRefused, ""},
		{"one of them is somebody's", exists, [][]string{{"doc", "a", "EMPTY_STORE"}, {"doc", "b", "SNAPSHOT"}}, "", model.ResultRefused, ""},
		{"none of them is there", exists, nil, "", model.ResultRefused, ""},
		{"CrateDB refuses", fmt.Errorf("%w: this action would exceed the shard limit", execute.ErrRejected), [][]string{{"doc", "a", "SNAPSHOT"}}, "", model.ResultRefused, ""},
		{"nobody knows", errors.New("connection reset"), nil, "", 0, "connection reset"},
		{"an earlier one has no answer yet", nil, nil, `RESTORE SNAPSHOT "` + repository + `"."x" TABLES`, 0, "does not answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript("system/real")
			s.replies = map[string][][][]string{"sys.jobs": {{{c.job}}}, "recovery": {c.came}}
			if c.fails != nil {
				s.fails["RESTORE SNAPSHOT"] = c.fails
			}
			r, err := execute.Run(t.Context(), everything(restoring(model.ActionRestoreTables, "doc.a,doc.b")), backupTools(s, &listing{}))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.code, r.Code)
		})
	}
}

func TestOnlyWhatCouldNotBeFetchedIsDropped(t *testing.T) {
	s := newScript("system/real")
	s.replies = map[string][][][]string{"sys.health": {{{"doc", "b"}, {"doc", "mine"}}}}
	r, err := execute.Run(t.Context(), restoring(model.ActionDropRestored, "doc.a,doc.b"), backupTools(s, &listing{}))
	require.NoError(t, err)
	assert.Equal(t, "1 table(s) were dropped that could not be fetched", r.Message)
	assert.Contains(t, s.told, `DROP TABLE IF EXISTS "doc"."b"`)
	for _, statement := range s.told {
		assert.NotContains(t, statement, `"a"`, "it has its primaries by now")
		assert.NotContains(t, statement, "mine", "it is not one of the restore")
	}
}

func TestARestoreEndsWithItsRepositoryAndWithStatistics(t *testing.T) {
	s := newScript("system/real")
	s.replies = map[string][][][]string{"sys.repositories": {{{"fs"}}}}
	s.fails["ANALYZE"] = errors.New("busy")
	_, err := execute.Run(t.Context(), restoring(model.ActionEndRestore, ""), backupTools(s, &listing{}))
	require.NoError(t, err, "statistics are no reason to stop")
	assert.Contains(t, s.told, `DROP REPOSITORY "`+repository+`"`)
	assert.Contains(t, s.told, "ANALYZE")
}
