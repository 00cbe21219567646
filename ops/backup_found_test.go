package ops_test

import (
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

func TestTheNextLookAtAWindowThatWaitsIsSoon(t *testing.T) {
	w := backedUpWorld(t, func(b *definition.Backups) {
		b.Schedules = append(b.Schedules, definition.BackupSchedule{Name: "orders", Cron: b.Schedules[0].Cron, Tables: []string{"doc.two"}})
	})
	w.ahead(10 * time.Minute)
	for range 60 {
		d := afterPasses(t, w, 1)
		if due := w.record.Backups.Due; due.Schedule != "" {
			assert.LessOrEqual(t, d.LookAgain, 5*time.Second, "schedule %s waits", due.Schedule)
		}
	}
	assert.Len(t, w.taken(), 2, "both windows of one moment are taken")
}

// What runs is in the cluster state, and so in each list, whether its repository answers or not.
func TestASnapshotThatIsInNoListAnyMoreHasFailed(t *testing.T) {
	for _, c := range []struct {
		name  string
		loses func(w *world)
		left  int
	}{
		{"all nodes ended during the first one", func(w *world) {
			for _, r := range w.repositories {
				r.snapshots = nil
			}
		}, 1},
		{"and the repository shows nothing", func(w *world) {
			for _, r := range w.repositories {
				for _, s := range r.snapshots {
					s.state, s.finished = model.SnapshotFailed, w.now
				}
			}
			w.silent = true
		}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := backedUpWorld(t)
			w.takes = 1000
			w.ahead(10 * time.Minute)
			for i := 0; w.record.Backups.Running == nil || w.record.Backups.Running.Asked.IsZero(); i++ {
				require.Less(t, i, 60)
				afterPasses(t, w, 1)
			}
			c.loses(w)
			w.ahead(5 * time.Second)
			afterPasses(t, w, 3)
			require.NotNil(t, w.record.Backups.Running, "one list is not believed: the node that gives it may be behind")
			for i := 0; w.record.Backups.Running != nil; i++ {
				require.Less(t, i, 200)
				w.ahead(2 * time.Second)
				afterPasses(t, w, 1)
			}
			assert.Equal(t, 1, reported(w, "SnapshotFailed"))
			w.silent, w.takes = false, 2
			w.ahead(10 * time.Minute)
			w.calm(60)
			assert.Equal(t, "stevedore-often-20260102t032000z SUCCESS", w.taken()[len(w.taken())-1], "the next window is taken")
		})
	}
}

// An object store may refuse just when a snapshot has succeeded: CrateDB then shows nothing of the repository.
func TestASnapshotThatSucceededBeforeItsRepositoryBecameUnreachableHasNotFailed(t *testing.T) {
	w := backedUpWorld(t)
	w.ahead(10 * time.Minute)
	w.calm(60)
	require.Len(t, w.taken(), 1)
	w.takes = 2
	w.ahead(10 * time.Minute)
	w.until(func() bool { return w.record.Backups.Running != nil && !w.record.Backups.Running.Asked.IsZero() })
	w.silent = true
	for i := 0; w.record.Backups.Running != nil; i++ {
		require.Less(t, i, 200)
		w.ahead(2 * time.Second)
		afterPasses(t, w, 1)
	}
	assert.Zero(t, reported(w, "SnapshotFailed"))
	assert.Equal(t, 1, reported(w, "SnapshotUnknown"))
	w.ahead(10 * time.Minute)
	d := afterPasses(t, w, 5)
	assert.Contains(t, messages(d.Waits), "it is not known which snapshots there are", "none begins before that is known")
	assert.Len(t, w.record.Backups.Taken, 1)
	w.silent = false
	w.calm(60)
	w.calm(60)
	assert.Len(t, w.record.Backups.Taken, 3)
	for _, k := range w.record.Backups.Taken {
		assert.Equal(t, model.SnapshotSuccess, k.State)
	}
}

func TestARepositoryThatSomebodyHasDroppedIsCreatedAgain(t *testing.T) {
	w := backedUpWorld(t)
	w.ahead(10 * time.Minute)
	w.calm(30)
	name := firstOf(w.repositories)
	w.repositories[name+" dropped"] = w.repositories[name]
	delete(w.repositories, name)
	w.ahead(10 * time.Minute)
	w.calm(60)
	assert.Len(t, w.created, 2)
	assert.Equal(t, []string{"stevedore-often-20260102t031000z SUCCESS", "stevedore-often-20260102t032000z SUCCESS"}, w.taken())
	assert.Len(t, w.record.Backups.Taken, 2)
}

