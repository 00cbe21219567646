package ops_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/fetch"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// asksFor is a cluster of which a person asks for tables of the newest snapshot.
func asksFor(t *testing.T, schema string, tables ...string) *world {
	w := drilledWorld(t, func(b *definition.Backups) { b.Drill = nil })
	w.commands.FetchAt = model.FetchCommand{At: w.now, Schema: schema, Tables: tables}.String()
	return w
}

// calmed runs passes until nothing is being restored.
func (w *world) calmed() model.Decision {
	w.t.Helper()
	w.until(func() bool {
		return w.record.Backups.FetchCommand == w.commands.FetchAt && w.record.Backups.Fetch == nil
	})
	return w.calm(60)
}

func TestTablesAreRestoredForAPerson(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		lost         string
		there        []string
	}{
		{"under another schema", "old", "", []string{"old.t3", "old.t4"}},
		{"one that was dropped, under its own name", "", "doc.t3", []string{"doc.t3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tables := []string{"doc.t3", "doc.t4"}[:len(c.there)]
			w := asksFor(t, c.schema, tables...)
			delete(w.operations, c.lost)
			d := w.calmed()
			assert.Equal(t, model.Done, d.Verdict)
			assert.ElementsMatch(t, c.there, w.tableNames())
			assert.Empty(t, w.dropped)
			assert.Equal(t, 1, reported(w, "TablesRestored"))
			assert.Empty(t, w.record.Backups.Fetched.Failed)
			assert.Equal(t, len(c.there), w.record.Backups.Fetched.Done)

			w.ahead(time.Hour)
			w.calm(60)
			assert.Len(t, w.restores, 1, "a command is carried out once")
		})
	}
}

// What a restore has not made is never touched, and what it has made and is not whole does not stay.
func TestARestoreOfTablesThatFailsLeavesNothingRed(t *testing.T) {
	for _, c := range []struct {
		name   string
		schema string
		tables []string
		edit   func(w *world)
		text   string
		there  []string
	}{
		{"a table of that name is there", "", []string{"doc.t3"}, func(*world) {}, "already exists", nil},
		{"the snapshot has no such table", "old", []string{"doc.nine"}, func(*world) {}, "has no table doc.nine", nil},
		{"one of two cannot be fetched", "old", []string{"doc.t3", "doc.t4"}, func(w *world) { w.unfetchable = map[string]int{"doc.t4": 1} }, "doc.t4: it could not be fetched", []string{"old.t3"}},
		{"the disks are full", "old", []string{"doc.t3"}, func(w *world) { w.diskUse = new(int64(1 << 30)) }, "no room: it has 1.0 MiB, and 0 B are free below the low watermark", nil},
		{"two of them would have one name", "old", []string{"doc.t3", "doc.t3"}, func(*world) {}, "two of the tables would be old.t3", nil},
		{"there is no such snapshot", "old", []string{"doc.t3"}, func(w *world) {
			w.commands.FetchAt = model.FetchCommand{At: w.now, Snapshot: "stevedore-often-1", Schema: "old", Tables: []string{"doc.t3"}}.String()
		}, "has no snapshot stevedore-often-1", nil},
		{"the command is none", "old", []string{"doc.t3"}, func(w *world) { w.commands.FetchAt = "tomorrow" }, "is no command", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := asksFor(t, c.schema, c.tables...)
			c.edit(w)
			d := w.calmed()
			assert.Equal(t, model.Done, d.Verdict)
			assert.ElementsMatch(t, c.there, w.tableNames())
			assert.Len(t, w.restored, len(c.there))
			assert.Len(t, w.operations, 25)
			said := w.record.Backups.Fetched.Failed + messageOf(w, "RestoreCommandVoid")
			assert.Contains(t, said, c.text)
			if w.record.Backups.Fetched.Failed != "" {
				assert.Contains(t, reasons(d.Waits), gates.TablesNotRestoredRule.Name)
			}
		})
	}
}

