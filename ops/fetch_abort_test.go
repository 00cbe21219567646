package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

const aborted = "it was aborted"

func TestAnAbortEndsADrill(t *testing.T) {
	for _, c := range []struct {
		name  string
		until func(w *world) bool
	}{
		{"before its tables are known", func(w *world) bool { return w.record.Backups.Fetch != nil }},
		{"before the first table is asked for", func(w *world) bool {
			return w.record.Backups.Fetch != nil && w.record.Backups.Fetch.Step == model.FetchAsk
		}},
		{"while tables come", func(w *world) bool { return len(w.restored) > 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := drilledWorld(t)
			w.needs = 1_000_000
			w.until(func() bool { return c.until(w) })
			w.commands.Abort = "true"
			w.until(func() bool { return w.record.Backups.Fetch == nil })
			assert.Empty(t, w.restored)
			assert.Zero(t, w.newestTaken().Proof, "it says nothing of the snapshot")
			assert.Equal(t, 1, reported(w, "DrillEnded"))
			assert.Contains(t, messageOf(w, "DrillEnded"), aborted)

			w.needs = 2
			w.desired.Backups.Schedules = nil
			w.now = time.Date(2026, 3, 5, 12, 30, 1, 0, time.UTC)
			d := afterPasses(t, w, 10)
			assert.Nil(t, w.record.Backups.Fetch, "the next one waits until the abort is taken back")
			assert.Contains(t, reasons(d.Waits), gates.DrillWaitsRule.Name)
			assert.Contains(t, messages(d.Waits), "stevedore resume")
			assert.Equal(t, model.Done, d.Verdict)

			w.commands.Abort = ""
			w.until(func() bool { return w.newestTaken().Proof.Whole() })
		})
	}
}

func TestAnAbortEndsADrillOfACommandForGood(t *testing.T) {
	w := asksFor(t, "", "doc.t3")
	w.commands.FetchAt = model.FetchCommand{At: w.now, Drill: true}.String()
	w.needs = 1_000_000
	w.drilling()
	w.undroppable = true
	w.commands.Abort = "true"
	afterPassesOf(w, 5)
	w.commands.Abort = "" // taken back before its tables could be dropped
	afterPassesOf(w, 5)
	w.undroppable = false
	w.calmed()
	assert.Empty(t, w.restored)
	assert.Equal(t, aborted, w.record.Backups.Fetched.Failed)
}

// What has come is whole, and stays. What has not is dropped.
func TestAnAbortEndsARestoreOfTables(t *testing.T) {
	w := asksFor(t, "old", "doc.t3", "doc.t4")
	w.needs = 1_000_000
	w.drilling()
	w.restored["old.t3"] = 1
	afterPasses(t, w, 2)
	w.commands.Abort = "true"
	d := w.calmed()
	assert.Equal(t, []string{"old.t4"}, w.dropped)
	assert.Equal(t, []string{"old.t3"}, w.tableNames())
	assert.Equal(t, aborted, w.record.Backups.Fetched.Failed)
	assert.Equal(t, 1, w.record.Backups.Fetched.Done)
	assert.Contains(t, messageOf(w, "TablesNotRestored"), "1 of 2 table(s)")
	assert.Contains(t, messages(d.Waits), aborted)

	t.Run("and one that is asked for then ends at once", func(t *testing.T) {
		w.now = w.now.Add(time.Minute)
		w.commands.FetchAt = model.FetchCommand{At: w.now, Schema: "new", Tables: []string{"doc.t3"}}.String()
		w.calmed()
		assert.Contains(t, w.record.Backups.Fetched.Failed, "`stevedore resume`")
		assert.Len(t, w.restores, 1)
	})
}

func TestAnAbortBeforeTablesAreAskedForTouchesNothing(t *testing.T) {
	w := asksFor(t, "old", "doc.t3")
	w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchAsk })
	w.commands.Abort = "true"
	w.calmed()
	assert.Empty(t, w.restores)
	assert.Equal(t, aborted, w.record.Backups.Fetched.Failed)
}

// Nobody knows whether its tables are there, or still come: that is found out first.
func TestAnAbortOfARestoreWhoseAnswerWasLostWaitsForIt(t *testing.T) {
	w := asksFor(t, "old", "doc.t3")
	w.needs = 1_000_000
	w.losesAnswer()
	w.commands.Abort = "true"
	w.calmed()
	assert.Empty(t, w.dropped, "it may be somebody else's")
	assert.Equal(t, "old.t3", w.record.Backups.Fetched.Stays)
	assert.True(t, slices.Contains(reasons(w.calm(60).Waits), gates.TablesNotRestoredRule.Name))
}

// The answer to its restore was lost, so that it may be somebody else's and was not dropped; then another table is replaced.
func TestATableThatStayedIsForgottenOnceItIsWhole(t *testing.T) {
	for _, c := range []struct {
		name  string
		sees  func(db *model.Database)
		stays string
	}{
		{"a shard has no primary", func(db *model.Database) { db.Restore.Missing = []string{"old.t4"} }, "old.t4"},
		{"only replicas are missing", func(*model.Database) {}, ""},
		{"it is not known which primaries are there", func(db *model.Database) { db.Restore = model.RestoreReading{} }, "old.t4"},
		{"the health of the tables is not known", func(db *model.Database) { db.Health = model.Health{} }, "old.t4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := replaces(t)
			w.until(func() bool { return w.record.Backups.Fetch != nil })
			w.record.Backups.Fetched = model.FetchOutcome{At: w.now, Stays: "old.t4"}
			w.see = func(db *model.Database) {
				db.Health.Tables = []string{"old.t4"}
				db.Restore.Tables = append(db.Restore.Tables, "old.t4")
				c.sees(db)
			}
			w.now = w.now.Add(time.Second)
			afterPasses(t, w, 3)
			require.NotNil(t, w.record.Backups.Fetch)
			assert.Equal(t, c.stays, w.record.Backups.Fetched.Stays)
		})
	}
}

// With nothing that is being restored it is forgotten too: people were to drop another table of its name, which had lost a shard.
func TestATableThatIsWholeIsNamedNoMoreOnceItLosesAShard(t *testing.T) {
	w := backedUpWorld(t)
	w.record.Backups.Fetched = model.FetchOutcome{At: w.now, Stays: "old.t4"}
	partly := []string{"old.t4"}
	w.see = func(db *model.Database) { db.Health.Tables = partly }
	w.now = w.now.Add(time.Second)
	assert.Contains(t, reasons(afterPasses(t, w, 1).Waits), gates.TablesNotRestoredRule.Name)
	partly = nil
	afterPasses(t, w, 1)
	partly = []string{"old.t4"}
	assert.NotContains(t, reasons(afterPasses(t, w, 1).Waits), gates.TablesNotRestoredRule.Name)
}

// The list of tables is one node's, which may be behind; the health shows the table.
func TestATableThatDidNotComeStaysWhereAnyViewShowsIt(t *testing.T) {
	for _, health := range []bool{true, false} {
		w := asksFor(t, "old", "doc.t3")
		w.unfetchable = map[string]int{"doc.t3": 1}
		w.losesAnswer()
		w.see = func(db *model.Database) {
			db.Restore.Tables, db.Restore.Missing = nil, nil
			if db.Health.Tables = nil; health && len(db.Hidden) == 0 {
				db.Health.Tables = []string{"old.t3"}
			}
		}
		w.calmed()
		assert.Equal(t, health, w.record.Backups.Fetched.Stays == "old.t3", "%q", w.record.Backups.Fetched.Stays)
	}
}
