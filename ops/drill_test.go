package ops_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// drilledWorld has 25 tables, a snapshot of them, and a drill that is due in a moment.
func drilledWorld(t *testing.T, edits ...func(b *definition.Backups)) *world {
	w := backedUpWorld(t, append([]func(b *definition.Backups){func(b *definition.Backups) {
		b.Schedules = []definition.BackupSchedule{{Name: "often", Cron: "0 */6 * * *"}}
		b.Drill = &definition.Drill{Cron: "30 */6 * * *"}
	}}, edits...)...)
	w.operations = map[string]int64{}
	for i := range 25 {
		w.operations[fmt.Sprintf("doc.t%d", i)] = int64(10 * i)
	}
	w.needs = 2
	w.now = time.Date(2026, 3, 5, 6, 0, 1, 0, time.UTC)
	w.record.Backups.Drilled = w.now
	w.calm(60)
	require.Len(t, w.taken(), 1)
	w.now = time.Date(2026, 3, 5, 6, 30, 1, 0, time.UTC)
	return w
}

// newestTaken is the newest snapshot of the record.
func (w *world) newestTaken() *model.TakenSnapshot {
	return &w.record.Backups.Taken[len(w.record.Backups.Taken)-1]
}

// drilling runs passes until tables of a drill are there.
func (w *world) drilling() {
	w.t.Helper()
	w.until(func() bool { return len(w.restored) > 0 })
}

func TestADrillProvesTheNewestSnapshot(t *testing.T) {
	w := drilledWorld(t)
	d := w.calm(200)
	assert.Equal(t, model.Done, d.Verdict)
	p := w.newestTaken().Proof
	assert.True(t, p.Whole(), "%+v", p)
	assert.Equal(t, []int{25, 25, 25}, []int{p.Of, p.Restored, p.Compared})
	assert.Empty(t, w.restored, "what was restored is dropped")
	assert.Len(t, w.dropped, 25)
	assert.Len(t, w.restores, 3, "ten tables at a time")
	assert.Equal(t, 1, reported(w, "SnapshotProven"))
	for name := range w.operations {
		assert.NotContains(t, w.dropped, name)
	}

	restores := len(w.restores)
	w.now = time.Date(2026, 3, 5, 6, 50, 0, 0, time.UTC)
	w.calm(60)
	assert.Len(t, w.restores, restores, "one window is one drill")

	// The next window comes without a newer snapshot.
	w.desired.Backups.Schedules = nil
	w.now = time.Date(2026, 3, 5, 12, 30, 1, 0, time.UTC)
	w.calm(60)
	assert.Len(t, w.restores, restores, "what is proven is not tried again")
}

// Each of these is found by a drill, said, and leaves nothing behind.
func TestADrillFindsWhatIsWrongWithASnapshot(t *testing.T) {
	for _, c := range []struct {
		name     string
		edit     func(w *world)
		text     string
		compared int
	}{
		{"a table cannot be fetched", func(w *world) { w.unfetchable = map[string]int{"doc.t3": 1} }, "doc.t3: it could not be fetched", 24},
		{"a table lacks operations", func(w *world) { w.latest().operations["doc.t7"] = 69 }, "doc.t7 has 69 of the 70 operations that were recorded", 24},
		{"its tables are empty", func(w *world) {
			for name := range w.latest().operations {
				w.latest().operations[name] = 0
			}
		}, "has 0 of the", 1},
		{"the snapshot is gone", func(w *world) { w.latest().name = "another" }, "the repository does not show it, or cannot read it", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := drilledWorld(t)
			w.latest().operations = maps.Clone(w.latest().operations)
			snapshot := w.newestTaken().Name
			c.edit(w)
			d := w.calm(300)
			assert.Equal(t, 1, reported(w, "DrillFailed"))
			assert.Empty(t, w.restored)
			if c.compared == 0 {
				return // its proof is gone with it
			}
			p := w.newestTaken().Proof
			assert.False(t, p.Whole())
			assert.Contains(t, p.Failed, c.text)
			assert.Equal(t, c.compared, p.Compared)
			assert.Contains(t, reasons(d.Waits), gates.DrillFailedRule.Name)
			assert.Contains(t, messages(d.Waits), snapshot)
			assert.Equal(t, model.Done, d.Verdict, "it holds nothing up")
		})
	}
}

