package ops_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

const (
	otherFolder  = "/backups/ns/c/lost-1234"
	newestOfLost = "stevedore-nightly-20260101t030000z"
	olderOfLost  = "stevedore-nightly-20251231t030000z"
)

// restoredWorld is to be made from what a lost cluster has left in its folder.
func restoredWorld(t *testing.T, edits ...func(r *definition.Restore)) *world {
	w := newWorld(t, backedUp(func(b *definition.Backups) {
		b.Restore = &definition.Restore{From: "ns/c/lost-1234", Users: true}
		for _, edit := range edits {
			edit(b.Restore)
		}
	}))
	day := time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)
	w.folders = map[string]*toyRepository{otherFolder: {snapshots: []*toySnapshot{
		{name: olderOfLost, state: model.SnapshotSuccess, what: "doc.one", finished: day.Add(-24 * time.Hour)},
		{name: newestOfLost, state: model.SnapshotSuccess, what: "doc.one,doc.three,doc.two", finished: day},
		{name: "stevedore-nightly-20260102t030000z", state: model.SnapshotPartial, what: "doc.one", finished: day.Add(24 * time.Hour)},
	}}}
	w.needs = 3
	return w
}

func (w *world) tableNames() []string {
	var all []string
	for name, looks := range w.restored {
		if looks == 0 {
			all = append(all, name)
		}
	}
	return all
}

func TestANewClusterIsMadeFromASnapshot(t *testing.T) {
	for _, c := range []struct {
		name     string
		edit     func(r *definition.Restore)
		tables   []string
		restores int
		users    bool
	}{
		{"the newest that succeeded", func(*definition.Restore) {}, []string{"doc.one", "doc.two", "doc.three"}, 2, true},
		{"the one that is named", func(r *definition.Restore) { r.Snapshot = olderOfLost }, []string{"doc.one"}, 2, true},
		{"some tables", func(r *definition.Restore) { r.Tables = []string{"doc.two", "doc.one"} }, []string{"doc.one", "doc.two"}, 2, true},
		{"without the users", func(r *definition.Restore) { r.Users = false }, []string{"doc.one", "doc.two", "doc.three"}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := restoredWorld(t, c.edit)
			d := w.calm(200)
			assert.Equal(t, model.Done, d.Verdict)
			assert.ElementsMatch(t, c.tables, w.tableNames())
			assert.Len(t, w.restores, c.restores)
			assert.Equal(t, c.users, w.usersCame)
			for _, u := range w.desired.Users {
				require.NotNil(t, w.users[u.Name], "the users of the definition are there")
				assert.Equal(t, "pw-"+u.Name, w.users[u.Name].password, "with the passwords of their Secrets")
			}
			assert.Equal(t, model.RestoreDone, w.record.Restore.Step)
			assert.Equal(t, 1, reported(w, "RestoreSucceeded"))
			assert.Equal(t, 1, w.analyzed)
			assert.Len(t, w.repositories, 1, "the repository of the lost cluster is taken off, and there is one of this cluster's own")
			assert.Contains(t, w.created[0], `"readonly" = 'true'`)

			w.ahead(time.Hour)
			w.calm(60)
			assert.Len(t, w.restores, c.restores, "it never runs again")
		})
	}
}

