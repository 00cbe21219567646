package simulation

import (
	"testing"

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