// latest is the newest snapshot in the repository.
func (w *world) latest() *toySnapshot {
	for _, r := range w.repositories {
		return r.snapshots[len(r.snapshots)-1]
	}
	return nil
}

func TestADrillThatTriesSomeTablesProvesNothingAndSaysHowMany(t *testing.T) {
	for _, c := range []struct {
		name     string
		edit     func(w *world)
		restored int
		text     string
	}{
		{"maxBytes", func(w *world) { w.desired.Backups.Drill.MaxBytes = 5 << 20 }, 5, "it is beyond maxBytes"},
		{"a table that CrateDB does not restore", func(w *world) {
			w.refused = map[string]string{"doc.t9": `The relation "doc.t9" doesn't support or allow RESTORE SNAPSHOT operations`}
		}, 24, "doesn't support"},
		{"a snapshot of which nothing was recorded", func(w *world) { w.newestTaken().Operations = "" }, 25, "0 of them compared"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := drilledWorld(t)
			c.edit(w)
			w.calm(400)
			p := w.newestTaken().Proof
			assert.False(t, p.Whole())
			assert.Empty(t, p.Failed)
			assert.Equal(t, c.restored, p.Restored)
			assert.Equal(t, 1, reported(w, "SnapshotTried"))
			assert.Contains(t, messageOf(w, "SnapshotTried"), c.text)
			assert.Empty(t, w.restored)
		})
	}
}

func messageOf(w *world, reason string) string {
	for _, r := range w.reports {
		if r.Reason == reason {
			return r.Message
		}
	}
	return ""
}

// The tables of a drill are no loss while they come, and what is asked for does not wait for them.
func TestADrillIsInNobodysWay(t *testing.T) {
	t.Run("its tables are not the cluster's", func(t *testing.T) {
		w := drilledWorld(t)
		w.drilling()
		d := afterPasses(t, w, 1)
		assert.Equal(t, model.Done, d.Verdict)
		assert.Contains(t, reasons(d.Waits), gates.DrillRunningRule.Name)
		assert.NotContains(t, reasons(d.Waits), gates.PodsReadyRule.Name)
	})
	t.Run("an operation begins when they are dropped, and the drill goes on afterwards", func(t *testing.T) {
		w := drilledWorld(t)
		w.needs = 1000
		w.drilling()
		w.desired.Sets[0].Replicas, w.desired.Revision = 4, "rev-4"
		w.until(func() bool { return w.record.Operation != nil })
		assert.Empty(t, w.restored, "they are dropped first")
		w.needs = 2
		w.calm(400)
		assert.True(t, w.newestTaken().Proof.Whole())
		assert.Len(t, w.pods, 4)
	})
	t.Run("an operation begins though they cannot be dropped", func(t *testing.T) {
		w := drilledWorld(t)
		w.needs = 1000
		w.drilling()
		w.undroppable = true
		w.desired.Sets[0].Replicas, w.desired.Revision = 4, "rev-4"
		d := afterPassesOf(w, 20)
		assert.Contains(t, reasons(d.Waits), gates.DrillEndsRule.Name)
		assert.Nil(t, w.record.Operation)
		w.ahead(time.Minute)
		w.until(func() bool { return w.record.Operation != nil })
	})
	t.Run("they stay while an operation waits for a snapshot that fails", func(t *testing.T) {
		w := drilledWorld(t, func(b *definition.Backups) { b.SnapshotNewerThan = 10 * time.Minute })
		w.needs, w.endsAs = 1000, model.SnapshotPartial
		to(w, "6.4.4")
		w.until(func() bool { return w.record.Backups.Failed != "" })
		w.drilling()
		for range 20 {
			d := afterPassesOf(w, 1)
			assert.NotEmpty(t, w.restored)
			assert.Contains(t, reasons(d.Waits), gates.SnapshotNewerRule.Name)
			assert.NotContains(t, reasons(d.Waits), gates.DrillEndsRule.Name)
		}
	})
	t.Run("a snapshot begins when they are dropped", func(t *testing.T) {
		w := drilledWorld(t)
		w.needs = 1000
		w.drilling()
		w.now = time.Date(2026, 3, 5, 12, 0, 1, 0, time.UTC)
		w.until(func() bool { return w.record.Backups.Running != nil })
		assert.Empty(t, w.restored)
	})
	t.Run("they are dropped when a node goes", func(t *testing.T) {
		w := drilledWorld(t)
		w.needs = 1000
		w.drilling()
		w.pods[hot+"-1"].away = 50
		w.until(func() bool { return len(w.restored) == 0 })
	})
	for _, colour := range []model.Colour{model.Red, model.ColourUnknown} {
		t.Run("they are dropped while the health is "+colour.String(), func(t *testing.T) {
			w := drilledWorld(t)
			w.needs = 1000
			w.drilling()
			w.see = func(db *model.Database) { db.Health.Colour = colour }
			w.until(func() bool { return len(w.restored) == 0 })
		})
	}
	t.Run("they are dropped when a person asks for tables, and the drill ends", func(t *testing.T) {
		w := drilledWorld(t)
		w.needs = 1000
		w.drilling()
		w.commands.FetchAt = model.FetchCommand{At: w.now, Schema: "old", Tables: []string{"doc.t3"}}.String()
		w.until(func() bool { return len(w.restored) == 0 })
		w.needs = 2
		w.until(func() bool { return len(w.tableNames()) == 1 })
		assert.Equal(t, []string{"old.t3"}, w.tableNames())
		assert.Equal(t, 1, reported(w, "DrillEnded"))
		w.calm(60)
		assert.Zero(t, w.newestTaken().Proof)
	})
	t.Run("they are dropped where the definition has no backups any more", func(t *testing.T) {
		w := drilledWorld(t)
		w.needs = 1000
		w.drilling()
		w.desired.Backups, w.desired.Revision = nil, "rev-without"
		w.calm(60)
		assert.Empty(t, w.restored)
		assert.Nil(t, w.record.Backups)
	})
}