func TestARestoreThatCannotBeSaysWhy(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(w *world)
		gate string
		text string
		cure func(w *world)
	}{
		{"the folder is empty, or does not answer", func(w *world) { w.folders = nil }, "restore-waits", "shows no snapshot that succeeded", func(w *world) {
			r := restoredWorld(w.t)
			w.folders = r.folders
			for name := range w.repositories {
				w.repositories[name] = r.folders[otherFolder]
			}
		}},
		{"it is not known whether there are tables", func(w *world) { w.see = func(db *model.Database) { db.Restore = model.RestoreReading{} } }, "restore-waits", "it is not known whether the cluster has tables", func(w *world) { w.see = nil }},
		{"another one is named", func(w *world) { w.desired.Backups.Restore.Snapshot = "nightly" }, "restore-waits", "has no snapshot nightly; the last that it has are " + olderOfLost + ", " + newestOfLost, func(w *world) {
			w.desired.Backups.Restore.Snapshot = ""
		}},
		{"the one that is named is partial", func(w *world) { w.desired.Backups.Restore.Snapshot = "stevedore-nightly-20260102t030000z" }, "restore-failed", "is PARTIAL", func(w *world) {
			w.desired.Backups.Restore.Snapshot = newestOfLost
		}},
		{"a table is not in it", func(w *world) { w.desired.Backups.Restore.Tables = []string{"doc.nine"} }, "restore-failed", "has no table doc.nine", func(w *world) {
			w.desired.Backups.Restore.Tables = nil
		}},
		{"its Secret is missing", func(w *world) {
			w.desired.Backups.Repository.Secrets = []definition.SecretSetting{{Name: "access_key", Ref: definition.SecretKeyRef{Name: "keys", Key: "id"}}}
		}, "repository-secret-missing", "keys", func(w *world) { w.putSecret("keys", map[string][]byte{"id": []byte("AKIA")}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := restoredWorld(t)
			c.edit(w)
			d := afterPasses(t, w, 80)
			assert.Contains(t, reasons(d.Waits), c.gate)
			assert.Contains(t, messages(d.Waits), c.text)
			assert.False(t, w.record.Bootstrap.Done, "the cluster does not count as made")
			assert.Empty(t, w.restored)

			c.cure(w)
			d = w.calm(200)
			assert.Equal(t, model.Done, d.Verdict)
			assert.NotEmpty(t, w.tableNames())
		})
	}
}

// Another restore was begun before: its tables are no evidence of this one.
func TestTablesOfAnotherRestoreAreNotTakenForThoseOfThisOne(t *testing.T) {
	w := restoredWorld(t)
	w.until(func() bool { return w.record.Restore != nil })
	w.record.Restore = &model.RecordedRestore{Of: "another", Attempts: 2}
	w.restored = map[string]int{"doc.old": 0}
	d := afterPasses(t, w, 40)
	assert.Contains(t, messages(d.Waits), "tables of another restore are there")
	assert.Equal(t, model.RestoreNew, w.record.Restore.Step)
	w.restored = map[string]int{}
	w.calm(200)
	assert.ElementsMatch(t, []string{"doc.one", "doc.two", "doc.three"}, w.tableNames())
}

// A list from before this restore may have a snapshot that has been deleted since, and lack the newest.
func TestASnapshotIsChosenFromAListThatIsNewerThanTheRestore(t *testing.T) {
	for _, c := range []struct {
		name   string
		listed time.Duration
		chosen string
		says   string
	}{
		{"the list is from before", -time.Minute, "", "the snapshots are listed"},
		{"from the moment in which it began", 0, "", "the snapshots are listed"},
		{"from after that", time.Second, newestOfLost, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := restoredWorld(t)
			w.until(func() bool { return w.record.Restore != nil && w.record.Restore.Step == model.RestoreChoose })
			s := &situation{d: w.desired, o: w.observe(), r: w.record}
			s.o.Database.Listed = s.r.Restore.Began.Add(c.listed)
			s.o.Database.Listing = []model.ListedSnapshot{{Repository: s.r.Restore.Repository, Name: newestOfLost, State: model.SnapshotSuccess, Finished: s.r.Restore.Began}}
			d := s.decide()
			assert.Equal(t, c.chosen, d.Record.Restore.Snapshot)
			assert.Contains(t, messages(d.Waits), c.says)
		})
	}
}

// What is not known of the tables is no end, and no failure.
func TestARestoreOfWhichNothingIsKnownGoesOn(t *testing.T) {
	w := restoredWorld(t)
	w.needs = 30
	w.until(func() bool { return w.record.Restore != nil && w.record.Restore.Step == model.RestoreRunning })
	w.see = func(db *model.Database) { db.Restore = model.RestoreReading{} }
	w.ahead(time.Hour)
	d := afterPasses(t, w, 5)
	assert.Contains(t, messages(d.Waits), "it is not known how far they are")
	assert.Equal(t, model.RestoreRunning, w.record.Restore.Step)
	w.see = nil
	w.calm(200)
	assert.ElementsMatch(t, []string{"doc.one", "doc.two", "doc.three"}, w.tableNames())
	assert.Empty(t, w.dropped)
}

