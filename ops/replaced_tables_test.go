package ops_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// replaces is a cluster of which a person wants table doc.t3 as the newest snapshot has it. 7 operations were done on it since.
func replaces(t *testing.T, edits ...func(c *model.FetchCommand)) *world {
	w := asksFor(t, "", "doc.t3")
	w.operations["doc.t3"] += 7
	c := model.FetchCommand{At: w.now, Verb: model.FetchReplace, Tables: []string{"doc.t3"}}
	for _, edit := range edits {
		edit(&c)
	}
	w.commands.FetchAt = c.String()
	return w
}

// A table that is kept may be red, and what is due waits for it: people have to know what it is.
func TestWhatIsKeptIsSaidWhateverElseWaits(t *testing.T) {
	w := replaces(t)
	w.calmed()
	for _, c := range []struct {
		name string
		so   func(s *situation)
	}{
		{"nothing", func(*situation) {}},
		{"a snapshot is being taken", func(s *situation) {
			b := *s.r.Backups
			b.Running = &model.RunningSnapshot{Name: "stevedore-nightly-20260306t020000z", Schedule: "nightly", Asked: s.o.At}
			s.r.Backups = &b
		}},
		{"the repository is to be changed, and an operation is under way", func(s *situation) {
			d := *s.d.Backups
			d.Repository.Base, s.d.Backups = "/elsewhere", &d
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Since: s.o.At}}
		}},
		{"nobody answers", func(s *situation) { s.o.Database = model.Database{Contact: model.No, At: s.o.At} }},
	} {
		s := &situation{d: w.desired, o: w.observe(), r: w.record}
		c.so(s)
		assert.Contains(t, reasons(s.decide().Waits), gates.TableKeptRule.Name, c.name)
	}
}

// then gives another command of a table that was replaced.
func (w *world) then(verb model.FetchVerb) {
	w.now = w.now.Add(time.Minute)
	w.commands.FetchAt = model.FetchCommand{At: w.now, Verb: verb, Tables: []string{"doc.t3"}}.String()
	w.calmed()
}

func TestATableIsReplacedByItsStateInASnapshot(t *testing.T) {
	w := replaces(t)
	kept := w.keptName("doc.t3")
	w.granted = []string{"ada DQL GRANT doc.t3", "bob DML DENY doc.t3"}
	d := w.calmed()
	assert.Equal(t, model.Done, d.Verdict)
	assert.Equal(t, int64(30), w.operations["doc.t3"], "as it was")
	assert.Equal(t, int64(37), w.came[kept], "the one before is kept")
	assert.Subset(t, w.granted, []string{"ada DQL GRANT doc.t3", "bob DML DENY doc.t3"}, "who may read it, may")
	assert.Empty(t, w.dropped)
	assert.Equal(t, 1, w.swaps)
	assert.Equal(t, 1, reported(w, "TableReplaced"))
	assert.Contains(t, messageOf(w, "TableReplaced"), "7 operation(s) (inserts, updates and deletes of rows) were done on it since the snapshot began")
	assert.Contains(t, messageOf(w, "TableReplaced"), "kept as "+kept)
	assert.Contains(t, reasons(d.Waits), gates.TableKeptRule.Name)
	w.ahead(30 * 24 * time.Hour)
	w.calm(200)
	assert.Empty(t, w.dropped, "nothing drops it by itself")

	w.then(model.FetchUndo)
	assert.Equal(t, int64(37), w.operations["doc.t3"], "taken back")
	assert.Equal(t, 2, w.swaps)
	assert.Equal(t, 1, reported(w, "TableBroughtBack"))
	told := w.reports[slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "TableBroughtBack" })].Message
	assert.Regexp(t, `is taken back: doc\.\w+ had \d+ row\(s\), and the one from before the restore has \d+$`, told, "it says nothing of the snapshot")
	assert.Contains(t, messages(w.calm(60).Waits), "as it was before its restore")
	w.then(model.FetchUndo)
	assert.Equal(t, int64(30), w.operations["doc.t3"], "and again")

	w.then(model.FetchDropKept)
	assert.Equal(t, []string{kept}, w.dropped)
	assert.Equal(t, []string{"doc.t3"}, w.originals, "by an explicit word")
	assert.Equal(t, 1, reported(w, "KeptTableDropped"))
	assert.Empty(t, w.record.Backups.Kept)
	assert.NotContains(t, reasons(w.calm(60).Waits), gates.TableKeptRule.Name)

	for _, verb := range []model.FetchVerb{model.FetchUndo, model.FetchDropKept} {
		w.then(verb)
		assert.Contains(t, w.record.Backups.Fetched.Failed, "there is no table "+kept)
	}
	assert.Equal(t, 3, w.swaps)
}

