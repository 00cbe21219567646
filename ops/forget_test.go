package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops"
)

func TestOnlyAClusterThatWasLetGoOrThatIsNothingIsForgotten(t *testing.T) {
	released := ops.Record{Command: ops.SeenCommand{Commands: ops.Commands{Released: "true"}}}
	held := released
	held.Hold = &ops.Hold{}
	kept := ops.Remains{Sets: []string{"crate-data-hot-orders"}, Claims: []string{"data0-0", "data0-1", "data0-2", "data0-3"}}
	for _, c := range []struct {
		name    string
		rec     ops.Record
		remains ops.Remains
		why     string
	}{
		{"it was never made", ops.Record{}, ops.Remains{}, ""},
		{"released, and all stands", released, kept, ""},
		{"released, and the allocation is held", held, kept, "what is held in its database is not given back yet"},
		{"it runs", ops.Record{}, kept, "it has 1 StatefulSets (crate-data-hot-orders) and 4 volume claims (data0-0, data0-1, data0-2, … 1 more), and is not released"},
		{"its claims are there", ops.Record{}, ops.Remains{Claims: kept.Claims}, "it has 4 volume claims"},
		{"released, and still defined", released, ops.Remains{Named: "https://git.example.com/apps"}, "https://git.example.com/apps still defines it"},
		{"never made, and still defined", ops.Record{}, ops.Remains{Named: "apps"}, "apps still defines it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			why := ops.WhyNotForgotten(&c.rec, c.remains)
			if c.why == "" {
				assert.Empty(t, why)
				return
			}
			assert.Contains(t, why, c.why)
		})
	}
}
