package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

const triedName = oursPrefix + "often-20260102t030500z"

// withDrill is a world with a snapshot, and a table of a drill of it that came.
func withDrill(t *testing.T) *world {
	t.Helper()
	w := withBackups(t)
	w.schedule.Start.Drills, w.schedule.Start.Comes = true, second
	w.commits[w.daemons[0].want].backups.Drill = &definition.Drill{Cron: "0 0 * * *"}
	f := w.folderOf(w.known[0].folder)
	f.snapshots = append(f.snapshots, snapshotTaken{name: triedName, state: model.SnapshotSuccess, ended: w.now, tables: []string{"doc.a"}, of: []taken{w.copiesTable(0)}})
	require.NoError(t, w.restoreTables([]string{"RESTORE SNAPSHOT ", w.known[0].name, ".", triedName, " TABLE ", "doc", ".", "a", " WITH (schema_rename_replacement = '" + scratchSchema + "0123456789ab_$1')"}, false))
	w.advance(w.now + 30*second)
	require.True(t, w.tables[1].came)
	d := w.daemons[0]
	d.readAt, d.acted, d.checked = w.now, w.now, w.now
	return w
}

// Each situation is one that a daemon must never bring about.
func TestTheJudgeOfDrillsNotices(t *testing.T) {
	says := func(w *world) {
		w.judge.saysDrills(w, w.daemons[0], &model.Report{Reason: "SnapshotProven", Message: "snapshot " + triedName + " is proven"})
	}
	for _, c := range []struct {
		name, invariant string
		breach          func(w *world)
	}{
		{"a table that no restore has made is dropped", "D", func(w *world) { w.judge.dropsTable(w, w.daemons[0], "doc.a") }},
		{"a table that somebody asked for and that came is dropped", "D", func(w *world) {
			w.tables[1].drill = false
			w.judge.dropsTable(w, w.daemons[0], w.tables[1].name)
		}},
		{"the last proven snapshot is dropped", "D", func(w *world) {
			w.judge.provenOnes = []string{triedName}
			w.judge.dropsProven(w, &w.commits[w.daemons[0].want], w.known[0].name, triedName)
		}},
		{"an operation begins while tables of a drill are there", "drill", func(w *world) {
			w.stored.record.Operation = &model.Operation{Kind: model.OperationRestart}
			w.judge.recordsDrills(w, w.daemons[0], true)
		}},
		{"something waits for long for a drill", "drill", func(w *world) {
			w.stored.record.Backups.Due.Schedule = "often"
			for range 20 {
				w.now += 10 * second
				w.judge.starves(w, w.daemons[0])
			}
		}},
		{"the health is red because of what is restored", "drill", func(w *world) {
			w.failsFetch(&w.shards[len(w.shards)-1])
			w.daemons[0].view.version[kindRecord] = w.stored.version
			w.judge.reads(w, w.daemons[0], &model.Database{Contact: model.Yes, Health: model.Health{Colour: model.Red}})
		}},
		{"the health is red because of what the store has held, and the record was lost meanwhile", "", func(w *world) {
			w.failsFetch(&w.shards[len(w.shards)-1])
			w.tables[1].held, w.judge.lostRecord, w.stored.record.Backups.Fetch = true, w.tables[1].made-30*second, nil
			w.daemons[0].view.version[kindRecord] = w.stored.version
			w.judge.reads(w, w.daemons[0], &model.Database{Contact: model.Yes, Health: model.Health{Colour: model.Red}})
		}},
		{"the same of a table that somebody asked for, while what is found is looked at", "", func(w *world) {
			w.failsFetch(&w.shards[len(w.shards)-1])
			w.tables[1].held, w.tables[1].drill, w.tables[1].came, w.judge.lostRecord = true, false, false, w.tables[1].made-30*second
			w.stored.record.Backups.Fetch = &model.Fetch{}
			w.daemons[0].view.version[kindRecord] = w.stored.version
			w.judge.reads(w, w.daemons[0], &model.Database{Contact: model.Yes, Health: model.Health{Colour: model.Red}})
		}},
		{"a snapshot is called proven of which a table never came", "F", func(w *world) {
			w.judge.came = nil
			says(w)
		}},
		{"a snapshot is called proven of which a table lacks rows", "F", func(w *world) {
			w.folderOf(w.known[0].folder).snapshots[0].of[0].flaw = lacksRows
			says(w)
		}},
		{"a table without rows lacks none", "", func(w *world) {
			of := &w.folderOf(w.known[0].folder).snapshots[0].of[0]
			of.flaw, of.operations = lacksRows, 0
			says(w)
		}},
		{"tables are called restored that are not there", "F", func(w *world) {
			w.judge.restored(w, w.daemons[0], &model.Fetch{Schema: "old", Command: model.FetchCommand{At: epoch, Schema: "old", Tables: []string{"doc.a"}}.String()})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := withDrill(t)
			v := broken(func() { c.breach(w) })
			requireViolation(t, v, c.invariant, c.invariant != "")
		})
	}
	w := withDrill(t)
	require.Nil(t, broken(func() {
		says(w)
		w.judge.dropsTable(w, w.daemons[0], w.tables[1].name)
	}))
	assert.NotEmpty(t, w.judge.drillsLack(w))
	w.removeTable(w.tables[1].name)
	assert.Empty(t, w.judge.drillsLack(w))
}

// Drills are not made good by what nobody judges: each of their ends comes, and restores of tables do.
func TestDrillsEndInEachWay(t *testing.T) {
	ways := map[string]int{}
	for seed := uint64(drilling); seed < drilling+300; seed++ {
		s := NewSchedule(seed)
		if !s.Start.Drills {
			continue
		}
		w := newWorld(&s, nil, nil)
		require.Nil(t, broken(func() { w.run() }), "make replay SEED=%d", seed)
		for _, q := range w.delivered {
			ways[q.reason]++
		}
	}
	for _, reason := range []string{"SnapshotProven", "SnapshotTried", "DrillFailed", "TablesRestored", "TablesNotRestored"} {
		assert.Positive(t, ways[reason], reason)
	}
}