// A table that is kept may be all that there is of it, and it may not be known what there is.
func TestAKeptTableStaysWhereItIsNotKnownToBeOneOfTwo(t *testing.T) {
	kept := func(w *world) string { return w.keptName("doc.t3") }
	for _, c := range []struct {
		name string
		verb model.FetchVerb
		see  func(w *world, db *model.Database)
		text string
	}{
		{"it is not known which tables there are", model.FetchUndo, func(w *world, db *model.Database) { db.Restore.Known, db.Restore.Tables = false, nil }, "the tables are not known"},
		{"`system` may not see it (6420290169)", model.FetchDropKept, func(w *world, db *model.Database) {
			db.Denied = hiddenSchema
			db.Restore.Tables = slices.DeleteFunc(slices.Clone(db.Restore.Tables), func(name string) bool { return name == kept(w) })
		}, "user system may not see each table"},
		{"the privileges of `system` are not known", model.FetchUndo, func(w *world, db *model.Database) {
			db.DeniedKnown = false
			db.Restore.Tables = slices.DeleteFunc(slices.Clone(db.Restore.Tables), func(name string) bool { return name == kept(w) })
		}, "user system may not see each table"},
		{"a shard of the table is lost", model.FetchDropKept, func(w *world, db *model.Database) { db.Restore.Missing = append(db.Restore.Missing, "doc.t3") }, "not all primaries of doc.t3 are there"},
		{"a shard of it is lost, and it is to come back", model.FetchUndo, func(w *world, db *model.Database) { db.Restore.Missing = append(db.Restore.Missing, kept(w)) }, "are there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := replaces(t)
			w.calmed()
			w.see = func(db *model.Database) { c.see(w, db) }
			w.now = w.now.Add(time.Minute)
			w.commands.FetchAt = model.FetchCommand{At: w.now, Verb: c.verb, Tables: []string{"doc.t3"}}.String()
			d := afterPasses(t, w, 20)
			assert.Contains(t, messages(d.Waits), c.text)
			assert.Contains(t, messages(d.Waits), "`stevedore restore --"+string(c.verb)+"` is under way: ", "nothing is restored")
			assert.Equal(t, 1, w.swaps)
			assert.Empty(t, w.dropped)
			assert.Len(t, w.record.Backups.Kept, 1)
			w.see = nil
			w.calmed()
			assert.Empty(t, w.record.Backups.Fetched.Failed)
		})
	}
	t.Run("there is no other", func(t *testing.T) {
		w := replaces(t)
		w.calmed()
		w.see = func(db *model.Database) {
			db.Restore.Tables = slices.DeleteFunc(slices.Clone(db.Restore.Tables), func(name string) bool { return name == "doc.t3" })
		}
		w.then(model.FetchDropKept)
		assert.Contains(t, w.record.Backups.Fetched.Failed, "is all that there is of it: it stays")
		assert.Empty(t, w.dropped)
		assert.Len(t, w.record.Backups.Kept, 1)
	})
	t.Run("it is aborted before it comes back", func(t *testing.T) {
		w := replaces(t)
		w.calmed()
		w.incomplete = 1000
		w.now = w.now.Add(time.Minute)
		w.commands.FetchAt = model.FetchCommand{At: w.now, Verb: model.FetchUndo, Tables: []string{"doc.t3"}}.String()
		w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchReady })
		w.commands.Abort = "true"
		w.until(func() bool { return w.record.Backups.Fetch == nil })
		assert.Contains(t, w.record.Backups.Fetched.Failed, aborted)
		assert.Empty(t, w.dropped, "it is no copy")
		assert.Equal(t, 1, w.swaps)
	})
	t.Run("it is aborted once CrateDB was asked to drop it", func(t *testing.T) {
		w := replaces(t)
		w.calmed()
		w.now = w.now.Add(time.Minute)
		w.commands.FetchAt = model.FetchCommand{At: w.now, Verb: model.FetchDropKept, Tables: []string{"doc.t3"}}.String()
		w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchDrop })
		w.commands.Abort = "true"
		w.until(func() bool { return w.record.Backups.Fetch == nil })
		assert.Equal(t, []string{kept(w)}, w.dropped)
		assert.Empty(t, w.record.Backups.Fetched.Failed, "it was done")
	})
}