// afterPassesOf runs passes whose actions may fail, and returns the last decision.
func afterPassesOf(w *world, turns int) model.Decision {
	var last model.Decision
	for range turns {
		if d, err := w.pass(); err == nil {
			last = d
		}
	}
	return last
}

// Whatever is lost on the way: nothing stays behind, and no table of anybody else is touched.
func TestADrillLeavesNothingBehind(t *testing.T) {
	for kill := 1; kill <= 24; kill++ {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("killed at write %d, record lost: %t", kill, lost), func(t *testing.T) {
				w := drilledWorld(t)
				w.restored = map[string]int{"stevedore_drill_of_somebody.t1": 0}
				w.killAt, w.after, w.lose = w.writes+kill, kill%2 == 0, lost
				w.calm(500)
				w.now = time.Date(2026, 3, 5, 12, 30, 1, 0, time.UTC)
				w.calm(500)
				assert.Equal(t, []string{"stevedore_drill_of_somebody.t1"}, slices.Collect(maps.Keys(w.restored)))
				assert.True(t, w.newestTaken().Proof.Whole(), "%+v", w.newestTaken())
			})
		}
	}
}

func TestADrillWaitsForASnapshot(t *testing.T) {
	w := backedUpWorld(t, func(b *definition.Backups) {
		b.Schedules = nil
		b.Drill = &definition.Drill{Cron: "*/5 * * * *"}
	})
	w.ahead(time.Hour)
	d := afterPasses(t, w, 5)
	assert.Contains(t, reasons(d.Waits), gates.DrillWaitsRule.Name)
	assert.Equal(t, model.Done, d.Verdict)
	w.commands.BackupAt = w.now.UTC().Format(time.RFC3339)
	w.calm(60)
	w.calm(60)
	assert.Equal(t, 2, w.newestTaken().Proof.Restored)
}

// With drills keepAtLeast counts those that were proven, too.
func TestSnapshotsThatAreProvenStay(t *testing.T) {
	w := drilledWorld(t, func(b *definition.Backups) {
		b.Schedules[0].Keep, b.KeepAtLeast = 1, 1
	})
	w.calm(200)
	proven := w.newestTaken().Name
	w.unfetchable = map[string]int{"doc.t3": 100}
	for i := range 3 {
		w.now = time.Date(2026, 3, 5, 12, 0, 1, 0, time.UTC).Add(time.Duration(i) * 6 * time.Hour)
		w.calm(300)
	}
	assert.Contains(t, strings.Join(w.taken(), ","), proven, "the only one that is proven")
	assert.Len(t, w.taken(), 2)
	kept := backup.Kept(w.record.Backups, w.now)
	assert.Equal(t, backup.ByProven, kept[0])
}

