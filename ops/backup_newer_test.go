package ops_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

func TestARiskyOperationBeginsAfterANewSnapshot(t *testing.T) {
	shrink := func(w *world) {
		backups := w.desired.Backups
		w.desired = tiers(3, 1)
		w.desired.Version, w.desired.Backups = "6.4.3", backups
	}
	for _, c := range []struct {
		name   string
		change func(w *world)
		before int
		age    time.Duration
		taken  int
	}{
		{"a shrink without any", shrink, 0, 0, 1},
		{"a shrink with an old one", shrink, 1, 25 * time.Hour, 2},
		{"a shrink with a new one", shrink, 1, time.Hour, 1},
		{"a shrink with a new one in a place that is not desired any more", func(w *world) {
			shrink(w)
			elsewhere := *w.desired.Backups
			elsewhere.Repository.Base = "/elsewhere"
			w.desired.Backups = &elsewhere
		}, 1, time.Hour, 2},
		{"an upgrade", func(w *world) { to(w, "6.4.4") }, 0, 0, 1},
		{"a restart needs none", func(w *world) { w.template, w.desired.Revision = "t2", "rev-t2" }, 0, 0, 0},
		{"a grow needs none", func(w *world) { w.desired.Sets[0].Replicas, w.desired.Revision = 4, "rev-4" }, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := freshWorld(t)
			if strings.Contains(c.name, "shrink") {
				w = filledWorld(t)
			}
			for range c.before {
				w.commands.BackupAt = w.now.Format(time.RFC3339)
				w.calm(40)
			}
			w.ahead(c.age)
			c.change(w)
			seen := false
			for range 40 {
				d := afterPasses(t, w, 1)
				seen = seen || slices.Contains(reasons(d.Waits), "snapshot-newer") || slices.Contains(reasons(d.Waits), "snapshot-first")
				if w.record.Operation != nil && backup.Risky(w.record.Operation.Kind) {
					assert.Len(t, w.taken(), c.taken, "it begins after the snapshot")
				}
			}
			assert.Equal(t, c.taken > c.before, seen, "it is said")
			d := w.calm(2000)
			assert.Equal(t, model.Done, d.Verdict)
			assert.Len(t, w.taken(), c.taken)
		})
	}
}

// fresh asks for a snapshot of the last 24 hours before what is risky.
func fresh(b *definition.Backups) { b.SnapshotNewerThan, b.Schedules = 24*time.Hour, nil }

func freshWorld(t *testing.T) *world { return backedUpWorld(t, fresh) }

// filledWorld has two groups, of which the second may shrink.
func filledWorld(t *testing.T) *world {
	d := tiers(3, 3)
	d.Version, d.Backups = "6.4.3", backedUp(fresh).Backups
	w := filled(t, d)
	w.takes = 3
	w.calm(60)
	return w
}

func TestAnOperationWaitsForASnapshotThatFails(t *testing.T) {
	w := freshWorld(t)
	w.endsAs = model.SnapshotPartial
	to(w, "6.4.4")
	d := afterPasses(t, w, 60)
	assert.Contains(t, reasons(d.Waits), "snapshot-newer")
	assert.Nil(t, w.record.Operation)
	assert.Len(t, w.taken(), 1, "not one at each look")
	w.endsAs = ""
	w.ahead(11 * time.Minute)
	d = w.calm(2000)
	assert.Equal(t, model.Done, d.Verdict)
	require.Len(t, w.taken(), 1, "the partial one is dropped")
	assert.Contains(t, w.taken()[0], "SUCCESS")
}

func TestASnapshotOfSomeTablesIsNotNewEnough(t *testing.T) {
	w := backedUpWorld(t, func(b *definition.Backups) {
		b.SnapshotNewerThan, b.Schedules[0].Tables = 24*time.Hour, []string{"doc.one"}
	})
	w.ahead(10 * time.Minute)
	w.calm(40)
	require.Len(t, w.taken(), 1)
	to(w, "6.4.4")
	w.calm(600)
	assert.Contains(t, strings.Join(w.taken(), "\n"), "stevedore-before-", "one of all tables is taken first")
}

// A gate never forbids the repair that its own condition calls for.
func TestTheRepairOfARedClusterWaitsForNoSnapshot(t *testing.T) {
	w := freshWorld(t)
	w.red = true
	to(w, "6.4.4")
	for range 20 {
		d := afterPasses(t, w, 1)
		require.NotContains(t, reasons(d.Waits), "snapshot-newer")
	}
	assert.NotNil(t, w.record.Operation)
}