// What the name of the table is by then is hidden from system, and an exchange may have been done.
func TestNoNamesAreExchangedThatSystemMayNotSee(t *testing.T) {
	w := replaces(t)
	w.incomplete = 1000
	w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchSwap })
	w.incomplete = 0
	w.see = func(db *model.Database) {
		db.Denied = []model.Denial{{Grantee: "system", Privilege: "DQL", Class: "SCHEMA", Ident: "doc"}}
	}
	d := afterPasses(t, w, 5)
	assert.Contains(t, messages(d.Waits), "is whole, and waits: it is not known what became of")
	assert.Zero(t, w.swaps)
	w.see = nil
	w.calmed()
	assert.Equal(t, 1, w.swaps)
}

func TestWhatAReplacementLosesIsSaidBefore(t *testing.T) {
	dry := func(c *model.FetchCommand) { c.Dry = true }
	w := replaces(t, dry)
	w.calmed()
	assert.Empty(t, w.record.Backups.Fetched.Failed)
	assert.Contains(t, w.record.Backups.Fetched.Said, "nothing was done. doc.t3 had 0 row(s)")
	assert.Contains(t, w.record.Backups.Fetched.Said, "7 operation(s)")
	assert.Empty(t, w.restores)
	assert.Zero(t, w.swaps)

	w = replaces(t, dry)
	w.record.Backups.Taken[0].Operations = ""
	w.calmed()
	assert.Contains(t, w.record.Backups.Fetched.Said, "is not known")

	w = replaces(t, dry)
	w.operations["doc.t3"] = 1
	w.calmed()
	assert.Contains(t, w.record.Backups.Fetched.Said, "it was recreated since")
}

// What was there is there again, and what the restore has made is gone.
func TestAReplacementThatFailsChangesNothing(t *testing.T) {
	for _, c := range []struct {
		name    string
		edit    func(w *world)
		text    string
		dropped bool // the copy was there
	}{
		{"there is no such table", func(w *world) { delete(w.operations, "doc.t3") }, "there is no such table to be replaced", false},
		{"the one of a restore before is still kept", func(w *world) {
			w.restored = map[string]int{w.keptName("doc.t3"): 0}
			w.exchanged, w.ever = map[string]bool{"doc.t3": true}, map[string]bool{"doc.t3": true}
			w.record.Backups.Kept = []model.KeptTable{{Table: "doc.t3", Name: w.keptName("doc.t3"), Snapshot: "stevedore-often-1"}}
		}, "is kept of a restore before", false},
		{"the disks are full", func(w *world) { w.diskUse = new(int64(1 << 30)) }, "no room", false},
		{"a shard of it is lost", func(w *world) {
			w.see = func(db *model.Database) { db.Restore.Missing = append(db.Restore.Missing, "doc.t3") }
		}, "not all primaries of the table are there", false},
		{"it cannot be fetched", func(w *world) { w.unfetchable = map[string]int{"doc.t3": 1} }, "it could not be fetched", true},
		{"it lacks operations that were recorded", func(w *world) {
			w.repositories[w.record.Backups.Repository.Name].snapshots[0].operations["doc.t3"] = 3
		}, "doc.t3 has 3 of the 30 operations that were recorded", true},
		{"CrateDB refuses", func(w *world) { w.unswappable = "it is included in a logical replication publication" }, "logical replication publication", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := replaces(t)
			c.edit(w)
			before := w.operations["doc.t3"]
			d := w.calmed()
			assert.Equal(t, model.Done, d.Verdict)
			assert.Contains(t, w.record.Backups.Fetched.Failed, c.text)
			assert.Contains(t, reasons(d.Waits), gates.TablesNotRestoredRule.Name)
			assert.Equal(t, before, w.operations["doc.t3"])
			assert.Equal(t, c.dropped, slices.Equal([]string{w.keptName("doc.t3")}, w.dropped))
			assert.Empty(t, w.originals)
			assert.Zero(t, w.swaps)
		})
	}
}

