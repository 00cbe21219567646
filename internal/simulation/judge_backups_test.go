package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// Each situation is one that a daemon must never bring about.
func TestTheJudgeOfSnapshotsNotices(t *testing.T) {
	const name = oursPrefix + "often-20260102t030500z"
	taken := func(w *world, all ...snapshotTaken) {
		f := w.folderOf(w.known[0].folder)
		f.snapshots = append(f.snapshots, all...)
	}
	good := func(name string, ended millis) snapshotTaken {
		return snapshotTaken{name: name, state: model.SnapshotSuccess, all: true, whole: true, ended: ended}
	}
	risky := func(w *world) {
		next := w.stored.record
		next.Operation = &model.Operation{Kind: model.OperationShrink}
		w.judge.risks(w, w.daemons[0], &w.stored.record, &next)
	}
	replaces := func(w *world) {
		next := w.stored.record
		next.Operation = &model.Operation{Kind: model.OperationReplace, Shrink: &model.Shrink{Replaces: w.slots[w.used[0]].podName}}
		w.judge.risks(w, w.daemons[0], &w.stored.record, &next)
	}
	running := snapshotTaken{name: name, state: model.SnapshotInProgress, nodes: ^uint64(0)}
	for _, c := range []struct {
		name, invariant string
		breach          func(w *world)
	}{
		{"two at once", "snapshot", func(w *world) {
			taken(w, running)
			w.judge.beginsSnapshot(w, w.daemons[0], &w.known[0], &snapshotTaken{name: oursPrefix + "now-20260102t030501z"}, false)
		}},
		{"two at once, of which the store has held one", "", func(w *world) {
			late := running
			late.held = true
			taken(w, late)
			w.judge.beginsSnapshot(w, w.daemons[0], &w.known[0], &snapshotTaken{name: oursPrefix + "now-20260102t030501z"}, false)
		}},
		{"two at once, of which the store has held one, and the last look shows it", "snapshot", func(w *world) {
			late := running
			late.held = true
			taken(w, late)
			w.now += minute
			w.daemons[0].looked.snapshotsAt = w.now
			w.judge.beginsSnapshot(w, w.daemons[0], &w.known[0], &snapshotTaken{name: oursPrefix + "now-20260102t030501z"}, false)
		}},
		{"nobody has looked whether another one runs", "snapshot", func(w *world) {
			w.judge.asksSnapshot(w, w.daemons[0], w.known[0].name, oursPrefix+"now-20260102t030501z")
		}},
		{"somebody has", "", func(w *world) {
			w.daemons[0].looked.snapshotsAt = w.now
			w.judge.asksSnapshot(w, w.daemons[0], w.known[0].name, oursPrefix+"now-20260102t030501z")
		}},
		{"nodes of two versions", "snapshot", func(w *world) {
			w.templates[w.slots[w.used[0]].pod.template].version = upgradeTo
			w.slots[w.used[1]].pod.template = len(w.templates)
			w.templates = append(w.templates, template{version: firstVersion})
			w.judge.beginsSnapshot(w, w.daemons[0], &w.known[0], &running, false)
		}},
		{"a pod that a daemon has taken down is away", "snapshot", func(w *world) {
			w.stored.record.Operation = &model.Operation{Kind: model.OperationRestart}
			w.judge.note(w, &w.slots[w.used[0]], byDaemon)
			w.slots[w.used[0]].pod.joined = false
			w.daemons[0].readAt = w.now + second
			w.judge.beginsSnapshot(w, w.daemons[0], &w.known[0], &running, false)
		}},
		{"a pod that was no node is away", "", func(w *world) {
			w.stored.record.Operation = &model.Operation{Kind: model.OperationUpgrade}
			w.slots[w.used[0]].pod.joined = false
			w.judge.note(w, &w.slots[w.used[0]], byDaemon)
			w.daemons[0].readAt = w.now + second
			w.judge.beginsSnapshot(w, w.daemons[0], &w.known[0], &running, false)
		}},
		{"a pod goes while one runs", "snapshot", func(w *world) {
			taken(w, running)
			w.now += minute
			w.judge.breaks(w, w.daemons[0], &w.slots[w.used[0]])
		}},
		{"the newest good one is dropped", "D", func(w *world) {
			taken(w, good(name, w.now))
			w.judge.drops(w, w.daemons[0], w.known[0].name, name)
		}},
		{"fewer than keepAtLeast stay", "D", func(w *world) {
			taken(w, good(name, w.now-minute), good(oursPrefix+"often-20260102t030600z", w.now))
			w.judge.drops(w, w.daemons[0], w.known[0].name, name)
		}},
		{"one is dropped, and the last one failed", "D", func(w *world) {
			w.head().backups.KeepAtLeast = 1
			taken(w, good(name, w.now-minute), good(oursPrefix+"often-20260102t030600z", w.now-second), snapshotTaken{name: oursPrefix + "often-20260102t030700z", state: model.SnapshotPartial, ended: w.now})
			w.judge.drops(w, w.daemons[0], w.known[0].name, name)
		}},
		{"somebody else's is dropped", "D", func(w *world) {
			taken(w, good("nightly-1", w.now))
			w.judge.drops(w, w.daemons[0], w.known[0].name, "nightly-1")
		}},
		{"a shrink begins without any", "snapshot", risky},
		{"a node is to come onto other volumes, without any", "snapshot", replaces},
		{"so it is, and somebody has deleted its claim", "snapshot", func(w *world) {
			w.slots[w.used[0]].claim.going = true
			replaces(w)
		}},
		{"a shrink begins with an old one", "snapshot", func(w *world) {
			taken(w, good(name, w.now-5*minute))
			risky(w)
		}},
		{"a shrink begins with one of some tables", "snapshot", func(w *world) {
			taken(w, snapshotTaken{name: name, state: model.SnapshotSuccess, ended: w.now})
			risky(w)
		}},
		{"verified without its repository", "F", func(w *world) {
			w.known = nil
			w.judge.saysBackups(w, w.daemons[0], &model.Report{Reason: "RevisionVerified", Revision: w.head().desired.Revision})
		}},
		{"verified with another key", "F", func(w *world) {
			w.known[0].key = "another"
			w.judge.saysBackups(w, w.daemons[0], &model.Report{Reason: "RevisionVerified", Revision: w.head().desired.Revision})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := broken(func() { c.breach(withBackups(t)) })
			requireViolation(t, v, c.invariant, c.invariant != "")
		})
	}
	w := withBackups(t)
	w.slots[w.used[0]].claim.going, w.slots[w.used[0]].claim.ours = true, true
	assert.Nil(t, broken(func() { replaces(w) }), "the claims of its node are deleted: an only copy that is back there goes away at once")
}

