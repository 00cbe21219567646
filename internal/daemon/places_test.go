package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// crowd counts who is at something at the same time.
type crowd struct{ now, most atomic.Int64 }

func (c *crowd) enter() {
	for now := c.now.Add(1); ; {
		most := c.most.Load()
		if now <= most || c.most.CompareAndSwap(most, now) {
			return
		}
	}
}

// The pauses of these tests are of synctest: time passes when every worker waits.

func (c *crowd) leave() { c.now.Add(-1) }

// workers of a fleet whose turns are a test's own, until the test ends.
func workers(t *testing.T, d *daemon, count int, turn func(ctx context.Context, w *worker) (time.Duration, error)) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for n := range count {
		w := &worker{daemon: d, key: key(fmt.Sprintf("c%d", n)), log: slog.New(slog.DiscardHandler), wake: make(chan struct{}, 1)}
		w.take = func(ctx context.Context) (time.Duration, error) { return turn(ctx, w) }
		d.newcomers.came()
		all.Go(func() { w.run(ctx) })
	}
	t.Cleanup(func() { cancel(); all.Wait() })
}

// What a pass of a cluster that is being founded does, an exec and a few logins, is done for so many at a time,
// however many are founded.
func TestNoMoreClustersAreWorkedOnAtOnceThanThereArePlaces(t *testing.T) {
	for _, c := range []struct {
		name string
		// lasts is what a pass waits for pods.
		lasts time.Duration
	}{
		{"pods answer at once", 50 * time.Millisecond},
		{"the machine is so busy that an answer takes seconds", passPatience - time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &daemon{firstPasses: newPlaces(4), passes: newPlaces(maxPasses)}
				var first, later crowd
				seen := make(map[*worker]bool)
				var mu sync.Mutex
				workers(t, d, 200, func(_ context.Context, w *worker) (time.Duration, error) {
					mu.Lock()
					newcomer := !seen[w]
					seen[w] = true
					mu.Unlock()
					at := &later
					if newcomer {
						at = &first
					}
					at.enter()
					defer at.leave()
					w.whilePodsAnswer(func() { time.Sleep(c.lasts) })
					return time.Millisecond, nil
				})
				time.Sleep(5 * time.Minute)
				mu.Lock()
				assert.Equal(t, 200, len(seen), "each has had its turn")
				mu.Unlock()
				assert.Equal(t, int64(4), first.most.Load())
				assert.Equal(t, int64(maxPasses), later.most.Load())
			})
		})
	}
}

func TestPodsThatDoNotAnswerHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{firstPasses: newPlaces(4), passes: newPlaces(4)}
		var mu sync.Mutex
		var last time.Time
		var longest time.Duration
		workers(t, d, 101, func(ctx context.Context, w *worker) (time.Duration, error) {
			if w.key != key("c100") {
				w.whilePodsAnswer(func() { sleep(ctx, 40*time.Second) })
				return time.Second, nil
			}
			mu.Lock()
			defer mu.Unlock()
			if !last.IsZero() {
				longest = max(longest, time.Since(last))
			}
			last = time.Now()
			return time.Second, nil
		})
		time.Sleep(10 * time.Minute) // by then each has waited in vain
		mu.Lock()
		longest = 0
		mu.Unlock()
		time.Sleep(10 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		require.NotZero(t, longest)
		assert.Less(t, longest, 2*time.Second, "between two passes of the one whose pods answer")
	})
}

func TestWhoGivesWayHasNoPlaceMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{firstPasses: newPlaces(2), passes: newPlaces(1)}
		d.newcomers.came() // one whose first pass lasts
		var turns, founded atomic.Int64
		workers(t, d, 2, func(_ context.Context, w *worker) (time.Duration, error) {
			if w.key == key("c1") {
				turns.Add(1)
				return time.Millisecond, nil
			}
			if w.givesWay(model.Record{}, model.Decision{Harmless: []model.Action{{}}}, false) {
				return 0, nil
			}
			founded.Add(1)
			return time.Hour, nil
		})
		time.Sleep(time.Second)
		assert.Zero(t, founded.Load())
		assert.Greater(t, turns.Load(), int64(10))
		d.newcomers.seen()
		time.Sleep(time.Second)
		assert.Equal(t, int64(1), founded.Load())
	})
}

func TestADaemonThatEndsWaitsForNoPlace(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Nil(t, newPlaces(0).take(ctx))
}