func TestATableIsReplacedOnlyByOneThatIsAsWhole(t *testing.T) {
	w := replaces(t)
	w.incomplete = 5
	w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Held != "" })
	assert.Zero(t, w.swaps)
	assert.Contains(t, messages(afterPasses(t, w, 1).Waits), "replicas of "+w.keptName("doc.t3")+" are not there yet")
	w.calmed()
	assert.Equal(t, 1, w.swaps)
}

// The snapshot waits for what comes already, and that for no snapshot.
func TestAReplacementDoesNotWaitForTheSnapshotThatWaitsForIt(t *testing.T) {
	for _, step := range []model.FetchStep{model.FetchReady, model.FetchSwap} {
		t.Run(string(step), func(t *testing.T) {
			w := replaces(t)
			w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == step })
			w.now = time.Date(2026, 3, 5, 12, 0, 1, 0, time.UTC)
			w.calmed()
			assert.Equal(t, 1, w.swaps)
			w.until(func() bool { return len(w.taken()) == 2 })
		})
	}
}

// Between two looks anything may begin or go.
func TestAReplacementWaitsForWhatElseGoesOn(t *testing.T) {
	for _, step := range []model.FetchStep{model.FetchReady, model.FetchSwap} {
		t.Run(string(step), func(t *testing.T) {
			w := replaces(t)
			w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == step })
			w.pods[hot+"-1"].away = 10
			d := afterPasses(t, w, 5)
			assert.Zero(t, w.swaps)
			assert.Contains(t, messages(d.Waits), "is whole, and waits: not all nodes are there")
			w.calmed()
			assert.Equal(t, 1, w.swaps)
		})
	}
}

// An operation that has begun may wait for the replicas of the copy, which waits for the operation: the copy goes, and comes again
// after it.
func TestACopyMakesWayForAnOperation(t *testing.T) {
	for _, step := range []model.FetchStep{model.FetchReady, model.FetchSwap} {
		t.Run(string(step), func(t *testing.T) {
			w := replaces(t)
			w.incomplete = 1_000_000
			w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == step })
			w.desired.Sets[0].Replicas, w.desired.Revision = 4, "rev-4"
			w.until(func() bool { return !w.record.Backups.Fetch.Since.IsZero() })
			w.ahead(2 * w.desired.Backups.MaxDelay)
			w.until(func() bool { return w.record.Operation != nil })
			w.until(func() bool { return len(w.dropped) == 1 })
			require.Equal(t, []string{w.keptName("doc.t3")}, w.dropped)
			require.NotNil(t, w.record.Backups.Fetch, "it is still asked for")
			w.incomplete = 0
			w.calmed()
			assert.Equal(t, int64(30), w.operations["doc.t3"])
			assert.Equal(t, 1, w.swaps)
			assert.Empty(t, w.record.Backups.Fetched.Failed)
			assert.Equal(t, 1, w.record.Backups.Fetched.Done)
		})
	}
}