// withBackups is a cluster at rest, whose repository is there.
func withBackups(t *testing.T) *world {
	t.Helper()
	s := Schedule{Seed: 3, Start: Start{Hot: 3, Tables: []string{"1"}, Shards: 4, Backups: true, Takes: 10 * second, Plan: backupPlan{Every: 50, AtLeast: 2, Newer: 60}}}
	w := newWorld(&s, nil, nil)
	for len(w.known) == 0 || w.stored.record.Operation != nil {
		require.Less(t, w.now, 5*minute)
		w.passOnce()
	}
	w.addTable("doc.a", "1", 4, firstVersion)
	w.advance(w.now + minute)
	d := w.daemons[0]
	d.checked, d.began, d.acted, d.readAt = w.now, w.now-second, w.now-second, w.now
	d.observed.Database = model.Database{Contact: model.Yes, MasterNode: "node-1", Health: model.Health{Colour: model.Green}}
	return w
}

func TestTheLastWindowOfAScheduleIsOneThatIsMoreThanAMomentAgo(t *testing.T) {
	w := withBackups(t)
	w.now = 4 * minute // 03:08:05
	at := func(minutes int) millis {
		return millis(time.Date(2026, 1, 2, 3, minutes, 0, 0, time.UTC).Sub(epoch).Milliseconds())
	}
	assert.Equal(t, at(6), w.lastWindow("*/2 * * * *", 0), "08 is too new")
	assert.Equal(t, millis(0), w.lastWindow("*/2 * * * *", at(6)))
}

// Snapshots are not made worse by what nobody judges: each kind of what happens to them happens.
func TestSnapshotsOfSchedulesEndInEachWay(t *testing.T) {
	ways := map[string]int{}
	for seed := uint64(backing); seed < backing+60; seed++ {
		s := NewSchedule(seed)
		if !s.Start.Backups {
			continue
		}
		w := newWorld(&s, nil, nil)
		require.Nil(t, broken(func() { w.run() }), "make replay SEED=%d", seed)
		w.eachSnapshot(func(_ *repository, taken *snapshotTaken) { ways[taken.state]++ })
	}
	assert.Greater(t, ways[model.SnapshotSuccess], 20)
	assert.Greater(t, ways[model.SnapshotPartial], 0)
}
