package simulation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Schedules in which CrateDB keeps copies in different zones, and nodes leave by leave-zone; `make simulate` runs many more.
func TestNodesLeaveAZoneWithCopiesAndNeverWithTheOnlyOne(t *testing.T) {
	ran, left := 0, 0
	for seed := uint64(zoning); ran < quick; seed++ {
		s := NewSchedule(seed)
		if !s.Start.Aware {
			continue
		}
		ran++
		var story strings.Builder
		result := Run(s, nil, &story)
		require.Nil(t, result.Violation, "make replay SEED=%d\n%v", seed, s)
		left += strings.Count(story.String(), "node(s) leave with copies of")
	}
	assert.NotZero(t, left, "no node has left with a copy: nothing was tried")
	t.Logf("%d schedules, nodes have left with copies %d times", ran, left)
}

func TestTheJudgeSeesTheOnlyCopyLeave(t *testing.T) {
	for _, c := range []struct {
		name     string
		aware    bool
		copies   func(*world) []replica
		violated bool
	}{
		{"another whole copy on a node that stays", true, func(w *world) []replica { return []replica{copyOn(w, 2), copyOn(w, 0)} }, false},
		{"without the consent", false, func(w *world) []replica { return []replica{copyOn(w, 2), copyOn(w, 0)} }, true},
		{"the only copy", true, func(w *world) []replica { return []replica{copyOn(w, 2)} }, true},
		{"the other copy is not whole", true, func(w *world) []replica {
			c := copyOn(w, 0)
			c.synced, c.state = false, initializing
			return []replica{copyOn(w, 2), c}
		}, true},
		{"the other copy is on a volume that is gone", true, func(w *world) []replica {
			c := copyOn(w, 0)
			c.node += 100
			return []replica{copyOn(w, 2), c}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := grownWorld()
			w.schedule.Start.Aware = c.aware
			w.addTable("doc.z", "1", 1, firstVersion)
			s := &w.shards[len(w.shards)-1]
			s.copies = c.copies(w)
			holds := func() { w.judge.holds(w, &w.slots[2], true) }
			if c.violated {
				assert.Panics(t, holds)
			} else {
				assert.NotPanics(t, holds)
			}
		})
	}
}

func copyOn(w *world, slot int) replica {
	return replica{slot: slot, node: w.slots[slot].volume.node, state: started, synced: true}
}