// Any node may answer, also one that shows neither the tables nor that they come.
func TestANodeThatIsBehindMakesNoDrillFail(t *testing.T) {
	w := drilledWorld(t)
	w.needs = 8
	w.drilling()
	w.behind = 4
	w.calm(300)
	assert.True(t, w.newestTaken().Proof.Whole(), "%+v", w.newestTaken().Proof)
}

// A shard whose file is lost is waited for for ever.
func TestADrillOfATableThatNeverComesEnds(t *testing.T) {
	w := drilledWorld(t)
	w.needs = 1_000_000
	w.drilling()
	afterPasses(t, w, 5)
	w.ahead(9 * time.Minute)
	afterPasses(t, w, 2)
	assert.Zero(t, reported(w, "DrillFailed"))
	w.needs = 2
	w.ahead(2 * time.Minute)
	w.calm(300)
	assert.Contains(t, w.newestTaken().Proof.Failed, "nothing came for 10m0s")
	assert.Equal(t, 15, w.newestTaken().Proof.Restored)
	assert.Empty(t, w.restored)
}

// A drill gives way to each snapshot that is due, and its tables are asked for once more after that. A table that never
// comes was waited for from the beginning each time, and with a snapshot each few minutes the drill never ended.
func TestADrillOfATableThatNeverComesEndsThoughItGivesWay(t *testing.T) {
	w := drilledWorld(t)
	w.needs = 1_000_000
	drills := func() {
		w.drilling()
		afterPasses(t, w, 5)
		w.ahead(6 * time.Minute)
	}
	drills()
	w.commands.BackupAt = w.now.UTC().Format(time.RFC3339)
	w.until(func() bool { return len(w.restored) == 0 })
	drills()
	assert.Empty(t, w.record.Backups.Fetch.Failed)
	afterPasses(t, w, 2)
	assert.Contains(t, w.record.Backups.Fetch.Failed, "nothing came for 10m0s")
}

// The node that answered first was behind, or the repository held the statement until later.
func TestWhatIsLeftOfADrillIsFoundLater(t *testing.T) {
	w := drilledWorld(t)
	w.calm(200)
	table := strings.TrimSuffix(model.ScratchSchema(w.record.ClusterID, w.newestTaken().Name), "$1") + "doc.t3"
	w.restored = map[string]int{table: 0, "stevedore_drill_of_somebody.t1": 0}
	w.calm(60)
	w.now = time.Date(2026, 3, 5, 12, 0, 1, 0, time.UTC)
	w.calm(200)
	assert.Equal(t, []string{"stevedore_drill_of_somebody.t1"}, slices.Collect(maps.Keys(w.restored)))
	assert.Equal(t, 1, reported(w, "DrillFound"))
	assert.Len(t, w.taken(), 2, "the snapshot that was due is taken")
}

// CrateDB changes no repository while it restores from it: with the record lost it is known again before that.
func TestADrillOfALostRecordIsFoundThoughTheRepositoryIsInUse(t *testing.T) {
	for name, unseen := range map[string]int{"readings show it": 0, "CrateDB refuses to change it": 8} {
		t.Run(name, func(t *testing.T) {
			w := drilledWorld(t)
			w.needs = 1_000_000
			w.drilling()
			w.record.Backups, w.unseen = nil, unseen
			afterPassesOf(w, 60)
			assert.Empty(t, w.restored)
			assert.Equal(t, 1, reported(w, "DrillFound"))
			assert.NotEmpty(t, w.record.Backups.Repository.Settings, "and then it is verified")
		})
	}
}

// The answer to an earlier attempt may have been lost, and its tables be there.
func TestADrillThatIsRefusedLeavesNothingThere(t *testing.T) {
	for name, why := range map[string]string{"the repository cannot be read": "could not read repository data", "the snapshot is gone": "snapshot does not exist"} {
		t.Run(name, func(t *testing.T) {
			w := drilledWorld(t)
			w.operations = map[string]int64{"doc.t3": 30}
			w.latest().operations = w.operations
			w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchAsk })
			w.restored = map[string]int{w.record.Backups.Fetch.Target("doc.t3"): 0}
			w.refused = map[string]string{"doc.t3": why}
			w.calm(300)
			assert.Empty(t, w.restored)
		})
	}
}

