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

const keptSchema = "stevedore_replaced_0a1b2c_$1"

var keptDoc = strings.ReplaceAll(keptSchema, "$1", "doc")

// replacing is an action on doc.a and the table that takes its place, whose index is "copy".
func replacing(kind model.ActionKind) model.Action {
	a := restoring(kind, "doc.a")
	a.Table, a.Schema, a.Index, a.New = "doc.a", keptSchema, "copy", false
	return a
}

func pathOf(index string) string { return "/data/nodes/0/indices/" + index + "/0" }

// pair is a database with doc.a and its copy, which is whole, and has one replica as doc.a has.
func pair(edit func(replies map[string][][][]string)) *script {
	s := newScript("system/real")
	s.replies = map[string][][][]string{
		"path, recovery":              {{{"doc", pathOf("original"), "EMPTY_STORE"}, {keptDoc, pathOf("copy"), "SNAPSHOT"}}, {{"doc", pathOf("copy"), "EXISTING_STORE"}, {keptDoc, pathOf("original"), "EXISTING_STORE"}}},
		"sum(missing_shards)":         {{{"doc", "0", "0"}, {keptDoc, "0", "0"}}},
		"number_of_replicas FROM":     {{{"doc", "1"}, {keptDoc, "1"}}},
		"class = 'TABLE'":             {nil},
		"LIKE '%alter%cluster%swap%'": {nil},
		"LIKE '%snapshot%'":           {nil},
		"SELECT count(*)":             {{{"3"}}},
		"FROM sys.nodes":              {{{"n0"}}},
	}
	if edit != nil {
		edit(s.replies)
	}
	return s
}

func (s *script) sentAs(begin string) (all []string) {
	for _, statement := range s.told {
		if strings.HasPrefix(statement, begin) {
			all = append(all, statement)
		}
	}
	return all
}

func TestTablesExchangeTheirNamesOnlyWhenBothAreWhole(t *testing.T) {
	swap := []string{`ALTER CLUSTER SWAP TABLE "` + keptDoc + `"."a" TO "doc"."a"`}
	only := func(rows ...[]string) func(map[string][][][]string) {
		return func(r map[string][][][]string) { r["sum(missing_shards)"] = [][][]string{rows} }
	}
	for _, c := range []struct {
		name   string
		edit   func(replies map[string][][][]string)
		fails  error
		action func(a *model.Action)
		code   model.ResultCode
		text   string
		swaps  bool
		err    string
	}{
		{name: "both are whole", swaps: true, text: "have exchanged their names"},
		{name: "the other has no partition", edit: only([]string{keptDoc, "0", "0"}), swaps: true},
		{name: "the copy is red", edit: only([]string{"doc", "0", "0"}, []string{keptDoc, "1", "0"}), code: model.ResultWaits, text: "1 primaries of " + keptDoc + ".a are not there"},
		{name: "the table is red", edit: only([]string{"doc", "1", "0"}, []string{keptDoc, "0", "0"}), code: model.ResultWaits, text: "1 primaries of doc.a are not there"},
		{name: "the copy has fewer replicas", edit: only([]string{"doc", "0", "0"}, []string{keptDoc, "0", "2"}), code: model.ResultWaits, text: "2 replicas of"},
		{name: "both lack replicas", edit: only([]string{"doc", "0", "2"}, []string{keptDoc, "0", "2"}), swaps: true},
		{name: "the health of the copy is not shown", edit: only([]string{"doc", "0", "0"}), code: model.ResultWaits, text: "is not shown"},
		{name: "they have exchanged them already", edit: func(r map[string][][][]string) { r["path, recovery"] = r["path, recovery"][1:] }, text: "have exchanged their names"},
		{name: "it only looks", action: func(a *model.Action) { a.New = true }, code: model.ResultWaits, text: "not exchanged their names yet"},
		{
			name: "it is not known where the copy is", action: func(a *model.Action) { a.Index = "other" },
			edit: only([]string{"doc", "0", "0"}, []string{keptDoc, "1", "0"}), err: "it is not known which of the two tables it is of",
		},
		{name: "somebody has made another one", action: func(a *model.Action) { a.Index = "other" }, code: model.ResultRefused, text: "somebody has made another one"},
		{
			name: "somebody has dropped it", action: func(a *model.Action) { a.Index = "other" },
			edit: func(r map[string][][][]string) { r["number_of_replicas FROM"] = [][][]string{{{"doc", "1"}}} },
			code: model.ResultRefused, text: keptDoc + ".a is not there any more",
		},
		{name: "CrateDB refuses", fails: fmt.Errorf("%w: it is included in a logical replication publication", execute.ErrRejected), code: model.ResultRefused, text: "publication", swaps: true},
		{name: "nobody answers", fails: errors.New("connection reset"), err: "connection reset", swaps: true},
		{name: "it says so, and it is not so", edit: func(r map[string][][][]string) { r["path, recovery"] = r["path, recovery"][:1] }, err: "and does not show it", swaps: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, a := pair(c.edit), replacing(model.ActionSwapTables)
			if c.action != nil {
				c.action(&a)
			}
			if c.fails != nil {
				s.fails["ALTER CLUSTER SWAP"] = c.fails
			}
			r, err := execute.Run(t.Context(), a, backupTools(s, &listing{}))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
			} else {
				require.NoError(t, err)
				assert.Equal(t, c.code, r.Code)
				assert.Contains(t, r.Message, c.text)
			}
			if c.swaps {
				assert.Equal(t, swap, s.sentAs("ALTER CLUSTER SWAP"))
			} else {
				assert.Empty(t, s.sentAs("ALTER CLUSTER SWAP"))
			}
		})
	}
}