func TestNoOperationBeginsWhileTwoTablesExchangeTheirNames(t *testing.T) {
	w := replaces(t)
	w.incomplete = 1_000_000
	w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchSwap })
	w.desired.Sets[0].Replicas, w.desired.Revision = 4, "rev-4"
	f := *w.record.Backups.Fetch
	f.Sent = true
	w.record.Backups.Fetch = &f
	w.see = func(db *model.Database) { w.record.Backups.Fetch.Sent = true }
	afterPasses(t, w, 1)
	w.ahead(w.desired.Backups.MaxDelay + 5*time.Minute)
	d := afterPasses(t, w, 5)
	assert.Nil(t, w.record.Operation)
	assert.Contains(t, reasons(d.Waits), gates.RestoreFirstRule.Name)
	w.ahead(10 * time.Minute)
	w.until(func() bool { return w.record.Operation != nil })
	assert.Zero(t, w.swaps, "it only looks by then")
}

func TestAnAbortOfAReplacementLeavesTheTableAsItWas(t *testing.T) {
	for _, step := range []model.FetchStep{model.FetchNext, model.FetchAsk, model.FetchRunning, model.FetchReady, model.FetchSwap} {
		t.Run(string(step), func(t *testing.T) {
			w := replaces(t)
			w.incomplete = 1000
			w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == step })
			w.commands.Abort = "true"
			w.until(func() bool { return w.record.Backups.Fetch == nil })
			assert.Contains(t, w.record.Backups.Fetched.Failed, aborted)
			assert.Equal(t, int64(37), w.operations["doc.t3"])
			assert.Empty(t, w.tableNames())
			assert.Zero(t, w.swaps)
		})
	}
}

func TestAReplacementEndsWithItsDefinition(t *testing.T) {
	for _, step := range []model.FetchStep{model.FetchList, model.FetchNext, model.FetchAsk, model.FetchRunning, model.FetchReady, model.FetchSwap} {
		t.Run(string(step), func(t *testing.T) {
			w := replaces(t)
			w.incomplete = 1000
			w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == step })
			w.desired.Backups = nil
			w.until(func() bool { return w.record.Backups == nil })
			assert.Equal(t, int64(37), w.operations["doc.t3"])
			assert.Empty(t, w.tableNames())
			assert.Zero(t, w.swaps)
		})
	}
}

// A restore that a person asked for does not begin once the definition has no spec.backups any more.
func TestNothingIsRestoredAnyMoreThatWasAboutToBe(t *testing.T) {
	w := asksFor(t, "old", "doc.t3")
	w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchNext })
	f := *w.record.Backups.Fetch
	f.Step, f.Batch, f.Rest = model.FetchAsk, f.Rest, nil
	w.record.Backups.Fetch, w.desired.Backups = &f, nil
	w.until(func() bool { return w.record.Backups == nil })
	assert.Empty(t, w.restores)
	assert.Contains(t, messageOf(w, "TablesNotRestored"), "no spec.backups any more")
}

// Names that are exchanged twice are as before: nobody may ask for it again only because no answer came.
func TestAnExchangeWhoseAnswerIsLostIsNotDoneAgain(t *testing.T) {
	w := replaces(t)
	w.unanswered = 1
	for range 60 {
		_, _ = w.pass()
	}
	require.Nil(t, w.record.Backups.Fetch)
	assert.Equal(t, 1, w.swaps)
	assert.Equal(t, int64(30), w.operations["doc.t3"])
	assert.Len(t, w.record.Backups.Kept, 1)
	assert.Empty(t, w.record.Backups.Fetched.Failed)
	assert.Equal(t, 1, reported(w, "TableReplaced"))
}

// Whether the names may be exchanged is recorded before anybody is asked, and stays so whatever is found out later.
func TestAnExchangeThatWasAskedForIsRecordedBefore(t *testing.T) {
	w := replaces(t)
	w.unanswered = 1
	w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchSwap && f.Sent })
	assert.True(t, w.record.Backups.Fetch.Tried)
}

