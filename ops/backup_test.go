package ops_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// backedUp is a cluster of three nodes whose definition has one schedule, every ten minutes.
func backedUp(edits ...func(b *definition.Backups)) model.Desired {
	d := wantedCluster(3)
	d.Version = "6.4.3"
	b := &definition.Backups{
		Repository:  definition.BackupRepository{Type: "fs", Base: "/backups"},
		Schedules:   []definition.BackupSchedule{{Name: "often", Cron: "*/10 * * * *"}},
		KeepAtLeast: 2, MaxDelay: 30 * time.Minute, Unreadable: definition.UnreadableRefuse,
	}
	for _, edit := range edits {
		edit(b)
	}
	d.Backups = b
	return d
}

// backedUpWorld is made, and its repository is there.
func backedUpWorld(t *testing.T, edits ...func(b *definition.Backups)) *world {
	w := newWorld(t, backedUp(edits...))
	w.takes = 3
	w.calm(60)
	require.Len(t, w.created, 1, "the repository is created once")
	return w
}

// ahead lets time pass without a look.
func (w *world) ahead(d time.Duration) { w.now = w.now.Add(d) }

func (w *world) taken() []string {
	var all []string
	for _, r := range w.repositories {
		for _, s := range r.snapshots {
			all = append(all, s.name+" "+s.state)
		}
	}
	return all
}

func TestTheRepositoryIsOneOfThisClusterAlone(t *testing.T) {
	w := backedUpWorld(t)
	assert.Contains(t, w.created[0], `"location" = '/backups/ns/c/id-1'`)
	assert.Contains(t, w.created[0], " TYPE fs WITH ")
	assert.Equal(t, model.StageVerified, w.record.Stage)
	assert.Empty(t, w.taken(), "the first snapshot is taken at the first window")
}

func TestASnapshotIsTakenAtEachWindowAndReported(t *testing.T) {
	w := backedUpWorld(t)
	w.blobs = []string{"pictures"}
	w.ahead(10 * time.Minute)
	w.calm(30)
	assert.Equal(t, []string{"stevedore-often-20260102t031000z SUCCESS"}, w.taken())
	assert.Equal(t, 1, reported(w, "SnapshotTaken"))
	assert.Contains(t, reportOf(t, w, "SnapshotStarted").Message, "it has no BLOB table: pictures")
	require.Len(t, w.record.Backups.Taken, 1)
	assert.Equal(t, model.SnapshotSuccess, w.record.Backups.Taken[0].State)

	w.ahead(10 * time.Minute)
	w.calm(30)
	assert.Len(t, w.taken(), 2)
}

// A person who looks for one table asks which snapshot has it.
func TestWhichTablesASnapshotHasIsRecorded(t *testing.T) {
	w := drilledWorld(t)
	names, known := w.record.Backups.TablesOf(w.newestTaken())
	assert.True(t, known)
	assert.Len(t, names, 25)
	assert.Contains(t, names, "doc.t3")

	w.record.Backups = nil
	w.calm(60)
	names, known = w.record.Backups.TablesOf(w.newestTaken())
	assert.True(t, known, "it is read again where the record was lost")
	assert.Len(t, names, 25)
}

func TestOfWindowsThatWereMissedOneIsMadeUpFor(t *testing.T) {
	w := backedUpWorld(t)
	w.ahead(26 * time.Hour)
	w.calm(30)
	assert.Equal(t, []string{"stevedore-often-20260103t050000z SUCCESS"}, w.taken())
}

func TestAScheduleIsInItsTimeZone(t *testing.T) {
	w := backedUpWorld(t, func(b *definition.Backups) {
		b.Schedules[0] = definition.BackupSchedule{Name: "nightly", Cron: "30 2 * * *", TimeZone: "America/New_York"}
	})
	w.ahead(4 * time.Hour) // 07:05 UTC
	w.calm(30)
	assert.Empty(t, w.taken())
	w.ahead(time.Hour) // 02:30 there is 07:30 UTC
	w.calm(30)
	assert.Equal(t, []string{"stevedore-nightly-20260102t073000z SUCCESS"}, w.taken())
}

