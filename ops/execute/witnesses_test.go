package execute_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// What is dropped or exchanged for good rests on what two nodes show: one that has not applied the last state of the
// cluster shows the names, and the health, of before.
func TestNoTableIsDroppedNorExchangedOnTheWordOfOneNode(t *testing.T) {
	before := [][]string{{"doc", pathOf("original"), "EMPTY_STORE"}, {keptDoc, pathOf("copy"), "SNAPSHOT"}}
	after := [][]string{{"doc", pathOf("copy"), "EXISTING_STORE"}, {keptDoc, pathOf("original"), "EXISTING_STORE"}}
	whole := [][]string{{"doc", "0", "0"}, {keptDoc, "0", "0"}}
	red := [][]string{{"doc", "1", "0"}, {keptDoc, "0", "0"}}
	node := func(paths, health, unfinished [][]string) map[string][][][]string {
		return map[string][][][]string{
			"path, recovery": {paths}, "sum(missing_shards)": {health}, "number_of_replicas FROM": {{{"doc", "1"}, {keptDoc, "1"}}},
			"missing_shards > 0": {unfinished}, "class = 'TABLE'": {nil}, "FROM sys.jobs": {nil}, "SELECT count(*)": {{{"3"}}}, "FROM sys.nodes": {{{"n0"}, {"n1"}, {"n2"}}},
		}
	}
	come, lost := [][]string(nil), [][]string{{"doc", "a"}}
	for _, c := range []struct {
		name          string
		kind          model.ActionKind
		first, second map[string][][][]string
		none, unknown bool // no second pod is named; the index is not known, for the record was lost
		done          bool
		err           string
	}{
		{"a copy, as both show it", model.ActionDropCopy, node(before, whole, come), node(before, whole, come), false, false, true, ""},
		{"a copy, and the one that is asked first is behind", model.ActionDropCopy, node(before, whole, come), node(after, whole, come), false, false, false, "one is behind"},
		{"a copy, and the other is behind", model.ActionDropCopy, node(after, whole, come), node(before, whole, come), false, false, false, "one is behind"},
		{"a copy that has taken the place", model.ActionDropCopy, node(after, whole, come), node(after, whole, come), false, false, false, ""},
		{"a copy, and no other node can be asked", model.ActionDropCopy, node(before, whole, come), nil, true, false, false, "the cluster has 3 nodes"},
		{"a copy of which the record was lost", model.ActionDropCopy, node(before, whole, come), node(before, whole, come), false, true, true, ""},
		{"the same, and one is behind", model.ActionDropCopy, node(before, whole, come), node(after, whole, come), false, true, false, "one is behind"},
		{"what is kept, as both show it", model.ActionDropKept, node(after, whole, come), node(after, whole, come), false, false, true, ""},
		{"what is kept, and by one the other has lost a shard", model.ActionDropKept, node(after, whole, come), node(after, red, come), false, false, false, "one is behind"},
		{"what is kept, and by one it is the other table", model.ActionDropKept, node(after, whole, come), node(before, whole, come), false, false, false, "one is behind"},
		{"what is kept, and no other node can be asked", model.ActionDropKept, node(after, whole, come), nil, true, false, false, "the cluster has 3 nodes"},
		{"a table that has not come, as both show it", model.ActionDropFetched, node(before, whole, lost), node(before, whole, lost), false, false, true, ""},
		{"a table that has come by one", model.ActionDropFetched, node(before, whole, lost), node(before, whole, come), false, false, false, "one is behind"},
		{"the same, and no other node can be asked", model.ActionDropFetched, node(before, whole, lost), nil, true, false, false, "the cluster has 3 nodes"},
		{"names, as both show them", model.ActionSwapTables, node(before, whole, come), node(before, whole, come), false, false, true, ""},
		{"names that are exchanged already, and one is behind", model.ActionSwapTables, node(before, whole, come), node(after, whole, come), false, false, false, "one is behind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, a := newScript("system/real"), replacing(c.kind)
			s.replies, s.second, a.Second = c.first, c.second, "q"
			if c.kind == model.ActionSwapTables { // as it is shown once it is done
				s.replies = maps.Clone(c.first)
				s.replies["path, recovery"] = append(c.first["path, recovery"], after)
			}
			if c.kind == model.ActionDropFetched {
				a.Schema = ""
			}
			if c.none {
				a.Second = ""
			}
			if c.unknown {
				a.Index = ""
			}
			_, err := execute.Run(t.Context(), a, backupTools(s, &listing{}))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
			} else {
				require.NoError(t, err)
			}
			assert.Equal(t, c.done, len(s.sentAs("DROP TABLE"))+len(s.sentAs("ALTER CLUSTER SWAP")) == 1)
		})
	}
}

// A cluster of one node is asked once: what that shows it has published itself. The second way of knowing that the copy
// has not taken the place is then the record, or how its shards came.
func TestInAClusterOfOneNodeTheRecordSaysWhetherNamesWereExchanged(t *testing.T) {
	for _, c := range []struct {
		name, came  string
		tried, done bool
	}{
		{"nobody has asked for an exchange", "EXISTING_STORE", false, true},
		{"it was asked for, and a primary came from a snapshot", "SNAPSHOT", true, true},
		{"it was asked for, and all shards have started again since", "EXISTING_STORE", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := pair(func(r map[string][][][]string) {
				r["path, recovery"] = [][][]string{{{"doc", pathOf("original"), "EXISTING_STORE"}, {keptDoc, pathOf("copy"), c.came}}}
			})
			a := replacing(model.ActionDropCopy)
			a.Tried = c.tried
			r, err := execute.Run(t.Context(), a, backupTools(s, &listing{}))
			require.NoError(t, err)
			assert.Equal(t, c.done, len(s.sentAs("DROP TABLE")) == 1)
			assert.Equal(t, c.done, r.Code == model.ResultDone)
		})
	}
}