func TestWhatIsDesiredWaitsForTablesThatAPersonAskedForAndNotForEver(t *testing.T) {
	t.Run("a snapshot, which could not have them", func(t *testing.T) {
		w := asksFor(t, "old", "doc.t3")
		w.needs = 1_000_000
		w.drilling()
		w.now = time.Date(2026, 3, 5, 12, 0, 1, 0, time.UTC)
		d := afterPasses(t, w, 10)
		assert.Contains(t, reasons(d.Waits), gates.BackupWaitsRule.Name)
		assert.Len(t, w.taken(), 1)
		w.restored["old.t3"] = 1
		w.until(func() bool { return len(w.taken()) == 2 })
	})
	w := asksFor(t, "old", "doc.t3")
	w.needs = 1_000_000
	w.drilling()
	w.desired.Sets[0].Replicas, w.desired.Revision = 4, "rev-4"
	d := afterPasses(t, w, 20)
	assert.Contains(t, reasons(d.Waits), gates.RestoreFirstRule.Name)
	assert.Nil(t, w.record.Operation)
	assert.Contains(t, reasons(d.Waits), gates.TablesRestoredRule.Name)
	assert.NotEmpty(t, w.restored)
	w.ahead(w.desired.Backups.MaxDelay)
	w.until(func() bool { return w.record.Operation != nil })
	assert.NotEmpty(t, w.restored, "they go on coming")

	w.restored["old.t3"] = 1
	w.until(func() bool { return w.record.Backups.Fetch == nil })
	assert.Equal(t, []string{"old.t3"}, w.tableNames())
}

// A table may have come and lost its shards with a node, which brings them back.
func TestNothingIsDroppedWhileANodeIsAway(t *testing.T) {
	w := asksFor(t, "old", "doc.t3")
	w.unfetchable = map[string]int{"doc.t3": 1}
	w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchDrop })
	w.pods[hot+"-1"].away = 10
	afterPassesOf(w, 8)
	assert.Empty(t, w.dropped)
	w.calmed()
	assert.Equal(t, []string{"old.t3"}, w.dropped)
}

// Seed 6000032865: the node that was away waited for an upgrade, which waited for a snapshot, and that for the restore.
func TestARestoreThatWaitsForANodeThatIsAwaySaysHowItEnds(t *testing.T) {
	for _, away := range []int{1000, 0} {
		w := asksFor(t, "old", "doc.t3")
		w.unfetchable = map[string]int{"doc.t3": 1}
		w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchRunning })
		w.pods[hot+"-1"].away = away
		said := false
		for range 8 {
			d, err := w.pass()
			require.NoError(t, err)
			said = said || slices.ContainsFunc(d.Waits, func(r model.Reason) bool {
				return strings.Contains(r.Message, "until you end it with `stevedore abort`")
			})
		}
		assert.Equal(t, away > 0, said)
	}
}

// Seed 4200005086: the node of the only copy had joined again, and its shard had not started yet.
func TestATableIsNotDroppedRightAfterItsNodeHasJoinedAgain(t *testing.T) {
	w := asksFor(t, "old", "doc.t3")
	w.unfetchable = map[string]int{"doc.t3": 1}
	w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchDrop })
	w.pods[hot+"-1"].away = 10
	w.until(func() bool { return w.pods[hot+"-1"].away == 0 })
	joined := w.now
	w.until(func() bool { return len(w.dropped) > 0 })
	assert.GreaterOrEqual(t, w.now.Sub(joined), fetch.Suspected)
}