func TestWhatTakesAnotherTablesPlaceHasWhatThatHas(t *testing.T) {
	s := pair(func(r map[string][][][]string) {
		r["number_of_replicas FROM"] = [][][]string{{{"doc", "0-all"}, {keptDoc, "1"}}}
		r["class = 'TABLE'"] = [][][]string{{
			{"ada", "DQL", "GRANT", "doc.a"}, {"bob", "DML", "DENY", "doc.a"}, {"cid", "DQL", "GRANT", "doc.a"},
			{"cid", "DQL", "GRANT", keptDoc + ".a"}, {"bob", "DML", "GRANT", keptDoc + ".a"}, {"eve", "DDL", "GRANT", keptDoc + ".a"},
		}}
	})
	r, err := execute.Run(t.Context(), replacing(model.ActionPrepareSwap), backupTools(s, &listing{}))
	require.NoError(t, err)
	assert.Equal(t, "copy", r.Index)
	of := ` ON TABLE "` + keptDoc + `"."a" `
	assert.Equal(t, []string{`ALTER TABLE "` + keptDoc + `"."a" SET (number_of_replicas = '0-all')`}, s.sentAs("ALTER"))
	assert.Equal(t, []string{"GRANT DQL" + of + `TO "ada"`}, s.sentAs("GRANT"))
	assert.Equal(t, []string{"DENY DML" + of + `TO "bob"`}, s.sentAs("DENY"))
	assert.Equal(t, []string{"REVOKE DML" + of + `FROM "bob"`, "REVOKE DDL" + of + `FROM "eve"`}, s.sentAs("REVOKE"))

	s = pair(func(r map[string][][][]string) { r["path, recovery"] = [][][]string{{{"doc", pathOf("original"), ""}}} })
	r, err = execute.Run(t.Context(), replacing(model.ActionPrepareSwap), backupTools(s, &listing{}))
	require.NoError(t, err)
	assert.Equal(t, model.ResultRefused, r.Code)
	assert.Contains(t, r.Message, "has no shard")
}

func TestACopyIsDroppedOnlyBeforeItHasTakenThePlace(t *testing.T) {
	only := func(rows ...[]string) func(map[string][][][]string) {
		return func(r map[string][][][]string) { r["path, recovery"] = [][][]string{rows} }
	}
	for _, c := range []struct {
		name    string
		edit    func(replies map[string][][][]string)
		surely  bool
		unknown bool // its index is: it was not prepared yet, or the record was lost
		dropped bool
	}{
		{"it is ours", nil, true, false, true},
		{"it is ours, and nothing of it came", only([]string{"doc", pathOf("original"), ""}), true, true, true},
		{"somebody has dropped the copy, which had taken the place", only([]string{keptDoc, pathOf("original"), "EXISTING_STORE"}), true, false, false},
		{"it has taken the place", only([]string{"doc", pathOf("copy"), "EXISTING_STORE"}, []string{keptDoc, pathOf("original"), "EXISTING_STORE"}), true, false, false},
		{"the record was lost, and it came from a snapshot", nil, false, true, true},
		{"the record was lost, and it may be what was there before", only([]string{"doc", pathOf("copy"), "EXISTING_STORE"}, []string{keptDoc, pathOf("original"), "PEER"}), false, true, false},
		{"the record was lost, and nobody knows where it came from", only([]string{"doc", pathOf("copy"), "SNAPSHOT"}), false, true, false},
		{"it is not there", func(r map[string][][][]string) { r["number_of_replicas FROM"] = [][][]string{{{"doc", "1"}}} }, true, false, false},
		{"it is ours, has never exchanged its name, and the node may be behind", func(r map[string][][][]string) { r["number_of_replicas FROM"] = [][][]string{{{"doc", "1"}}} }, true, true, true},
		{"the record was lost, and the node may be behind", func(r map[string][][][]string) { r["number_of_replicas FROM"] = [][][]string{{{"doc", "1"}}} }, false, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, a := pair(c.edit), replacing(model.ActionDropCopy)
			a.New = c.surely
			if c.unknown {
				a.Index = ""
			}
			_, err := execute.Run(t.Context(), a, backupTools(s, &listing{}))
			require.NoError(t, err)
			assert.Equal(t, c.dropped, len(s.sentAs("DROP TABLE")) == 1)
		})
	}
}