func TestARepositoryThatIsOursAgainIsUsed(t *testing.T) {
	w := newWorld(t, backedUp())
	w.takes = 1
	w.calm(60)
	name := firstOf(w.repositories)
	w.record.Backups.Foreign, w.record.Backups.ForeignAt = "nightly-1", w.now
	w.repositories[name].snapshots = []*toySnapshot{{name: "nightly-1", state: model.SnapshotSuccess, finished: w.now}}
	w.ahead(11 * time.Minute)
	d := afterPasses(t, w, 20)
	assert.Contains(t, reasons(d.Waits), "repository-not-ours", "it was looked at again, and is not")
	w.repositories[name].snapshots = nil
	w.ahead(11 * time.Minute)
	w.calm(60)
	assert.Equal(t, []string{"stevedore-often-20260102t032000z SUCCESS"}, w.taken())
}

func TestAnotherRepositoryWaitsForTheSnapshotAndVerifiedForThat(t *testing.T) {
	w := backedUpWorld(t, func(b *definition.Backups) { b.MaxDelay = time.Second })
	w.takes = 200
	w.ahead(10 * time.Minute)
	for i := 0; w.record.Backups.Running == nil; i++ {
		require.Less(t, i, 60)
		afterPasses(t, w, 1)
	}
	afterPasses(t, w, 5)
	w.desired.Backups.Repository.Base, w.desired.Revision = "/elsewhere", "rev-2"
	for i := 0; len(w.created) == 1; i++ {
		require.Less(t, i, 3000)
		require.False(t, w.record.Revision == "rev-2" && w.record.Stage == model.StageVerified, "the repository is not there yet")
		afterPasses(t, w, 1)
	}
	w.calm(60)
	assert.Equal(t, model.StageVerified, w.record.Stage)
}

func TestASnapshotOfALostRecordInAnotherRepositoryIsWaitedFor(t *testing.T) {
	w := backedUpWorld(t)
	w.takes = 40
	w.ahead(10 * time.Minute)
	for i := 0; len(w.taken()) == 0; i++ {
		require.Less(t, i, 60)
		afterPasses(t, w, 1)
	}
	w.record = model.Record{}
	w.desired.Backups.Repository.Base, w.desired.Revision = "/elsewhere", "rev-2"
	w.commands.BackupAt = w.now.Format(time.RFC3339)
	w.calm(600)
	require.Len(t, w.taken(), 2)
	var first, second *toySnapshot
	for _, r := range w.repositories {
		for _, s := range r.snapshots {
			if strings.Contains(s.name, "-often-") {
				first = s
			} else {
				second = s
			}
		}
	}
	assert.GreaterOrEqual(t, second.finished.Sub(first.finished), 20*time.Second, "one after the other")
}

// One was given up that nobody could ask for, and runs all the same; or the list was behind that a new record was made of.
func TestNoSnapshotBeginsBesideOneThatTheReadingShows(t *testing.T) {
	for name, repository := range map[string]string{"in its repository": "", "in a former one": "stevedore_former"} {
		t.Run(name, func(t *testing.T) {
			w := backedUpWorld(t)
			runs := true
			w.see = func(db *model.Database) {
				if runs {
					shown := model.ListedSnapshot{Repository: repository, Name: model.SnapshotName("often", w.now.Add(-time.Hour)), State: model.SnapshotInProgress}
					if repository == "" {
						shown.Repository = firstOf(w.repositories)
					}
					db.SnapshotsKnown, db.Snapshots, db.Listing, db.Listed = true, 1, []model.ListedSnapshot{shown}, db.At
				}
			}
			w.record.Backups.Listed = w.now
			due := model.SnapshotName("some", w.now)
			w.record.Backups.Running = &model.RunningSnapshot{Name: due, Schedule: "some", Began: w.now}
			for range 5 {
				d, err := w.pass()
				require.NoError(t, err)
				assert.Nil(t, action(&d, model.ActionCreateSnapshot))
				assert.Contains(t, messages(d.Waits), "is still being taken")
			}
			runs = false
			w.calm(20)
			assert.Contains(t, w.taken(), due+" SUCCESS", "it is taken after that one")
		})
	}
}