func TestASnapshotThatIsBeingRestoredIsNotDropped(t *testing.T) {
	w := asksFor(t, "old", "doc.t3")
	w.needs = 1_000_000
	w.drilling()
	of := w.newestTaken().Name
	later := *w.newestTaken()
	for i := range 5 {
		later.Name = model.SnapshotName("often", w.now.Add(time.Duration(i)*time.Minute))
		later.Finished = later.Finished.Add(time.Minute)
		w.record.Backups.Taken = append(w.record.Backups.Taken, later)
		for _, r := range w.repositories {
			r.snapshots = append(r.snapshots, &toySnapshot{name: later.Name, state: model.SnapshotSuccess, what: "ALL", finished: later.Finished})
		}
	}
	w.desired.Backups.Schedules[0].Keep, w.desired.Backups.KeepAtLeast, w.desired.Revision = 1, 1, "rev-2"
	afterPasses(t, w, 30)
	assert.Len(t, w.record.Backups.Taken, 2, "the newest, and the one that is being restored")
	assert.Equal(t, of, w.record.Backups.Taken[0].Name)
}

func TestARestoreOfTablesSurvivesAKill(t *testing.T) {
	for kill := 1; kill <= 10; kill++ {
		t.Run(fmt.Sprintf("at write %d", kill), func(t *testing.T) {
			w := asksFor(t, "old", "doc.t3", "doc.t4")
			w.killAt, w.after = w.writes+kill, kill%2 == 0
			afterPassesOf(w, 40)
			require.Nil(t, w.record.Backups.Fetch)
			require.ElementsMatch(t, []string{"old.t3", "old.t4"}, w.tableNames())
			assert.Empty(t, w.record.Backups.Fetched.Failed)
		})
	}
}

func TestACommandForADrillTriesASnapshotAtOnce(t *testing.T) {
	w := drilledWorld(t, func(b *definition.Backups) { b.Drill = nil })
	w.commands.FetchAt = model.FetchCommand{At: w.now, Drill: true}.String()
	w.calmed()
	assert.True(t, w.newestTaken().Proof.Whole())
	assert.Empty(t, w.restored)
	assert.Equal(t, 25, w.record.Backups.Fetched.Done)
}

// No pod goes while a table is red: an operation that has begun would wait for it for ever.
func TestTablesThatDidNotComeAreDroppedDuringAnOperation(t *testing.T) {
	w := asksFor(t, "old", "doc.t3")
	w.needs = 1_000_000
	w.drilling()
	w.template, w.desired.Revision = "t2", "rev-t2"
	w.desired.Operations.StableFor = 90 * time.Second
	afterPasses(t, w, 10)
	w.ahead(w.desired.Backups.MaxDelay)
	w.until(func() bool { return w.record.Operation != nil })
	w.restored["old.t3"] = -1
	w.until(func() bool { return len(w.dropped) > 0 })
	assert.NotNil(t, w.record.Operation)
	assert.Empty(t, w.restored)
}

// An earlier restore has made it: this one neither has it nor drops it, whole or not.
func TestATableOfAnEarlierRestoreIsNotTakenForThisOne(t *testing.T) {
	for name, lacks := range map[string]int{"whole": 0, "with a shard that is away": -1} {
		t.Run(name, func(t *testing.T) {
			w := asksFor(t, "old", "doc.t3")
			w.restored = map[string]int{"old.t3": lacks}
			w.calmed()
			assert.Empty(t, w.dropped)
			assert.Empty(t, w.restores)
			assert.Contains(t, w.record.Backups.Fetched.Failed, "old.t3 already exists")
			assert.Zero(t, reported(w, "TablesRestored"))
		})
	}
}

