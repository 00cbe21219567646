package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// A pod that is to come without a disk goes once the StatefulSet controller has seen the template, and has its time from
// then on.
func TestTheJudgeCountsATemplateWithoutADiskFromWhenAPodMayCome(t *testing.T) {
	limit := millis(policy.PodTimeout.Milliseconds())
	for _, c := range []struct {
		name    string
		stalled millis
		red     bool
	}{
		{"the StatefulSet controller sees it at once", 0, true},
		{"the StatefulSet controller has stalled meanwhile", 45 * second, false},
		{"the StatefulSet controller stalled long ago", -limit, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Schedule{Seed: disking, Start: Start{Hot: 3, Driver: quickDriver, Disks: 2}}
			w := newWorld(&s, nil, nil)
			for w.stored.record.Operation != nil || !w.stored.record.Bootstrap.Done {
				w.passOnce()
			}
			d := w.daemons[0]
			w.templates[w.sets[0].template].mounts = 0
			w.sets[0].narrow.since, w.stalled = w.now, w.now+c.stalled
			v := broken(func() {
				for end := w.now + limit + widensSoon + 5*second; w.now < end; w.now += second {
					w.judge.disksEnd(w, d)
				}
			})
			requireViolation(t, v, "H", c.red)
		})
	}
}

// A pod that the StatefulSet controller does not make is owed soon, but not while all nodes are to stop and a person is asked
// what becomes of a volume before.
func TestTheJudgeWaitsForAPodBehindAMissingDisk(t *testing.T) {
	asks := []model.Reason{{Name: gates.ClaimBeingDeletedRule.Name}}
	for _, c := range []struct {
		name  string
		stops bool
		says  []model.Reason
		red   bool
	}{
		{"in a cluster that runs", false, nil, true},
		{"a person is asked for a claim", false, asks, true},
		{"all nodes are to stop", true, nil, true},
		{"all nodes are to stop, and a person is asked for a claim", true, asks, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Schedule{Seed: disking, Start: Start{Hot: 4, Driver: quickDriver, Disks: 2}}
			w := newWorld(&s, nil, nil)
			for w.stored.record.Operation != nil || !w.stored.record.Bootstrap.Done {
				w.passOnce()
			}
			d := w.daemons[0]
			w.slots[0].pod.disks, w.slots[2].pod.exists = 0, false
			d.decision.Waits = c.says
			if c.stops {
				w.commits[d.want].replicas = [3]int{}
			}
			v := broken(func() {
				for end := w.now + returnsSoon + 5*second; w.now < end; w.now += second {
					w.judge.disksEnd(w, d)
				}
			})
			requireViolation(t, v, "E", c.red)
		})
	}
}

// Tables are red, and what is missing may be on the claim of a disk that a pod came back without. That pod is restarted, also
// with the only copy of a shard.
func TestTheJudgeLetsAPodGoForTheDiskThatItLacks(t *testing.T) {
	for _, c := range []struct {
		name  string
		so    func(w *world, d *daemon)
		isRed bool
	}{
		{"it lacks a disk on which CrateDB has written", func(*world, *daemon) {}, false},
		{"no table is red", func(_ *world, d *daemon) { d.observed.Database.Health.Colour = model.Yellow }, true},
		{"CrateDB has never written on it", func(w *world, _ *daemon) { w.slots[0].claimOn(1).version = "" }, true},
		{"there is no such claim", func(w *world, _ *daemon) { w.slots[0].claimOn(1).exists = false }, true},
		{"its StatefulSet has no such disk", func(w *world, _ *daemon) { w.templates[w.sets[0].template].shape = shape{size: firstSize} }, true},
		{"it has all its disks", func(w *world, _ *daemon) { w.slots[0].pod.disks |= 1 }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Schedule{Seed: disking, Start: Start{Hot: 3, Driver: quickDriver, Disks: 2}}
			w := newWorld(&s, nil, nil)
			for w.stored.record.Operation != nil || !w.stored.record.Bootstrap.Done {
				w.passOnce()
			}
			w.addTable("doc.a", "1", 1, firstVersion)
			w.advance(w.now + minute)
			d, sh := w.daemons[0], &w.shards[0]
			d.checked, d.began, d.acted, d.readAt = w.now, w.now, w.now, w.now
			d.observed.Database.Health.Colour = model.Red
			sh.copies = sh.copies[:1]
			sh.copies[0].slot, sh.copies[0].node, sh.copies[0].disk = 0, w.slots[0].volume.node, 0
			w.slots[0].pod.disks, w.slots[0].claimOn(1).version = 0, firstVersion
			c.so(w, d)
			v := broken(func() { w.judge.deletes(w, d, &w.slots[0]) })
			requireViolation(t, v, "availability", c.isRed)
		})
	}
}

// The id of a node is on each of its disks: a voter is gone with the last of them (6430039628).
func TestTheJudgeSeesAVoterGoWithItsLastDisk(t *testing.T) {
	s := Schedule{Seed: disking, Start: Start{Hot: 3, Driver: quickDriver, Disks: 2}}
	w := newWorld(&s, nil, nil)
	for w.stored.record.Operation != nil || !w.stored.record.Bootstrap.Done {
		w.passOnce()
	}
	l := &w.slots[0]
	require.Contains(t, w.voters, l.volume.node)
	for disk := range 2 {
		require.Zero(t, w.judge.voterLost)
		w.judge.volumeLost(w, l, oneDisk(disk))
		w.loseDisks(l, oneDisk(disk))
	}
	require.Equal(t, w.now, w.judge.voterLost)
	require.False(t, w.judge.beyondRescue(w), "two of three voters are there")
}