// Seed 6410581679: a node was away for a moment while its snapshot was to be asked for, and then the nodes ran two versions,
// which only the end of a shrink could change. That waits while a snapshot is recorded.
func TestASnapshotThatNobodyCouldAskForIsGivenUpWhereWhatIsDesiredHasWaitedForIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		so    func(w *world, r *model.RunningSnapshot)
		stays bool
	}{
		{"what is desired has waited for maxDelay", func(*world, *model.RunningSnapshot) {}, false},
		{"it waits for less than that", func(w *world, r *model.RunningSnapshot) {
			r.Began = w.now.Add(-w.desired.Backups.MaxDelay + time.Second)
		}, true},
		{"nothing waits for it", func(w *world, _ *model.RunningSnapshot) { w.record.Stage = model.StageVerified }, true},
		{"it was asked for", func(w *world, r *model.RunningSnapshot) { r.Asked = w.now }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := backedUpWorld(t)
			w.record.Stage = model.StageApplied
			w.record.Backups.Listed = w.now
			running := &model.RunningSnapshot{Name: model.SnapshotName("some", w.now), Schedule: "some", Began: w.now.Add(-w.desired.Backups.MaxDelay - time.Second)}
			c.so(w, running)
			w.record.Backups.Running = running
			o := w.observe()
			o.Database.Nodes[0].Version = "6.3.7"
			d := ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
			assert.Equal(t, c.stays, d.Record.Backups.Running != nil, "%v", messages(d.Waits))
			if !c.stays {
				assert.Zero(t, d.Record.Backups.Listed, "if it runs after all, the next list shows it")
			}
		})
	}
}

// No reading has a list in the pass in which the next one begins: the executor asks for one.
func TestNoSnapshotBeginsBesideOneThatOnlyTheLastLookShows(t *testing.T) {
	for name, repository := range map[string]string{"in its repository": "", "in a former one": "stevedore_former"} {
		t.Run(name, func(t *testing.T) {
			w := backedUpWorld(t)
			w.ahead(10 * time.Minute)
			w.calm(60)
			if repository == "" {
				repository = firstOf(w.repositories)
			} else {
				w.repositories[repository] = &toyRepository{}
			}
			other := &toySnapshot{name: model.SnapshotName("some", w.now), what: "ALL", state: model.SnapshotInProgress, looks: 30}
			w.repositories[repository].snapshots = append(w.repositories[repository].snapshots, other)
			w.ahead(10 * time.Minute)
			said := 0
			for i := 0; other.state == model.SnapshotInProgress; i++ {
				require.Less(t, i, 60)
				d := afterPasses(t, w, 1)
				if slices.Contains(reasons(d.Waits), "backup-waits") && strings.Contains(messages(d.Waits), "snapshot "+other.name+" is still being taken") {
					said++
				}
				if other.state == model.SnapshotInProgress {
					require.Len(t, w.taken(), 2, "none begins beside it")
				}
			}
			assert.Greater(t, said, 10, "status says what it waits for")
			w.calm(60)
			assert.Contains(t, w.taken(), "stevedore-often-20260102t032000z SUCCESS", "it is taken after that one")
		})
	}
}

// It was recorded, and the daemon was killed before CREATE SNAPSHOT.
func TestASnapshotThatNobodyHasAskedForWaitsForAPodThatWasTakenDown(t *testing.T) {
	w := backedUpWorld(t, func(b *definition.Backups) { b.MaxDelay = time.Minute })
	w.template, w.desired.Revision = "t2", "rev-t2"
	for i := 0; !w.anyAway(); i++ {
		require.Less(t, i, 600)
		afterPasses(t, w, 1)
	}
	at := w.now.Add(-time.Hour)
	w.record.Backups.Running = &model.RunningSnapshot{Name: model.SnapshotName("often", at), Schedule: "often", Began: at}
	w.calm(1500) // the world refuses a snapshot that begins while a node is away
	assert.Contains(t, w.taken(), model.SnapshotName("often", at)+" SUCCESS")
}

// The node that lists the snapshots may be behind.
func TestNoPodGoesDuringASnapshotThatAListLacks(t *testing.T) {
	w := backedUpWorld(t, func(b *definition.Backups) { b.MaxDelay = time.Second })
	w.takes = 1000
	w.ahead(10 * time.Minute)
	for i := 0; w.record.Backups.Running == nil || w.record.Backups.Running.Asked.IsZero(); i++ {
		require.Less(t, i, 60)
		afterPasses(t, w, 1)
	}
	w.silent, w.looksAway = true, true
	w.template, w.desired.Revision = "t2", "rev-t2"
	for i := 0; w.record.Backups.Running != nil && i < 400; i++ {
		afterPasses(t, w, 1)
		require.True(t, w.record.Backups.Running == nil || !w.anyAway(), "it is waited for until it counts as gone")
	}
	assert.Nil(t, w.record.Backups.Running)
	for i := 0; w.pods["crate-data-hot-c-2"].template != "t2"; i++ {
		require.Less(t, i, 3000)
		afterPasses(t, w, 1)
	}
}