// What is not known is neither room nor none: a command would be given up for ever for what the next reading may say.
func TestTablesWaitWhileNobodyKnowsTheRoomOnTheDisks(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		hide, reveal func(w *world)
	}{
		{
			"CrateDB does not know the sizes of the disks", "the room on the disks of node crate-data-hot-c/0 is not known",
			func(w *world) { w.diskUse = new(int64(-1)) }, func(w *world) { w.diskUse = new(int64(1 << 28)) },
		},
		{
			"the settings of the allocation cannot be read", "the settings of the allocation are not known",
			func(w *world) { w.see = func(db *model.Database) { db.AllocationKnown = false } }, func(w *world) { w.see = nil },
		},
		{
			"the low watermark is none", "the low watermark 85 percent cannot be read",
			func(w *world) {
				w.diskUse, w.watermark = new(int64(1<<28)), "85 percent"
			},
			func(w *world) { w.watermark = "85%" },
		},
	} {
		for of, at := range map[string]func(t *testing.T) *world{
			"a restore": func(t *testing.T) *world { return asksFor(t, "old", "doc.t3") },
			"a drill":   func(t *testing.T) *world { return drilledWorld(t) },
		} {
			t.Run(c.name+", "+of, func(t *testing.T) {
				w := at(t)
				c.hide(w)
				d := afterPasses(t, w, 20)
				require.NotNil(t, w.record.Backups.Fetch)
				assert.Equal(t, model.FetchNext, w.record.Backups.Fetch.Step)
				assert.Empty(t, w.record.Backups.Fetch.Skipped)
				assert.Contains(t, messages(d.Waits), "it waits: "+c.text)
				assert.Empty(t, w.restores)
				c.reveal(w)
				w.until(func() bool { return w.record.Backups.Fetch == nil })
				assert.NotEmpty(t, w.restores)
				assert.Empty(t, w.record.Backups.Fetched.Failed)
			})
		}
	}
}

// losesAnswer ends the process when RESTORE SNAPSHOT was sent, after the record that says so.
func (w *world) losesAnswer() {
	w.t.Helper()
	w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchAsk })
	restores := len(w.restores)
	w.killAt, w.after = w.writes+2, true
	afterPassesOf(w, 1)
	require.Len(w.t, w.restores, restores+1)
	require.Equal(w.t, model.FetchAsk, w.record.Backups.Fetch.Step)
}

// The answer was lost, and a table of that name is there then: it may be what somebody else has restored meanwhile.
func TestNothingIsDroppedOfARestoreWhoseAnswerWasLost(t *testing.T) {
	w := asksFor(t, "old", "doc.t3")
	w.unfetchable = map[string]int{"doc.t3": 1}
	w.losesAnswer()
	w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchRunning })
	require.Len(t, w.restores, 2, "it was asked for again")
	d := w.calmed()
	assert.Empty(t, w.dropped)
	assert.Equal(t, map[string]int{"old.t3": -1}, w.restored)
	for _, said := range []string{messageOf(w, "TablesNotRestored"), messages(d.Waits)} {
		assert.Contains(t, said, "doc.t3: it could not be fetched")
		assert.Contains(t, said, "old.t3 stays, and is not whole")
		assert.Contains(t, said, `DROP TABLE "old"."t3"`)
	}

	t.Run("it is said as long as it is red", func(t *testing.T) {
		w.ahead(48 * time.Hour)
		assert.Contains(t, messages(w.calm(60).Waits), "old.t3 stays")
	})
	t.Run("also after another restore", func(t *testing.T) {
		w.commands.FetchAt = model.FetchCommand{At: w.now, Schema: "new", Tables: []string{"doc.t4"}}.String()
		assert.Contains(t, messages(w.calmed().Waits), "old.t3 stays")
		assert.Empty(t, w.record.Backups.Fetched.Failed)
	})
	t.Run("no more when a person has dropped it", func(t *testing.T) {
		delete(w.restored, "old.t3")
		assert.Empty(t, reasons(w.calm(60).Waits))
	})
}

// The answer was lost, and then CrateDB refuses the same: what is there may be what the lost statement has made.
func TestTheTableOfALostAnswerIsNamedThoughItIsRefusedThen(t *testing.T) {
	w := asksFor(t, "old", "doc.t3")
	w.unfetchable = map[string]int{"doc.t3": 1}
	w.losesAnswer()
	w.refused = map[string]string{"doc.t3": "could not read repository data"}
	d := w.calmed()
	assert.Empty(t, w.dropped)
	for _, said := range []string{messageOf(w, "TablesNotRestored"), messages(d.Waits)} {
		assert.Contains(t, said, "could not read repository data")
		assert.Contains(t, said, "old.t3 stays, and is not whole")
	}
}

