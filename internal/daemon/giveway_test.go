package daemon

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

func TestAClusterThatIsBeingFoundedLetsNewOnesGoFirst(t *testing.T) {
	acts := model.Decision{Harmless: []model.Action{{Kind: model.ActionCreateSystemSecret}}}
	for _, test := range []struct {
		name     string
		decision model.Decision
		wrote    bool
		done     bool
		// before is done to the newcomers before the wait, after a second into it.
		before, after func(*newcomers)
		waits         time.Duration
	}{
		{"there is none", acts, false, false, func(*newcomers) {}, func(*newcomers) {}, 0},
		{"the last one has been seen", acts, false, false, func(n *newcomers) { n.came(); n.seen() }, func(*newcomers) {}, 0},
		{"two come to be seen", acts, false, false, func(n *newcomers) { n.came(); n.came() }, func(n *newcomers) { n.seen(); n.seen() }, time.Second},
		{"one of two never ends its first pass", acts, false, false, func(n *newcomers) { n.came(); n.came() }, (*newcomers).seen, 2 * giveWayFor},
		{"one never ends its first pass", acts, false, false, (*newcomers).came, func(*newcomers) {}, giveWayFor},
		{"so many come that it takes them a minute", acts, false, false, func(n *newcomers) {
			for k := range 60 {
				n.came()
				time.AfterFunc(time.Duration(k+1)*time.Second, n.seen)
			}
		}, func(*newcomers) {}, time.Minute},
		{"it was founded long ago", acts, true, true, (*newcomers).came, func(*newcomers) {}, 0},
		{"its objects have just been applied", model.Decision{}, true, false, (*newcomers).came, func(*newcomers) {}, giveWayFor},
		{"nothing is to be done", model.Decision{}, false, false, (*newcomers).came, func(*newcomers) {}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &worker{daemon: &daemon{}}
				test.before(&w.newcomers)
				time.AfterFunc(time.Second, func() { test.after(&w.newcomers) })
				began := time.Now()
				w.givesWay(model.Record{Bootstrap: model.Bootstrap{Done: test.done}}, test.decision, test.wrote)
				w.yield(t.Context())
				assert.Equal(t, test.waits, time.Since(began))
				if test.waits > 0 {
					w.newcomers.came()
					began = time.Now()
					assert.False(t, w.givesWay(model.Record{}, test.decision, true))
					w.yield(t.Context())
					assert.Zero(t, time.Since(began), "a second wait")
				}
				time.Sleep(time.Second) // what is to come a second later has come
			})
		})
	}
}

func TestADaemonThatEndsGivesWayToNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &newcomers{}
		n.came()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		n.wait(ctx, giveWayFor)
		assert.Equal(t, time.Second, time.Since(began))
	})
}

func TestItIsToldWhenThereAreNewClustersAndWhenThereAreNoneAnyMore(t *testing.T) {
	var told []bool
	n := &newcomers{told: func(some bool) { told = append(told, some) }}
	n.came()
	n.came()
	n.seen()
	assert.Equal(t, []bool{true}, told)
	n.seen()
	n.came()
	n.seen()
	assert.Equal(t, []bool{true, false, true, false}, told)
}
