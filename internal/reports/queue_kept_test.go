package reports_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/model"
)

// A kill at any write, simulated: the context of the process ends there, and
// another process goes on over the same API server.
func TestEveryReportArrivesWhereverTheProcessIsKilled(t *testing.T) {
	const reportCount = 3
	for kill := range 8 {
		for _, moment := range []string{"before", "after"} {
			t.Run(fmt.Sprint(moment, " write ", kill), func(t *testing.T) {
				t.Parallel()
				server := recordtest.NewConfigMaps()
				to := newReceiver(t, httptest.NewServer, nil)
				config := reports.Config{URL: reports.Secret(to.URL)}
				var writes atomic.Int64
				dead := atomic.Bool{}
				die := func(when string) func(string, string) error {
					return func(string, string) error {
						if dead.Load() || (when == moment && writes.Add(1) == int64(kill+1)) {
							dead.Store(true)
							return errors.New("killed")
						}
						return nil
					}
				}
				server.Before, server.After = die("before"), die("after")
				p := newQueue(t, server, config).run(t)
				next := 0
				for ; next < reportCount; next++ {
					if p.queue.Enqueue(t.Context(), orders, []model.Report{feedback(fmt.Sprint("r", next))}) != nil {
						break
					}
				}
				eventually(t, func() bool { return dead.Load() || len(pendingIn(t, server, orders)) == 0 }, "killed or done")
				p.stop()
				dead.Store(false)
				server.Before, server.After = nil, nil
				// What was reported and not recorded as reported is reported again.
				p = newQueue(t, server, config).run(t)
				for ; next < reportCount; next++ {
					require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback(fmt.Sprint("r", next))}))
				}
				eventually(t, func() bool { return len(pendingIn(t, server, orders)) == 0 }, "all taken")
				p.stop()
				var once []string
				for _, id := range to.ids() {
					if len(once) == 0 || once[len(once)-1] != id {
						once = append(once, id)
					}
				}
				assert.Equal(t, []string{"r0", "r1", "r2"}, once, "each at least once, in order, again only right after itself")
			})
		}
	}
}

func TestAReportThatWasTakenIsNotSentAgainWhileItsRemovalFails(t *testing.T) {
	server := recordtest.NewConfigMaps()
	to := newReceiver(t, httptest.NewServer, nil)
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL)})
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a")}))
	var failures atomic.Int64
	server.Before = func(string, string) error {
		if failures.Add(1) <= 4 {
			return errors.New("API server away")
		}
		return nil
	}
	p.run(t)
	eventually(t, func() bool { return len(pendingIn(t, server, orders)) == 0 }, "taken off")
	assert.Equal(t, []string{"a"}, to.ids())
}

func TestTheOldestReportsAreCoalescedWhenTheQueueIsFull(t *testing.T) {
	server := recordtest.NewConfigMaps()
	clock := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	to := newReceiver(t, httptest.NewServer, nil)
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL)}, func(o *reports.Options) {
		o.Now = func() time.Time { return clock }
	})
	const total, atOnce = 75, 50
	var batch []model.Report
	for i := range total {
		report := feedback(fmt.Sprintf("r%03d", i))
		report.Message = strings.Repeat("x", 4000)
		if batch = append(batch, report); len(batch) < atOnce && i < atOnce {
			continue
		}
		require.NoError(t, p.queue.Enqueue(t.Context(), orders, batch))
		batch, clock = nil, clock.Add(time.Minute)
		require.LessOrEqual(t, len(server.Stored("prod", "stevedore-orders-reports").Data[names.DataKey]), record.Reports.Limit())
	}
	kept := pendingIn(t, server, orders)
	require.Greater(t, len(kept), 50, "most of the room is used")
	require.Less(t, len(kept), total)
	for i, id := range kept[1:] {
		require.Equal(t, fmt.Sprintf("r%03d", total-len(kept)+1+i), id, "the youngest are kept, in order")
	}
	gone := total - len(kept) + 1
	assert.Equal(t, gone, p.counts.of(reports.ResultCoalesced))
	p.run(t)
	eventually(t, func() bool { return len(to.all()) >= 2 }, "what is coalesced comes first, then the others")
	notice := to.all()[0]
	assert.Equal(t, kept[0], notice.id)
	assert.Contains(t, notice.body, fmt.Sprintf(`{"reason":"%d reports from 2026-11-21T10:00:00Z to `, gone))
	assert.Contains(t, notice.body, `"event":"delay","status":"temporary_failure"`)
	assert.Equal(t, kept[1], to.ids()[1])
}

func TestADamagedQueueIsKeptAsideAndSaidSo(t *testing.T) {
	for name, use := range map[string]func(*testing.T, *process){
		"by who enqueues": func(t *testing.T, p *process) {
			require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a")}))
			p.run(t)
		},
		"by who delivers": func(t *testing.T, p *process) { p.run(t) },
	} {
		t.Run(name, func(t *testing.T) {
			server := recordtest.NewConfigMaps()
			server.Change("prod", "stevedore-orders-reports", func(o *corev1.ConfigMap) { o.Data = map[string]string{names.DataKey: "{"} })
			to := newReceiver(t, httptest.NewServer, nil)
			p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL)})
			use(t, p)
			eventually(t, func() bool { return p.counts.of(reports.ResultDelivered) >= 1 }, "said")
			eventually(t, func() bool {
				return server.Stored("prod", "stevedore-orders-reports").Data[names.DataKey] != "{" && len(pendingIn(t, server, orders)) == 0
			}, "taken")
			assert.Contains(t, to.all()[0].body, "reports may be missing; what it held is kept in ConfigMap stevedore-orders-reports-damaged-")
			assert.Len(t, server.Names("prod"), 2)
			ids := to.ids()
			assert.Equal(t, 1, strings.Count(strings.Join(ids, " "), "damaged-"))
		})
	}
}

func TestALostQueueBeginsAnew(t *testing.T) {
	server := recordtest.NewConfigMaps()
	to := newReceiver(t, httptest.NewServer, nil)
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL)}).run(t)
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a")}))
	eventually(t, func() bool { return len(pendingIn(t, server, orders)) == 0 }, "taken")
	server.Delete("prod", "stevedore-orders-reports")
	// The first write after it finds out, if the cache did not say so.
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("b")}))
	eventually(t, func() bool { return len(to.all()) == 2 && len(pendingIn(t, server, orders)) == 0 }, "the next is delivered")
	assert.Equal(t, []string{"a", "b"}, to.ids())
}

func TestAnothersWriteToTheQueueIsNotOverwritten(t *testing.T) {
	server := recordtest.NewConfigMaps()
	config := reports.Config{URL: "http://localhost:1/"}
	a, b := newQueue(t, server, config), newQueue(t, server, config)
	var group sync.WaitGroup
	for i := range 5 {
		for name, p := range map[string]*process{"a": a, "b": b} {
			group.Go(func() {
				assert.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback(fmt.Sprint(name, i))}))
			})
		}
	}
	group.Wait()
	assert.Len(t, pendingIn(t, server, orders), 10)
}