// What comes after it was asked for and answered: of that is dropped what does not come.
func TestOnlyTheTablesOfTheLostAnswerStay(t *testing.T) {
	tables := []string{"doc.t10"}
	for i := range 10 {
		tables = append(tables, fmt.Sprintf("doc.t%d", i))
	}
	w := asksFor(t, "old", tables...)
	w.unfetchable = map[string]int{"doc.t3": 1, "doc.t9": 1} // ten come at a time: t9 is the last
	w.losesAnswer()
	w.calmed()
	assert.Equal(t, []string{"old.t9"}, w.dropped)
	assert.Equal(t, -1, w.restored["old.t3"])
}

// The reading in which it turns out leaves the table out still: what comes next would be decided as if it were not there.
func TestASnapshotAfterATableThatStaysKnowsOfIt(t *testing.T) {
	w := asksFor(t, "old", "doc.t3")
	w.unfetchable = map[string]int{"doc.t3": 1}
	w.losesAnswer()
	w.now = time.Date(2026, 3, 5, 12, 0, 1, 0, time.UTC)
	stale := true
	w.see = func(db *model.Database) {
		if stale {
			db.Hidden = []string{"old.t3"}
		}
	}
	w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchDrop })
	afterPasses(t, w, 5)
	assert.NotNil(t, w.record.Backups.Fetch)
	assert.Nil(t, w.record.Backups.Running)
	stale = false
	w.until(func() bool { return w.record.Backups.Running != nil })
}

// CrateDB shows a table that is denied to `system` in no view: it may be there, whole or red.
func TestATableThatIsDeniedToSystemIsNeitherLostNorDropped(t *testing.T) {
	for _, c := range []struct {
		name   string
		denial model.Denial
		step   model.FetchStep
	}{
		{"while it comes", model.Denial{Grantee: "system", Privilege: "DQL", Class: "TABLE", Ident: "old.t3"}, model.FetchRunning},
		{"its schema, while it comes", model.Denial{Grantee: "system", Privilege: "DQL", Class: "SCHEMA", Ident: "old"}, model.FetchRunning},
		{"everything, while it comes", model.Denial{Grantee: "system", Privilege: "DQL", Class: "CLUSTER"}, model.FetchRunning},
		{"before it is dropped", model.Denial{Grantee: "system", Privilege: "DQL", Class: "TABLE", Ident: "old.t3"}, model.FetchDrop},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := asksFor(t, "old", "doc.t3")
			w.unfetchable = map[string]int{"doc.t3": 1}
			w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == c.step })
			w.see = func(db *model.Database) {
				db.Denied = []model.Denial{c.denial, {Grantee: "system", Privilege: "DQL", Class: "TABLE", Ident: "old.other"}}
				hides := func(name string) bool { return name == "old.t3" }
				db.Restore.Tables, db.Restore.Missing = slices.DeleteFunc(db.Restore.Tables, hides), slices.DeleteFunc(db.Restore.Missing, hides)
			}
			d := afterPasses(t, w, 20)
			require.NotNil(t, w.record.Backups.Fetch)
			assert.Equal(t, c.step, w.record.Backups.Fetch.Step)
			assert.Contains(t, messages(d.Waits), "is denied to system")
			assert.Empty(t, w.dropped)
			w.see = nil
			w.calmed()
			assert.Equal(t, []string{"old.t3"}, w.dropped)
		})
	}
	t.Run("a denial of another table is in no way", func(t *testing.T) {
		w := asksFor(t, "old", "doc.t3")
		w.see = func(db *model.Database) {
			db.Denied = []model.Denial{{Grantee: "system", Privilege: "DQL", Class: "TABLE", Ident: "old.other"}}
		}
		w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchRunning })
		w.until(func() bool { return w.record.Backups.Fetch == nil })
		assert.Equal(t, []string{"old.t3"}, w.tableNames())
	})
}