func TestACommandTakesASnapshotAtOnce(t *testing.T) {
	w := backedUpWorld(t)
	w.commands.BackupAt = w.now.Format(time.RFC3339)
	w.calm(30)
	require.Len(t, w.taken(), 1)
	assert.True(t, strings.HasPrefix(w.taken()[0], "stevedore-now-2026"), w.taken()[0])
	w.calm(30)
	assert.Len(t, w.taken(), 1, "a command is carried out once")
}

func TestOnlyASuccessCounts(t *testing.T) {
	for _, state := range []string{model.SnapshotPartial, model.SnapshotFailed} {
		w := backedUpWorld(t, func(b *definition.Backups) { b.Schedules[0].Keep = 2 })
		for range 4 {
			w.ahead(10 * time.Minute)
			w.calm(30)
		}
		assert.Len(t, w.taken(), 2, "two are kept")
		w.endsAs = state
		w.ahead(10 * time.Minute)
		d := w.calm(30)
		assert.Equal(t, 1, reported(w, "SnapshotFailed"), state)
		assert.Len(t, w.taken(), 3, "nothing is dropped while the newest is %s", state)
		assert.Contains(t, reasons(d.Waits), "backup-failed")
		assert.Equal(t, model.Done, d.Verdict, "the cluster itself is as desired")

		w.endsAs = ""
		w.ahead(10 * time.Minute)
		d = w.calm(30)
		assert.NotContains(t, reasons(d.Waits), "backup-failed")
	}
}

func TestRetention(t *testing.T) {
	for _, c := range []struct {
		name    string
		edit    func(b *definition.Backups)
		windows int
		left    int
	}{
		{"without a limit all stay", func(b *definition.Backups) {}, 6, 6},
		{"so many", func(b *definition.Backups) { b.Schedules[0].Keep = 3 }, 6, 3},
		{"for so long", func(b *definition.Backups) { b.Schedules[0].KeepFor = 35 * time.Minute }, 6, 4},
		{"never fewer than keepAtLeast, however old", func(b *definition.Backups) { b.Schedules[0].KeepFor, b.KeepAtLeast = time.Minute, 4 }, 6, 4},
		{"never fewer than keepAtLeast, however few are to be kept", func(b *definition.Backups) { b.Schedules[0].Keep, b.KeepAtLeast = 1, 2 }, 6, 2},
		{"what either keeps stays", func(b *definition.Backups) { b.Schedules[0].Keep, b.Schedules[0].KeepFor = 5, 15*time.Minute }, 6, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := backedUpWorld(t, c.edit)
			for range c.windows {
				w.ahead(10 * time.Minute)
				w.calm(40)
			}
			assert.Len(t, w.taken(), c.left)
		})
	}
}

func TestAListThatIsEmptyAllAtOnceSaysNothing(t *testing.T) {
	w := backedUpWorld(t, func(b *definition.Backups) { b.Schedules[0].Keep = 2 })
	for range 2 {
		w.ahead(10 * time.Minute)
		w.calm(30)
	}
	w.silent = true
	w.ahead(10 * time.Minute)
	for range 20 {
		_, err := w.pass()
		require.NoError(t, err)
	}
	assert.Len(t, w.record.Backups.Taken, 2, "a repository that does not answer has lost nothing")
	w.silent = false
	w.calm(60)
	assert.Len(t, w.record.Backups.Taken, 2, "and goes on when it answers")
}

func TestTheSnapshotsOfOthersAreNoPlaceForOurs(t *testing.T) {
	w := newWorld(t, backedUp())
	w.takes = 1
	w.calm(60)
	for name := range w.repositories {
		w.repositories[name].snapshots = []*toySnapshot{{name: "nightly-1", state: model.SnapshotSuccess, finished: w.now}}
	}
	w.record.Backups = nil // as after a lost record
	w.repositories = map[string]*toyRepository{firstOf(w.repositories): {snapshots: []*toySnapshot{{name: "nightly-1", state: model.SnapshotSuccess, finished: w.now}}}}
	for range 20 {
		_, err := w.pass()
		require.NoError(t, err)
	}
	w.ahead(20 * time.Minute)
	d := afterPasses(t, w, 20)
	assert.Contains(t, reasons(d.Waits), "repository-not-ours")
	assert.Equal(t, []string{"nightly-1 SUCCESS"}, w.taken())
}