func TestADrillEndsWithItsDefinitionThoughNobodyAnswers(t *testing.T) {
	w := drilledWorld(t)
	w.needs = 1_000_000
	w.drilling()
	w.desired.Backups, w.desired.Revision = nil, "rev-without"
	w.see = func(db *model.Database) { *db = model.Database{At: db.At, Contact: model.No} }
	afterPassesOf(w, 10)
	w.see = nil
	w.calm(60)
	assert.Empty(t, w.restored)
	assert.Nil(t, w.record.Backups)
}

// CrateDB has a node verify a repository when it is created, and fetches onto every node: one that cannot reach it makes a
// snapshot look as if its tables could not be restored.
func TestNodesThatHaveJoinedVerifyTheRepositoryBeforeADrillGoesOn(t *testing.T) {
	for name, at := range map[string]func(t *testing.T) *world{
		"a drill":   func(t *testing.T) *world { return drilledWorld(t) },
		"a restore": func(t *testing.T) *world { return asksFor(t, "old", "doc.t3") },
	} {
		t.Run(name, func(t *testing.T) {
			w := at(t)
			w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchNext })
			joined := w.record.Backups.Repository.Nodes
			w.record.Backups.Repository.Nodes = strings.Join(strings.Split(joined, ",")[1:], ",")
			d := afterPasses(t, w, 1)
			assert.Contains(t, messages(d.Waits), "it waits: a node that has joined verifies the repository first")
			assert.Empty(t, w.restores)
			w.until(func() bool { return len(w.restores) > 0 })
			assert.Equal(t, joined, w.record.Backups.Repository.Nodes)
			assert.Len(t, w.created, 2)
		})
	}
	t.Run("not that of another place, which the definition has left", func(t *testing.T) {
		w := drilledWorld(t)
		w.until(func() bool { f := w.record.Backups.Fetch; return f != nil && f.Step == model.FetchNext })
		w.record.Backups.Fetch.Repository = "stevedore_00000000"
		w.record.Backups.Repository.Nodes = "others"
		afterPasses(t, w, 1)
		assert.Equal(t, model.FetchAsk, w.record.Backups.Fetch.Step)
	})
}

// Their names follow from the cluster: no list is needed to know them, and it may be that none comes.
func TestWhatIsLeftOfADrillIsFoundWithoutItsSnapshot(t *testing.T) {
	for name, edit := range map[string]func(w *world){
		"the snapshot is gone": func(w *world) { w.latest().name = "another" },
		"the key of the store is gone": func(w *world) {
			w.desired.Backups.Repository.Secrets = []definition.SecretSetting{{Name: "access_key", Ref: definition.SecretKeyRef{Name: "s3", Key: "id"}}}
		},
		"the definition has no backups any more": func(w *world) { w.desired.Backups, w.desired.Revision = nil, "rev-without" },
	} {
		t.Run(name, func(t *testing.T) {
			w := drilledWorld(t)
			w.needs = 1_000_000
			w.drilling()
			w.restored["stevedore_drill_0123456789ab_doc.t1"] = -1 // somebody's, or another cluster's
			edit(w)
			w.record.Backups = nil
			afterPassesOf(w, 60)
			assert.Equal(t, map[string]int{"stevedore_drill_0123456789ab_doc.t1": -1}, w.restored)
			assert.Equal(t, 1, reported(w, "DrillFound"))
		})
	}
}

// Without spec.backups nothing reads the tables of drills: the list of all tables has one that has come.
func TestWhatIsLeftOfADrillIsFoundInTheListOfTables(t *testing.T) {
	s := made(t)
	s.d.Backups, s.r.Backups = nil, nil
	table := strings.TrimSuffix(model.ScratchSchema(s.r.ClusterID, "stevedore-often-20260305t120000z"), "$1") + "doc.t3"
	s.o.Database.Tables = append(slices.Clone(s.o.Database.Tables), model.Table{Name: table, Replicas: "0"}, model.Table{Name: table + ".04132", Partition: "04132", Replicas: "0"})
	d := s.decide()
	require.NotNil(t, d.Record.Backups)
	assert.Equal(t, []string{"doc.t3"}, d.Record.Backups.Fetch.Batch)
}
