package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
)

func TestOnlyAClusterThatWasReleasedOrThatIsNothingIsForgotten(t *testing.T) {
	released := model.Record{Command: model.SeenCommand{Commands: model.Commands{Released: "true"}}}
	held := released
	held.Lock = &model.AllocationLock{}
	kept := lifecycle.Remains{Sets: []string{"crate-data-hot-orders"}, Claims: []string{"data0-0", "data0-1", "data0-2", "data0-3"}}
	for _, c := range []struct {
		name    string
		rec     model.Record
		remains lifecycle.Remains
		why     string
	}{
		{"it was never made", model.Record{}, lifecycle.Remains{}, ""},
		{"released, and all stands", released, kept, ""},
		{"released, and the allocation is held", held, kept, "what is held in its database is not given back yet"},
		{"it runs", model.Record{}, kept, "it has 1 StatefulSets (crate-data-hot-orders) and 4 volume claims (data0-0, data0-1, data0-2, … 1 more), and is not released"},
		{"its claims are there", model.Record{}, lifecycle.Remains{Claims: kept.Claims}, "it has 4 volume claims"},
		{"released, and still defined", released, lifecycle.Remains{Named: "https://git.example.com/apps"}, "https://git.example.com/apps still defines it"},
		{"never made, and still defined", model.Record{}, lifecycle.Remains{Named: "apps"}, "apps still defines it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			why := lifecycle.WhyNotForgotten(&c.rec, c.remains)
			if c.why == "" {
				assert.Empty(t, why)
				return
			}
			assert.Contains(t, why, c.why)
		})
	}
}