func TestATableThatCannotBeReadIsNamedBefore(t *testing.T) {
	t.Run("refuse", func(t *testing.T) {
		w := backedUpWorld(t)
		w.closed = []string{"doc.one"}
		w.ahead(10 * time.Minute)
		d := afterPasses(t, w, 20)
		assert.Contains(t, reasons(d.Waits), "backup-tables-unreadable")
		assert.Contains(t, reasons(d.Waits), "backup-waits")
		assert.Equal(t, 1, reported(w, "TablesUnreadable"))
		assert.Empty(t, w.taken())
		w.closed = nil
		w.calm(30)
		assert.Len(t, w.taken(), 1, "it goes on when the table is open")
	})
	t.Run("skip", func(t *testing.T) {
		w := backedUpWorld(t, func(b *definition.Backups) { b.Unreadable = definition.UnreadableSkip })
		w.closed = []string{"doc.one"}
		w.ahead(10 * time.Minute)
		w.calm(30)
		require.Len(t, w.taken(), 1)
		assert.Equal(t, `TABLE "doc"."two"`, w.repositories[firstOf(w.repositories)].snapshots[0].what)
	})
	t.Run("a schedule of other tables does not mind", func(t *testing.T) {
		w := backedUpWorld(t, func(b *definition.Backups) { b.Schedules[0].Tables = []string{"doc.two"} })
		w.closed = []string{"doc.one"}
		w.ahead(10 * time.Minute)
		w.calm(30)
		assert.Len(t, w.taken(), 1)
	})
}

func TestSnapshotsAndOperationsWaitForEachOther(t *testing.T) {
	t.Run("one that is due goes before an operation that has not begun", func(t *testing.T) {
		w := backedUpWorld(t)
		w.takes = 20
		w.ahead(10 * time.Minute)
		w.template, w.desired.Revision = "t2", "rev-t2"
		d := afterPasses(t, w, 15)
		assert.Nil(t, w.record.Operation, "the restart waits")
		assert.Subset(t, reasons(d.Waits), []string{"snapshot-first", "backup-running"})
		require.NotNil(t, w.record.Backups.Running)
		w.calm(600)
		assert.Equal(t, "t2", w.pods["crate-data-hot-c-0"].template)
		assert.Len(t, w.taken(), 1)
	})
	t.Run("and no longer than maxDelay", func(t *testing.T) {
		w := backedUpWorld(t, func(b *definition.Backups) { b.MaxDelay = time.Minute })
		w.takes = 400
		w.ahead(10 * time.Minute)
		w.template, w.desired.Revision = "t2", "rev-t2"
		for range 100 {
			_, err := w.pass()
			require.NoError(t, err)
		}
		require.NotNil(t, w.record.Operation, "the restart has begun, and its pods wait for the snapshot")
		assert.Zero(t, w.pods["crate-data-hot-c-0"].restarts)
		for i := 0; w.pods["crate-data-hot-c-2"].template != "t2" && i < 6000; i++ {
			_, err := w.pass()
			require.NoError(t, err)
		}
		assert.Equal(t, "t2", w.pods["crate-data-hot-c-2"].template)
	})
	t.Run("after one that has begun, and between two pods once it has waited for long", func(t *testing.T) {
		w := backedUpWorld(t, func(b *definition.Backups) { b.MaxDelay = time.Minute })
		w.desired.Operations.StableFor = 90 * time.Second
		w.template, w.desired.Revision = "t2", "rev-t2"
		for w.record.Operation == nil {
			_, err := w.pass()
			require.NoError(t, err)
		}
		w.ahead(8 * time.Minute) // the next window is near, and the restart goes on
		w.calm(1500)
		assert.Equal(t, "t2", w.pods["crate-data-hot-c-2"].template)
		assert.NotEmpty(t, w.taken())
	})
	t.Run("never in mixed versions, however long it waits", func(t *testing.T) {
		w := newWorld(t, backedUp(func(b *definition.Backups) { b.MaxDelay = time.Minute }))
		w.desired.Version, w.desired.Operations.StableFor = "6.3.7", 3*time.Minute
		w.calm(60)
		to(w, "6.4.3")
		for w.record.Operation == nil {
			afterPasses(t, w, 1)
		}
		w.ahead(8 * time.Minute)
		d := w.calm(3000)
		assert.Equal(t, model.Done, d.Verdict)
		checkUpgraded(t, w, "6.4.3")
		require.NotEmpty(t, w.taken(), "and then it is made up for")
		assert.Equal(t, 1, reported(w, "BackupOverdue"))
	})
	t.Run("an overdue one is reported once", func(t *testing.T) {
		w := backedUpWorld(t)
		w.closed = []string{"doc.one"}
		w.ahead(10 * time.Minute)
		afterPasses(t, w, 5)
		w.ahead(time.Hour)
		afterPasses(t, w, 10)
		assert.Equal(t, 1, reported(w, "BackupOverdue"))
	})
}

