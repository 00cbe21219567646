package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

const keptName = "stevedore_replaced_0a1b2c_doc.a"

// withCopy is a world with a snapshot, and a whole copy of its table that somebody wants in its place.
func withCopy(t *testing.T) *world {
	t.Helper()
	w := withDrill(t)
	w.schedule.Start.Replaces = true
	w.removeTable(w.tables[1].name)
	require.NoError(t, w.restoreTables([]string{"RESTORE SNAPSHOT ", w.known[0].name, ".", triedName, " TABLE ", "doc", ".", "a", " WITH (schema_rename_replacement = 'stevedore_replaced_0a1b2c_$1')"}, false))
	w.advance(w.now + 30*second)
	require.True(t, w.tableNamed(keptName).came)
	w.judge.exchanged = exchanged{asked: map[string]int{"doc.a": 1}, done: map[string]int{}, drops: map[string]int{}}
	d := w.daemons[0]
	d.readAt, d.acted, d.checked = w.now, w.now, w.now
	return w
}

// Each situation is one that a daemon must never bring about.
func TestTheJudgeOfReplacedTablesNotices(t *testing.T) {
	swap := func(w *world) { _ = w.swapTables(w.daemons[0], keptName, "doc.a") }
	drop := func(w *world) { w.judge.dropsTable(w, w.daemons[0], keptName) }
	for _, c := range []struct {
		name, invariant string
		breach          func(w *world)
	}{
		{"nobody has asked for it", "D", func(w *world) { w.judge.exchanged.asked["doc.a"] = 0; swap(w) }},
		{"it is done twice", "D", func(w *world) { swap(w); w.advance(w.now + 30*second); w.daemons[0].acted = w.now; swap(w) }},
		{"a shard of what takes the place is not there", "D", func(w *world) {
			for i := range w.shards {
				if w.tables[w.shards[i].table].name == keptName {
					w.shards[i].copies = nil
				}
			}
			swap(w)
		}},
		{"an operation is under way", "drill", func(w *world) {
			w.stored.record.Operation = &model.Operation{Kind: model.OperationRestart}
			w.daemons[0].view.version[kindRecord] = w.stored.version
			swap(w)
		}},
		{"what was there before is dropped", "D", func(w *world) { swap(w); drop(w) }},
		{"what was there before is dropped, and the other one is gone", "D", func(w *world) {
			swap(w)
			w.judge.exchanged.drops["doc.a"] = 1
			w.removeTable("doc.a")
			drop(w)
		}},
		{"what was there before is dropped, and somebody has dropped the other one since the last look", "", func(w *world) {
			swap(w)
			w.judge.exchanged.drops["doc.a"], w.judge.disturbed = 1, w.now
			w.removeTable("doc.a")
			drop(w)
		}},
		{"an operation begins meanwhile", "drill", func(w *world) {
			w.stored.record.Operation = &model.Operation{Kind: model.OperationRestart}
			w.stored.record.Backups.Fetch = &model.Fetch{Step: model.FetchSwap, Sent: true, Since: w.now.time()}
			w.judge.recordsDrills(w, w.daemons[0], true)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := withCopy(t)
			found := broken(func() { c.breach(w) })
			if c.invariant == "" {
				assert.Nil(t, found)
				return
			}
			require.NotNil(t, found)
			assert.Equal(t, c.invariant, found.Invariant)
		})
	}
	w := withCopy(t)
	require.Nil(t, broken(func() { swap(w) }), "who has asked for it gets it")
	w.advance(w.now + 30*second)
	assert.Contains(t, w.judge.keptLack(w), "the record does not know of it")
	w.stored.record.Backups.Kept = []model.KeptTable{{Table: "doc.a", Name: keptName}}
	assert.Empty(t, w.judge.keptLack(w))
	w.judge.exchanged.drops["doc.a"] = 1
	w.daemons[0].acted, w.daemons[0].readAt = w.now, w.now
	require.Nil(t, broken(func() { drop(w) }), "and whose word it is that what is kept goes")
}

// Replacements are not made good by what nobody judges: each of their ends comes.
func TestReplacementsEndInEachWay(t *testing.T) {
	ways := map[string]int{}
	for seed := uint64(exchanging); seed < exchanging+500; seed++ {
		s := NewSchedule(seed)
		if !s.Start.Replaces {
			continue
		}
		w := newWorld(&s, nil, nil)
		require.Nil(t, broken(func() { w.run() }), "make replay SEED=%d", seed)
		for _, q := range w.delivered {
			ways[q.reason]++
		}
	}
	for _, reason := range []string{"TableReplaced", "TableBroughtBack", "KeptTableDropped", "TablesNotRestored"} {
		assert.Positive(t, ways[reason], reason)
	}
}