// Wherever the daemon dies, and whatever is lost: the table is as before or as in the snapshot, what was there before is
// never dropped, and nothing of the restore stays that is red.
func TestAReplacementSurvivesAKill(t *testing.T) {
	for c := range cuts(16, 1) {
		t.Run(c.String(), func(t *testing.T) {
			w := replaces(t)
			kept := w.keptName("doc.t3")
			w.granted = []string{"ada DQL GRANT doc.t3"}
			w.dies(c)
			w.calm(500)
			require.Empty(t, w.originals, "what was there before is never dropped")
			require.Zero(t, w.restored[kept], "nothing is red")
			assert.Contains(t, w.granted, "ada DQL GRANT doc.t3")
			before, now := int64(37), w.operations["doc.t3"]
			switch {
			case !c.lose:
				assert.Equal(t, int64(30), now)
				assert.Equal(t, 1, w.swaps)
			case now == before:
				assert.NotContains(t, w.restored, kept, "the copy is gone")
			default:
				assert.Equal(t, int64(30), now)
			}
			if _, there := w.restored[kept]; there {
				require.Len(t, w.record.Backups.Kept, 1)
				assert.Equal(t, kept, w.record.Backups.Kept[0].Name, "it is known")
			}
		})
	}
}

// What CrateDB refuses to make twice was made by an attempt whose answer was lost: two nodes have shown before that nothing
// had its name. Otherwise it would stay red, and each restart would wait for it.
func TestACopyThatCannotBeFetchedIsDroppedWhereverTheDaemonDies(t *testing.T) {
	for kill := 1; kill <= 10; kill++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("at write %d, after it: %t", kill, after), func(t *testing.T) {
				w := replaces(t)
				w.unfetchable = map[string]int{"doc.t3": 100}
				w.killAt, w.after = w.writes+kill, after
				w.calm(500)
				assert.Empty(t, w.restored, "nothing of it stays")
				assert.Empty(t, w.originals)
				assert.Equal(t, int64(37), w.operations["doc.t3"])
				assert.Contains(t, messageOf(w, "TablesNotRestored"), "it could not be fetched")
			})
		}
	}
}

// A name that `system` does not see may be that of a table that is kept.
func TestNothingIsAskedForWhoseNameMayBeHidden(t *testing.T) {
	w := replaces(t)
	w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchAsk })
	w.see = func(db *model.Database) {
		db.Denied = []model.Denial{{Privilege: "DQL", Class: "TABLE", Ident: w.keptName("doc.t3"), Grantee: "system"}}
	}
	d := afterPasses(t, w, 5)
	assert.Empty(t, w.restores)
	assert.Contains(t, messages(d.Waits), "on it is denied to system")
	w.see = nil
	w.calmed()
	assert.Equal(t, 1, w.swaps)
}

// A copy waits for a node that only an operation brings back, and that for a snapshot, which no copy can be in: it goes, and
// comes again.
func TestACopyMakesWayForASnapshotThatHasWaitedForLong(t *testing.T) {
	for _, step := range []model.FetchStep{model.FetchReady, model.FetchSwap} {
		t.Run(string(step), func(t *testing.T) {
			w := replaces(t)
			w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == step })
			w.pods[hot+"-1"].away = 1000
			w.now = time.Date(2026, 3, 5, 12, 0, 1, 0, time.UTC)
			afterPasses(t, w, 3)
			require.NotEmpty(t, w.record.Backups.Due.Schedule)
			assert.Empty(t, w.dropped, "not yet")
			w.ahead(2 * w.desired.Backups.MaxDelay)
			w.until(func() bool { return len(w.dropped) == 1 })
			w.pods[hot+"-1"].away = 0
			w.calmed()
			assert.Len(t, w.taken(), 2)
			assert.Equal(t, int64(30), w.operations["doc.t3"])
			assert.Equal(t, 1, w.swaps)
		})
	}
}