func TestARepositoryThatCannotBeMadeIsTriedAgainAndKeepsNothingElse(t *testing.T) {
	w := newWorld(t, backedUp())
	w.broken = errors.New("[stevedore] path is not accessible on master node")
	for range 60 {
		_, err := w.pass()
		require.NoError(t, err)
	}
	assert.True(t, w.record.Bootstrap.Done)
	assert.NotEqual(t, model.StageVerified, w.record.Stage, "the definition is not carried out")
	w.broken = nil
	w.calm(60)
	assert.Equal(t, model.StageVerified, w.record.Stage)
}

// Whoever asks for a snapshot, for tables or for a drill is answered by what keeps the repository from being ready.
func TestWhatWaitsForTheRepositorySaysWhyThatIsNotReady(t *testing.T) {
	const refused = "the repository is not ready: CrateDB does not accept it: "
	for name, c := range map[string]struct {
		asks func(w *world)
		says string
	}{
		"a snapshot": {func(w *world) { w.commands.BackupAt = w.now.Format(time.RFC3339) }, "the snapshot that a command asked for, due at "},
		"tables": {func(w *world) {
			w.commands.FetchAt = model.FetchCommand{At: w.now, Schema: "old", Tables: []string{"doc.a"}}.String()
		}, "the restore or drill that was asked for waits: " + refused},
		"a drill by schedule": {func(w *world) {
			w.desired.Backups.Schedules, w.desired.Backups.Drill = nil, &definition.Drill{Cron: "30 * * * *"}
			w.now = w.now.Add(2 * time.Hour)
		}, "the drill waits: " + refused},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, backedUp())
			w.broken = errors.New("[stevedore] path is not accessible on master node")
			afterPasses(t, w, 60)
			c.asks(w)
			o, said := w.observe(), ""
			o.Failures = []model.Failure{{Action: model.Action{Kind: model.ActionSetRepository}, Message: w.broken.Error(), Count: 3}}
			for _, r := range ops.Decide(w.desired, o, w.record, model.Policy{}, w.now).Waits {
				said += r.Message + "\n"
			}
			assert.Contains(t, said, c.says)
			assert.Contains(t, said, "waits: "+refused)
			assert.Contains(t, said, "path is not accessible")
		})
	}
}

func TestOtherCredentialsAndNewNodesHaveTheRepositoryVerified(t *testing.T) {
	w := newWorld(t, backedUp(func(b *definition.Backups) {
		b.Repository = definition.BackupRepository{Type: "s3", Settings: []definition.Setting{{Name: "bucket", Value: "b"}},
			Secrets: []definition.SecretSetting{{Name: "access_key", Ref: definition.SecretKeyRef{Name: "s3", Key: "id"}}}}
	}))
	d := afterPasses(t, w, 60)
	assert.Contains(t, reasons(d.Waits), "repository-secret-missing")
	w.putSecret("s3", map[string][]byte{"id": []byte("AKIA\n")})
	w.calm(60)
	require.Len(t, w.created, 1)
	assert.Contains(t, w.created[0], `"access_key" = $1`)
	assert.Equal(t, []string{"AKIA"}, w.secretsSeen)

	w.putSecret("s3", map[string][]byte{"id": []byte("other")})
	w.calm(60)
	require.Len(t, w.created, 2)
	assert.True(t, strings.HasPrefix(w.created[1], "ALTER REPOSITORY"), w.created[1])

	w.desired.Sets[0].Replicas, w.desired.Revision = 4, "rev-4"
	w.calm(200)
	assert.Len(t, w.created, 3, "a node that came has verified it too")
}