// Under a wrong schema the table that is dropped would be the one that people use, or one of theirs.
func TestOnlyATableOfAReplacementIsDropped(t *testing.T) {
	for _, kind := range []model.ActionKind{model.ActionDropCopy, model.ActionDropKept} {
		for _, schema := range []string{"$1", "", "archive"} {
			s, a := pair(nil), replacing(kind)
			a.Schema = schema
			_, err := execute.Run(t.Context(), a, backupTools(s, &listing{}))
			require.ErrorContains(t, err, "is none of a replacement", "%s under %q", kind, schema)
			assert.Empty(t, s.sentAs("DROP TABLE"))
		}
	}
}

func TestWhatIsKeptIsDroppedOnlyWhileTheOtherIsWhole(t *testing.T) {
	for _, c := range []struct {
		name    string
		edit    func(replies map[string][][][]string)
		fails   error
		dropped bool
		text    string
	}{
		{"it is whole", nil, nil, true, "was dropped"},
		{"a shard of it is missing", func(r map[string][][][]string) {
			r["sum(missing_shards)"] = [][][]string{{{"doc", "1", "0"}, {keptDoc, "0", "0"}}}
		}, nil, false, "not all primaries of doc.a are there"},
		{"it is not there", func(r map[string][][][]string) { r["sum(missing_shards)"] = [][][]string{{{keptDoc, "0", "0"}}} }, nil, false, "not all primaries of doc.a are there"},
		{"it cannot be read", nil, fmt.Errorf("%w: blocked", execute.ErrRejected), false, "cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := pair(c.edit)
			if c.fails != nil {
				s.fails["SELECT count(*)"] = c.fails
			}
			r, err := execute.Run(t.Context(), replacing(model.ActionDropKept), backupTools(s, &listing{}))
			require.NoError(t, err)
			assert.Equal(t, c.dropped, len(s.sentAs("DROP TABLE")) == 1)
			assert.Equal(t, c.dropped, r.Code == model.ResultDone)
			assert.Contains(t, r.Message, c.text)
		})
	}
}

// An exchange that is carried out behind another one undoes it.
func TestNoExchangeIsAskedForBehindAnother(t *testing.T) {
	for _, kind := range []model.ActionKind{model.ActionPrepareSwap, model.ActionSwapTables, model.ActionDropCopy, model.ActionDropKept} {
		s := pair(func(r map[string][][][]string) {
			r["LIKE '%alter%cluster%swap%'"] = [][][]string{{{"ALTER CLUSTER SWAP TABLE x.a TO doc.a"}}}
		})
		_, err := execute.Run(t.Context(), replacing(kind), backupTools(s, &listing{}))
		require.ErrorContains(t, err, "still works on an earlier ALTER CLUSTER SWAP TABLE", kind)
		assert.Empty(t, s.sentAs("ALTER"))
		assert.Empty(t, s.sentAs("DROP"))
	}
}

// With stats.enabled = false sys.jobs is empty whatever CrateDB works on.
func TestNothingIsAskedForBehindWhatCrateDBDoesNotShow(t *testing.T) {
	for _, a := range []model.Action{
		replacing(model.ActionPrepareSwap), replacing(model.ActionSwapTables), replacing(model.ActionDropCopy), replacing(model.ActionDropKept),
		everything(restoring(model.ActionRestoreTables, "doc.a,doc.b")), onTrial(model.ActionDropFetched, "doc.a"),
	} {
		s := pair(nil)
		s.hidesJobs = true
		_, err := execute.Run(t.Context(), a, backupTools(s, &listing{}))
		require.ErrorIs(t, err, execute.ErrJobsHidden, a.Kind)
		for _, begin := range []string{"ALTER", "DROP", "RESTORE"} {
			assert.Empty(t, s.sentAs(begin), a.Kind)
		}
	}
}
