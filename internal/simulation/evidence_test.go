package simulation

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// `system` is denied every table and a filter of its own keeps one on the nodes that leave:
// only others than `system` know. Whoever may not be asked, nobody leaves with a shard, and
// in the end all have left.
func TestANodeStaysWhileAnybodySeesAShardOnIt(t *testing.T) {
	for exec := range 6 {
		t.Run(fmt.Sprintf("exec fails as of %d", exec), func(t *testing.T) {
			seeds := uint64(12)
			if soaks() {
				seeds = 40
			}
			for seed := range seeds {
				items := []Item{
					{What: pushShrink, At: 2000, A: int(seed), B: int(seed) % 2},
					{What: denySystem, At: 100, A: 0}, {What: denySystem, At: 100, A: 1},
					{What: filterTable, At: 1500, A: int(seed) % 2, B: int(seed / 2 % 7)},
				}
				if exec > 0 {
					items = append(items, Item{What: noExec, At: 2000, A: exec, B: 40})
				}
				s := Schedule{Seed: seed, Start: Start{Masters: 3 * int(seed%2), Hot: 3, Warm: 2, Tables: []string{"0", "1"}, Shards: 3, Leave: true}, Steps: 80, Items: items}
				r := Run(s, nil, nil)
				assert.Nil(t, r.Violation, "%v", s)
			}
		})
	}
}