func TestALostRecordIsFoundInTheRepository(t *testing.T) {
	w := backedUpWorld(t, func(b *definition.Backups) { b.Schedules[0].Keep = 2 })
	for range 3 {
		w.ahead(10 * time.Minute)
		w.calm(40)
	}
	before := w.taken()
	w.record = model.Record{}
	w.calm(60)
	assert.Equal(t, before, w.taken())
	assert.Len(t, w.record.Backups.Taken, 2)
	w.ahead(10 * time.Minute)
	w.calm(40)
	assert.Len(t, w.taken(), 2, "retention goes on")
}

// A kill before and after each write, with and without the record.
func TestBackupsSurviveAKillAtEachWrite(t *testing.T) {
	cutOff(t, func() *world {
		w := backedUpWorld(t, func(b *definition.Backups) { b.Schedules[0].Keep = 3 })
		for range 3 {
			w.ahead(10 * time.Minute)
			w.calm(40)
		}
		w.ahead(10 * time.Minute)
		w.desired.Backups.Schedules[0].Keep, w.desired.Backups.KeepAtLeast = 1, 1
		return w
	}, 1, 60, func(t *testing.T, w *world, _ model.Decision) {
		assert.Equal(t, []string{"stevedore-often-20260102t034000z SUCCESS"}, w.taken(), "the last window was taken, and it alone is kept")
		assert.Nil(t, w.record.Backups.Running)
		assert.Len(t, w.record.Backups.Taken, 1)
	})
}

func firstOf(m map[string]*toyRepository) string {
	for name := range m {
		return name
	}
	return ""
}

// calm runs passes until nothing is left to do and no snapshot runs.
func (w *world) calm(turns int) model.Decision {
	w.t.Helper()
	for range turns {
		d, err := w.pass()
		if b := w.record.Backups; err == nil && d.Verdict == model.Done && !d.Save && (b == nil || b.Running == nil && b.Due.Schedule == "" && b.Fetch == nil) {
			return d
		}
	}
	require.Failf(w.t, "not calm", "after %d turns: %v", turns, reasons(afterPasses(w.t, w, 1).Waits))
	return model.Decision{}
}

// afterPasses runs passes, and returns the last decision.
func afterPasses(t *testing.T, w *world, turns int) model.Decision {
	t.Helper()
	var last model.Decision
	for range turns {
		d, err := w.pass()
		require.NoError(t, err)
		last = d
	}
	return last
}

func TestAnotherWindowOfAScheduleIsReportedOnce(t *testing.T) {
	w := backedUpWorld(t)
	assert.Zero(t, reported(w, "ScheduleChanged"))
	w.desired.Backups.Schedules = []definition.BackupSchedule{{Name: "often", Cron: "30 2 * * *"}, {Name: "new", Cron: "0 3 * * *"}}
	w.desired.Revision = "rev-2"
	w.calm(60)
	assert.Equal(t, 1, reported(w, "ScheduleChanged"))
	i := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "ScheduleChanged" })
	assert.Equal(t, model.EventSchedule, w.reports[i].Event)
	assert.Equal(t, "30 2 * * *", w.reports[i].Cron)
}

// crate-operator says "delay" of an update that waits for a snapshot.
func TestWhatWaitsForASnapshotIsReportedOnce(t *testing.T) {
	w := backedUpWorld(t)
	w.takes = 20
	w.ahead(10 * time.Minute)
	w.until(func() bool { return w.record.Backups.Running != nil && !w.record.Backups.Running.Asked.IsZero() })
	w.desired.Sets[0].Replicas, w.desired.Revision = 4, "rev-4"
	afterPasses(t, w, 8)
	assert.Equal(t, 1, reported(w, "SnapshotFirst"))
	i := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "SnapshotFirst" })
	assert.Equal(t, model.EventDelay, w.reports[i].Event)
	assert.Equal(t, model.StatusTemporaryFailure, w.reports[i].Status)
}

func TestTheNextLookIsAtTheNextWindow(t *testing.T) {
	w := backedUpWorld(t)
	d := afterPasses(t, w, 1)
	assert.Equal(t, model.Done, d.Verdict)
	until := w.now.Truncate(10 * time.Minute).Add(10 * time.Minute).Sub(w.now)
	assert.InDelta(t, until.Seconds(), d.LookAgain.Seconds(), 1)
}
