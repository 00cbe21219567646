package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Found with the tables that `system` may not see, with include lists and with views that
// are not read. Each failed before the decision was corrected.
func TestWhatWasFoundBlindStaysCorrected(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Schedule
	}{
		{"a pod with the only active copy of a hidden table was restarted: sys.cluster_health knows", Schedule{Seed: 204004756, Steps: 70,
			Start: Start{Hot: 1, Tables: []string{"0-all", "0-1", "0"}, Shards: 1},
			Items: []Item{{What: createTable, At: 29300, A: 5, B: 26}, {What: denySystem, At: 90400, A: 39, B: 32}}}},
		{"nodes were drained of a table that includes or requires them", Schedule{Seed: 202507452, Steps: 70,
			Start: Start{Hot: 4, Tables: []string{"0"}, Shards: 1, Extend: true, Leave: true},
			Items: []Item{{What: pushShrink, At: 500, A: 4, B: 1}, {What: pinTable, At: 88400, A: 5, B: 7}}}},
		{"a suspension stopped nodes that had just joined, and was taken back at once", Schedule{Seed: 204011337, Steps: 60,
			Start: Start{Hot: 3, Tables: []string{"1", "1"}, Shards: 3, Leave: true, Zones: true},
			Items: []Item{{What: pushGrow, At: 500, A: 5, B: 7}, {What: pushAddGroup, At: 33100, A: 7, B: 7}, {What: pushSuspend, At: 37700, A: 0, B: 5}}}},
		{"somebody excluded a node that leaves by its name, which made ours void: the drain stood still for ever", Schedule{Seed: 200101814, Steps: 70,
			Start: Start{Hot: 5, Tables: []string{"1", "1-all"}, Shards: 1},
			Items: []Item{{What: pushShrink, At: 2900, A: 3, B: 5}, {What: excludeByName, Call: 32, A: 62, B: 16}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for timing := range uint64(40) {
				s := c.s
				s.Seed += timing
				assert.Nil(t, Run(s, nil, nil).Violation, "%v", s)
			}
		})
	}
}