// An operation goes on between two pods only while all nodes are there.
func TestASnapshotThatIsLateWaitsForANodeThatIsAwayDuringAnOperation(t *testing.T) {
	w := backedUpWorld(t, func(b *definition.Backups) { b.MaxDelay = time.Second })
	w.desired.Operations.StableFor = 90 * time.Second
	w.template, w.desired.Revision = "t2", "rev-t2"
	for i := 0; w.record.Operation == nil || w.record.Operation.Step != model.StepNext; i++ {
		require.Less(t, i, 600)
		afterPasses(t, w, 1)
	}
	w.pods["crate-data-hot-c-1"].away = 50
	w.ahead(10 * time.Minute)
	for w.pods["crate-data-hot-c-1"].away > 0 {
		afterPasses(t, w, 1) // the world refuses a snapshot that begins while a node is away
	}
	w.calm(2000)
	assert.NotEmpty(t, w.taken())
}

// No pod goes while a snapshot is recorded, and what it waits for may come of the operation alone.
func TestASnapshotThatNobodyCanAskForHoldsNoOperationUp(t *testing.T) {
	for name, hinders := range map[string]func(w *world){
		"the repository was dropped, and somebody has created it again": func(w *world) { w.record.Backups.Repository.Settings, w.record.Backups.Repository.Nodes = "", "" },
		"it is not known which snapshots there are":                     func(w *world) { w.mute, w.record.Backups.Listed = true, time.Time{} },
	} {
		t.Run(name, func(t *testing.T) {
			w := backedUpWorld(t, func(b *definition.Backups) { b.MaxDelay = time.Minute })
			w.desired.Operations.StableFor = 90 * time.Second
			w.template, w.desired.Revision = "t2", "rev-t2"
			for i := 0; w.record.Operation == nil || w.record.Operation.Step != model.StepNext; i++ {
				require.Less(t, i, 600)
				afterPasses(t, w, 1)
			}
			w.record.Backups.Running = &model.RunningSnapshot{Name: model.SnapshotName("often", w.now), Schedule: "often", Began: w.now}
			hinders(w)
			assert.Contains(t, reasons(afterPassesOf(w, 1).Waits), "backup-waits")
			afterPassesOf(w, 2000)
			assert.Equal(t, "t2", w.pods["crate-data-hot-c-2"].template)
			assert.GreaterOrEqual(t, reported(w, "SnapshotFailed"), 1)
		})
	}
}

// It may have been asked for, and the answer was lost with the daemon: then it runs, and the next list shows it.
func TestAfterASnapshotIsGivenUpNoneBeginsBeforeAListIsRead(t *testing.T) {
	w := backedUpWorld(t, func(b *definition.Backups) { b.MaxDelay = time.Minute })
	w.desired.Operations.StableFor = 90 * time.Second
	w.template, w.desired.Revision = "t2", "rev-t2"
	w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == model.StepNext })
	w.record.Backups.Running = &model.RunningSnapshot{Name: model.SnapshotName("often", w.now), Schedule: "often", Began: w.now}
	w.record.Backups.Repository.Settings, w.record.Backups.Repository.Nodes = "", ""
	require.NotZero(t, w.record.Backups.Listed)
	w.until(func() bool { return reported(w, "SnapshotFailed") > 0 })
	assert.Zero(t, w.record.Backups.Listed)
}

// A cluster without nodes takes no snapshot: that is no delay, and nobody is told of one. What it missed is taken once
// it has come back.
func TestASuspendedClusterWaitsForNoSnapshot(t *testing.T) {
	w := backedUpWorld(t)
	runs := w.desired
	w.desired = at0(w.desired)
	w.rest(60)
	w.ahead(3 * time.Hour)
	for range 5 {
		d, err := w.pass()
		require.NoError(t, err)
		assert.NotContains(t, reasons(d.Waits), "backup-waits")
	}
	assert.Zero(t, reported(w, "BackupOverdue"))
	assert.Empty(t, w.taken())
	w.desired = runs
	w.calm(120)
	assert.Len(t, w.taken(), 1)
	assert.Zero(t, reported(w, "BackupOverdue"))
}
