package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// numbers are the last sequence numbers of a table's shards.
func numbers(t *Table) (out []int64) {
	for _, ix := range t.Indexes() {
		for _, s := range ix.Shards() {
			out = append(out, s.MaxSeqNo())
		}
	}
	return out
}

func TestEachOperationOnARowTakesOneSequenceNumberOfItsShard(t *testing.T) {
	b := newBackups(t, t.TempDir())
	tb := b.table(b.nodes[0], "t", 3, "0")
	ix := tb.Indexes()[0]
	require.Equal(t, []int64{-1, -1, -1}, numbers(tb))
	for _, row := range []struct {
		what string
		do   func()
		want []int64
	}{
		{"four rows are written", func() { b.nodes[0].Insert(ix, [][]any{{"a"}, {"b"}, {"c"}, {"d"}}) }, []int64{1, 0, 0}},
		{"two are changed", func() { b.nodes[0].Replace(ix, ix.Rows, 2) }, []int64{2, 1, 0}},
		{"two are deleted", func() { b.nodes[0].Replace(ix, ix.Rows[:2], 0) }, []int64{3, 1, 1}},
		{"a row is written", func() { b.nodes[0].Insert(ix, [][]any{{"e"}}) }, []int64{3, 1, 2}},
	} {
		row.do()
		require.Equal(t, row.want, numbers(tb), row.what)
		for _, s := range ix.Shards() {
			require.GreaterOrEqual(t, s.MaxSeqNo()+1, s.Docs(), row.what)
		}
	}
	b.taken("s", tb)
	b.nodes[0].Insert(ix, [][]any{{"f"}})
	_, err := b.nodes[0].Restore(RestoreSpec{Repository: "r", Name: "s", AllTables: true, TableReplacement: "u"})
	require.Nil(t, err)
	b.pass(time.Minute)
	require.Equal(t, []int64{3, 1, 2}, numbers(b.nodes[0].Table("doc", "u")), "as they were in the snapshot")
}

func TestATableThatIsSwappedBeforeItIsRestoredIsRedForGood(t *testing.T) {
	b := newBackups(t, t.TempDir())
	n := b.nodes[0]
	tb := b.rows("t", "0", "a", "b")
	b.taken("s", tb)
	limit := "0"
	require.Nil(t, n.SetGlobal(false, []Assignment{{"cluster.routing.allocation.node_initial_primaries_recoveries", &limit}}))
	_, err := n.Restore(RestoreSpec{Repository: "r", Name: "s", AllTables: true, SchemaReplacement: "x"})
	require.Nil(t, err)
	health, missing, _ := n.Table("x", "t").Indexes()[0].Health()
	require.Equal(t, Yellow, health, "it waits")
	require.Equal(t, 1, missing)

	require.Nil(t, n.SwapTables(n.Table("x", "t"), tb, false))
	require.Equal(t, "x.t", tb.FullName())
	require.Nil(t, n.ResetGlobal([]string{"cluster.routing.allocation.node_initial_primaries_recoveries"}))
	b.pass(time.Minute)
	health, missing, _ = n.Table("doc", "t").Indexes()[0].Health()
	require.Equal(t, Red, health)
	require.Equal(t, 1, missing)
	health, _, _ = tb.Indexes()[0].Health()
	require.Equal(t, Green, health, "what was there starts anew")
	require.Len(t, tb.Indexes()[0].Rows, 2)

	require.Nil(t, n.RestoresGate())
	require.Len(t, n.Restores(), 1, "the restore has not ended")
	require.Nil(t, n.DropTable(n.Table("doc", "t")))
	require.Empty(t, n.Restores())
}