// What somebody drops is created again, and a snapshot that ran there has ended; a node that is behind drops
// nothing.
func TestARepositoryThatSomebodyDropsIsCreatedAgain(t *testing.T) {
	t.Run("while a snapshot runs", func(t *testing.T) {
		w := backedUpWorld(t)
		w.takes = 1000
		w.ahead(10 * time.Minute)
		afterPasses(t, w, 10)
		require.NotNil(t, w.record.Backups.Running)
		w.repositories = map[string]*toyRepository{}
		w.takes = 3
		w.calm(100)
		assert.Len(t, w.created, 2)
		assert.Equal(t, 1, reported(w, "RepositoryGone"))
		assert.Equal(t, 1, reported(w, "SnapshotFailed"))
		w.ahead(10 * time.Minute)
		w.calm(100)
		assert.Len(t, w.taken(), 1, "and snapshots go on")
	})
	t.Run("a node that is behind", func(t *testing.T) {
		w := backedUpWorld(t)
		w.unseen = 3
		w.calm(60)
		assert.Len(t, w.created, 1)
		assert.Zero(t, reported(w, "RepositoryGone"))
	})
}

// Our own record is a witness, too: a listing may not show the snapshot that we have asked for.
func TestNoPodGoesDownUnderASnapshotThatNoListingShows(t *testing.T) {
	w := backedUpWorld(t, func(b *definition.Backups) { b.MaxDelay = time.Minute })
	w.takes = 1000
	w.ahead(10 * time.Minute)
	afterPasses(t, w, 10)
	require.NotNil(t, w.record.Backups.Running)
	w.silent, w.unshown = true, true
	w.template, w.desired.Revision = "t2", "rev-t2"
	d := afterPasses(t, w, 70)
	assert.Contains(t, reasons(d.Waits), "snapshot-running")
	assert.Zero(t, w.pods["crate-data-hot-c-0"].restarts)
}

// Nodes of two versions have no snapshot: what is to bring them to one may not wait for it.
func TestAnUpgradeThatStoppedHalfwayWaitsForNoSnapshot(t *testing.T) {
	w := freshWorld(t)
	to(w, "6.4.4")
	for i := 0; len(versionsOf(w)) == 1 && i < 2000; i++ {
		afterPasses(t, w, 1)
	}
	require.Len(t, versionsOf(w), 2)
	w.record.Operation = nil
	w.ahead(48 * time.Hour)
	w.calm(3000)
	checkUpgraded(t, w, "6.4.4")
}

func versionsOf(w *world) map[string]bool {
	all := map[string]bool{}
	for _, p := range w.pods {
		all[w.versionOf(p.template)] = true
	}
	return all
}

func TestARiskyOperationWaitsForARepositoryThatIsStillToBeMade(t *testing.T) {
	for _, c := range []struct {
		name  string
		loses func(w *world)
		taken int
	}{
		{"the record was lost", func(w *world) { w.record = model.Record{} }, 1},
		{"the record was lost, and the repository", func(w *world) { w.record, w.repositories = model.Record{}, nil }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := freshWorld(t)
			c.loses(w)
			to(w, "6.4.4")
			for range 200 {
				afterPasses(t, w, 1)
				if op := w.record.Operation; op != nil && op.Kind == model.OperationUpgrade {
					break
				}
			}
			require.NotNil(t, w.record.Operation, "it begins at last")
			assert.Len(t, w.taken(), c.taken, "after a snapshot")
		})
	}
}

// Before 5.7.3 sys.snapshots shows nothing of what runs: a listing without it ends nothing.
func TestBeforeCrateDBListsWhatRunsNoListingEndsASnapshot(t *testing.T) {
	for version, ends := range map[string]bool{"5.7.2": false, "5.7.3": true} {
		w := backedUpWorld(t)
		w.takes = 1000
		w.ahead(10 * time.Minute)
		afterPasses(t, w, 10)
		require.NotNil(t, w.record.Backups.Running)
		w.silent, w.record.Version = true, version
		afterPasses(t, w, 200)
		assert.Equal(t, ends, w.record.Backups.Running == nil, version)
	}
}