func TestTablesThatCannotBeFetchedAreDroppedAndAskedForAgain(t *testing.T) {
	t.Run("and come then", func(t *testing.T) {
		w := restoredWorld(t)
		w.unfetchable = map[string]int{"doc.two": 2}
		w.calm(400)
		assert.ElementsMatch(t, []string{"doc.one", "doc.two", "doc.three"}, w.tableNames())
		assert.Equal(t, []string{"doc.two", "doc.two"}, w.dropped)
		assert.Contains(t, w.restores[len(w.restores)-1], `TABLE "doc"."two"`, "only what is missing is asked for again")
		assert.Zero(t, reported(w, "RestoreFailed"))
	})
	t.Run("or the restore fails, and nothing red stays", func(t *testing.T) {
		w := restoredWorld(t)
		w.unfetchable = map[string]int{"doc.two": 100}
		d := afterPasses(t, w, 300)
		assert.Contains(t, reasons(d.Waits), "restore-failed")
		assert.Contains(t, messages(d.Waits), "doc.two")
		assert.ElementsMatch(t, []string{"doc.one", "doc.three"}, w.tableNames())
		assert.Len(t, w.restored, 2)
		assert.Equal(t, 1, reported(w, "RestoreFailed"))
		assert.False(t, w.record.Bootstrap.Done)

		w.desired.Backups.Restore = nil
		d = w.calm(200)
		assert.Equal(t, model.Done, d.Verdict, "without the field the cluster is made with what is there")
		assert.Len(t, w.restored, 2)
	})
}

// Any node may answer, and one that is behind shows neither the tables nor that they come.
func TestANodeThatIsBehindMakesNoRestoreFail(t *testing.T) {
	w := restoredWorld(t)
	w.needs = 60
	for i := 0; w.fetching == "" && i < 200; i++ {
		afterPasses(t, w, 1)
	}
	w.behind = 8
	w.calm(400)
	assert.Empty(t, w.dropped)
	assert.ElementsMatch(t, []string{"doc.one", "doc.two", "doc.three"}, w.tableNames())
}

func TestNothingIsRestoredIntoAClusterThatWasMade(t *testing.T) {
	t.Run("the field comes later", func(t *testing.T) {
		w := backedUpWorld(t)
		w.desired.Backups.Restore = &definition.Restore{From: "ns/c/lost-1234", Users: true}
		d := w.calm(60)
		assert.Contains(t, reasons(d.Waits), "restore-not-new")
		assert.Equal(t, model.Done, d.Verdict)
		assert.Empty(t, w.restores)
	})
	t.Run("the record is lost, and the tables are there", func(t *testing.T) {
		w := restoredWorld(t)
		w.calm(200)
		before := len(w.restores)
		w.record = model.Record{}
		w.calm(200)
		assert.Len(t, w.restores, before)
	})
	t.Run("a cluster that is being made has tables", func(t *testing.T) {
		w := restoredWorld(t)
		w.restored = map[string]int{"doc.mine": 0}
		w.calm(200)
		assert.Empty(t, w.restores)
		assert.Equal(t, 1, reported(w, "RestoreSkipped"))
	})
}

// A kill before and after each write, with and without the record.
func TestARestoreSurvivesAKillAtEachWrite(t *testing.T) {
	cutOff(t, func() *world { return restoredWorld(t) }, 1, 60, func(t *testing.T, w *world, _ model.Decision) {
		assert.ElementsMatch(t, []string{"doc.one", "doc.two", "doc.three"}, w.tableNames())
		assert.Empty(t, w.dropped)
		for _, u := range w.desired.Users {
			require.NotNil(t, w.users[u.Name])
			assert.Equal(t, "pw-"+u.Name, w.users[u.Name].password)
		}
		for name := range w.repositories {
			assert.NotContains(t, name, "stevedore_from_", "the repository of the lost cluster is taken off")
		}
	})
}

func TestARestoreIsFollowed(t *testing.T) {
	w := restoredWorld(t)
	w.needs = 40
	for i := 0; w.fetching == "" && i < 200; i++ {
		afterPasses(t, w, 1)
	}
	d := afterPasses(t, w, 3)
	assert.Contains(t, reasons(d.Waits), "restore-running")
	assert.Contains(t, messages(d.Waits), "0 of 3 are there")
	assert.Equal(t, 1, reported(w, "RestoreStarted"))
	w.ahead(3 * time.Hour)
	afterPasses(t, w, 2)
	assert.Zero(t, reported(w, "BootstrapTimedOut"), "how long it takes depends on the data")
}