// No snapshot can have tables that are being restored. Where they wait for a node whose pod is stuck, only another
// template brings that, and an upgrade does.
func TestNoUpgradeWaitsForASnapshotThatWaitsForTheUpgrade(t *testing.T) {
	stuck := func(s *situation) { s.away(hot + "-2"); s.podOf(hot + "-2").Waiting = "ImagePullBackOff" }
	for _, c := range []struct {
		name   string
		so     func(s *situation)
		begins bool
	}{
		{"all nodes are there", func(*situation) {}, false},
		{"a pod is stuck", stuck, true},
		{"a node is away, and its pod may come", func(s *situation) { s.away(hot + "-2"); s.podOf(hot + "-2").Started = s.o.At }, false},
		{"a pod is stuck, and a drill ends by itself", func(s *situation) { stuck(s); s.r.Backups.Fetch.Drill = true }, false},
		{"a pod is stuck, and what has come is dropped again", func(s *situation) { stuck(s); s.r.Backups.Fetch.Step = model.FetchDrop }, false},
		{"a pod is stuck, and two tables that are there exchange their names (6420404237)", func(s *situation) { stuck(s); s.r.Backups.Fetch.Verb = model.FetchUndo }, false},
		{"a pod is stuck, and the tables are there (3000021357)", func(s *situation) { stuck(s); s.r.Backups.Fetch.Done = s.r.Backups.Fetch.Of }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := asksFor(t, "old", "doc.t3")
			w.needs = 1_000_000
			w.drilling()
			s := &situation{d: w.desired, o: w.observe(), r: w.record}
			b, f, d := *s.r.Backups, *s.r.Backups.Fetch, *s.d.Backups
			f.Since, b.Fetch = s.o.At.Add(-2*d.MaxDelay), &f
			d.SnapshotNewerThan, s.d.Backups, s.r.Backups = time.Second, &d, &b
			s.d.Version = "6.4.4"
			s.pending(model.ChangeImage)
			c.so(s)
			decision := s.decide()
			assert.Equal(t, c.begins, decision.Record.Operation != nil, "%v", decision.Waits)
			assert.Equal(t, !c.begins, slices.Contains(reasons(decision.Waits), "snapshot-newer"), "%v", decision.Waits)
		})
	}
}

// Seed 6420404237: an undo waited for a node that only an upgrade brings back, the upgrade for a newer snapshot, and that for the
// undo. It goes back, and begins again after the snapshot.
func TestAnUndoMakesWayForASnapshotThatHasWaitedForLong(t *testing.T) {
	for _, step := range []model.FetchStep{model.FetchReady, model.FetchSwap} {
		w := replaces(t)
		w.calmed()
		w.now = w.now.Add(time.Minute)
		w.commands.FetchAt = model.FetchCommand{At: w.now, Verb: model.FetchUndo, Tables: []string{"doc.t3"}}.String()
		w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == step })
		w.see = func(db *model.Database) { // its pod is stuck
			db.Nodes = slices.DeleteFunc(slices.Clone(db.Nodes), func(n model.Node) bool { return n.Name == hot+"/1" })
		}
		w.now = time.Date(2026, 3, 5, 12, 0, 1, 0, time.UTC)
		afterPasses(t, w, 3)
		require.NotEmpty(t, w.record.Backups.Due.Schedule)
		require.True(t, w.record.Backups.Fetch.There(), "not yet")
		before := len(w.taken())
		w.ahead(2 * w.desired.Backups.MaxDelay)
		w.until(func() bool { return len(w.taken()) > before })
		assert.Equal(t, 1, w.swaps)
		w.see = nil
		w.calmed()
		assert.Equal(t, 2, w.swaps)
		assert.Empty(t, w.dropped)
	}
}

// Seeds 6420053012 and 6420335362: each reading of the tables has the list of snapshots, and cost a write of the record.
func TestAListThatShowsNothingNewCostsNoWrite(t *testing.T) {
	for _, c := range []struct {
		name   string
		so     func(s *situation, b *model.Backups)
		writes bool
	}{
		{"nothing is new", func(*situation, *model.Backups) {}, false},
		{"somebody has dropped one", func(s *situation, _ *model.Backups) { s.o.Database.Listing = s.o.Database.Listing[:1] }, true},
		{"nobody knows what is there", func(_ *situation, b *model.Backups) { b.Listed = time.Time{} }, true},
		{"one is being taken, which each list shows", func(s *situation, b *model.Backups) {
			b.Running = &model.RunningSnapshot{Name: "stevedore-nightly-20260306t020000z", Schedule: "nightly", Began: s.o.At, Asked: s.o.At}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := backedUpWorld(t)
			for range 2 {
				w.now = w.now.Add(time.Minute)
				w.commands.BackupAt = w.now.Format(time.RFC3339)
				w.calm(40)
			}
			require.Len(t, w.record.Backups.Taken, 2)
			s := &situation{d: w.desired, o: w.observe(), r: w.record}
			b := *s.r.Backups
			s.o.Database.Listed, s.o.Database.Listing = s.o.At.Add(time.Minute), nil
			for _, k := range b.Taken {
				s.o.Database.Listing = append(s.o.Database.Listing, model.ListedSnapshot{Repository: b.Repository.Name, Name: k.Name, State: k.State, Finished: k.Finished})
			}
			before := b.Listed
			s.r.Backups = &b
			c.so(s, &b)
			assert.Equal(t, c.writes, !s.decide().Record.Backups.Listed.Equal(before))
		})
	}
}
