package reports_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/loopback"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/model"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(t.Context()))
}

func eventually(t *testing.T, condition func() bool, message string) {
	t.Helper()
	require.Eventually(t, condition, patience, 2*time.Millisecond, message)
}

// pendingIn are the ids that are stored as not taken yet.
func pendingIn(t *testing.T, server *recordtest.ConfigMaps, cluster record.Cluster) []string {
	t.Helper()
	object := server.Stored(cluster.Namespace, record.Reports.Name(cluster.Name))
	if object == nil {
		return nil
	}
	var queue struct{ Pending []struct{ ID string } }
	require.NoError(t, json.Unmarshal([]byte(object.Data[names.DataKey]), &queue))
	var ids []string
	for _, p := range queue.Pending {
		ids = append(ids, p.ID)
	}
	return ids
}

func TestAReportIsDeliveredInOrderWithItsHeadersAndLeavesTheQueue(t *testing.T) {
	server := recordtest.NewConfigMaps()
	to := newReceiver(t, httptest.NewServer, nil)
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL + "/hook"), Username: "me", Password: "pass", Secret: "key"}).run(t)
	for _, id := range []string{"a", "b", "c"} {
		require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback(id)}))
	}
	eventually(t, func() bool { return len(pendingIn(t, server, orders)) == 0 }, "all taken")
	assert.Equal(t, []string{"a", "b", "c"}, to.ids())
	for _, d := range to.all() {
		assert.Equal(t, "r1", d.revision)
		assert.Equal(t, "application/json", d.contentType)
		assert.Equal(t, "stevedore/test", d.agent)
		assert.Equal(t, []string{"me", "pass"}, []string{d.username, d.password})
		assert.Equal(t, signature("key", d.body), d.signature)
		want, err := reports.BodyOf(orders, feedback(d.id))
		require.NoError(t, err)
		assert.Equal(t, string(want), d.body)
	}
	assert.Equal(t, 3, p.counts.of(reports.ResultDelivered))
}

func TestWithoutCredentialsNoneAreSent(t *testing.T) {
	server := recordtest.NewConfigMaps()
	to := newReceiver(t, httptest.NewServer, nil)
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL)}).run(t)
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a")}))
	eventually(t, func() bool { return len(to.all()) == 1 }, "delivered")
	d := to.all()[0]
	assert.Empty(t, d.username+d.password+d.signature)
}

func TestEnqueueWritesBeforeItReturnsAndNeverWaitsForTheReceiver(t *testing.T) {
	server := recordtest.NewConfigMaps()
	release := make(chan struct{})
	to := newReceiver(t, httptest.NewServer, func(int, http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL)}).run(t)
	var want []string
	for i := range 20 {
		id := fmt.Sprint("report-", i)
		want = append(want, id)
		require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback(id)}))
		assert.Equal(t, want, pendingIn(t, server, orders))
	}
	eventually(t, func() bool { return len(to.all()) == 1 }, "the first is under way")
}

func TestTheSameReportIsQueuedOnceAlsoAfterItsDelivery(t *testing.T) {
	server := recordtest.NewConfigMaps()
	to := newReceiver(t, httptest.NewServer, nil)
	config := reports.Config{URL: reports.Secret(to.URL)}
	p := newQueue(t, server, config)
	for range 2 {
		require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a"), feedback("a"), feedback("b")}))
	}
	assert.Equal(t, []string{"a", "b"}, pendingIn(t, server, orders))
	p.run(t)
	eventually(t, func() bool { return len(pendingIn(t, server, orders)) == 0 }, "all taken")
	p.stop()
	// Killed before the decision that made them was recorded: it is made again.
	p = newQueue(t, server, config).run(t)
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a"), feedback("b"), feedback("c")}))
	eventually(t, func() bool { return len(to.all()) == 3 }, "only the new one")
	eventually(t, func() bool { return len(pendingIn(t, server, orders)) == 0 }, "taken")
	assert.Equal(t, []string{"a", "b", "c"}, to.ids())
}

func TestReportsWithoutAnEventOrABodyAreNotQueued(t *testing.T) {
	server := recordtest.NewConfigMaps()
	p := newQueue(t, server, reports.Config{URL: "http://localhost:1/"})
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{{ID: "log only", Message: "x"}}))
	assert.Zero(t, server.Writes())
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{
		{ID: "odd", Event: "no such"}, {Event: model.EventFeedback}, feedback("good"),
		{ID: strings.Repeat("x", 40<<10), Event: model.EventFeedback},
	}))
	assert.Equal(t, []string{"good"}, pendingIn(t, server, orders))
	assert.Equal(t, 3, strings.Count(p.logs.String(), "level=ERROR"))
}

func TestWithoutAReceiverNothingIsQueued(t *testing.T) {
	server := recordtest.NewConfigMaps()
	p := newQueue(t, server, reports.Config{}).run(t)
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a")}))
	p.queue.Health(orders, "GREEN")
	assert.Zero(t, server.Writes())
}

func TestAFailedDeliveryIsTriedAgainUnderTheSameIDAndInOrder(t *testing.T) {
	for name, situation := range map[string]struct {
		answer func(int, http.ResponseWriter, *http.Request)
		result string
	}{
		"the answer is lost": {hijack, reports.ResultUnanswered},
		"500":                {status(500), reports.ResultFailed},
		"503 with Retry-After": {func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(503)
		}, reports.ResultFailed},
		"429": {status(429), reports.ResultFailed},
		"408": {status(408), reports.ResultFailed},
		"400": {status(400), reports.ResultRejected},
		"401": {status(401), reports.ResultRejected},
		"404": {status(404), reports.ResultRejected},
		"304": {status(304), reports.ResultRejected},
		"a reply that breaks off": {func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(500)
		}, reports.ResultFailed},
		"no HTTP": {func(n int, w http.ResponseWriter, r *http.Request) {
			connection, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = connection.Write([]byte("what?\r\n\r\n"))
				_ = connection.Close()
			}
		}, reports.ResultUnanswered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := recordtest.NewConfigMaps()
			to := newReceiver(t, httptest.NewServer, first(3, situation.answer))
			p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL)}).run(t)
			require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a"), feedback("b")}))
			eventually(t, func() bool { return len(pendingIn(t, server, orders)) == 0 }, "all taken in the end")
			assert.Equal(t, []string{"a", "a", "a", "a", "b"}, to.ids())
			bodies := to.all()
			assert.Equal(t, bodies[0].body, bodies[3].body)
			assert.Equal(t, 3, p.counts.of(situation.result))
			assert.Equal(t, 2, p.counts.of(reports.ResultDelivered))
		})
	}
}

// The time that a receiver had named was shortened by up to a fifth, as our own waits are.
func TestNoDeliveryIsTriedBeforeTheTimeThatTheReceiverHasNamed(t *testing.T) {
	const refused, named = 12, 50 * time.Millisecond
	server := recordtest.NewConfigMaps()
	var came, answered []time.Time // the queue makes one request at a time
	to := newReceiver(t, httptest.NewServer, func(n int, w http.ResponseWriter, _ *http.Request) {
		came = append(came, time.Now())
		if n <= refused {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}
		answered = append(answered, time.Now())
	})
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL)}, func(o *reports.Options) {
		o.Retry = reports.Retry{First: time.Millisecond, Most: time.Millisecond, Slow: named} // the most that a receiver may name
	}).run(t)
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a")}))
	eventually(t, func() bool { return len(pendingIn(t, server, orders)) == 0 }, "it is taken in the end")
	require.Len(t, came, refused+1)
	for i := range refused {
		assert.GreaterOrEqual(t, came[i+1].Sub(answered[i]), named)
	}
}

func TestAReceiverThatIsDownGetsItsReportsOnceItIsUp(t *testing.T) {
	server := recordtest.NewConfigMaps()
	own, err := loopback.Subnet() // no other process listens on its addresses
	require.NoError(t, err)
	address := own + "1:18080"
	p := newQueue(t, server, reports.Config{URL: reports.Secret("http://" + address)}).run(t)
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a")}))
	eventually(t, func() bool { return p.counts.of(reports.ResultUnanswered) >= 2 }, "it is tried")
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	to := newReceiver(t, func(handler http.Handler) *httptest.Server {
		s := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler, ReadHeaderTimeout: patience}}
		s.Start()
		return s
	}, nil)
	eventually(t, func() bool { return len(pendingIn(t, server, orders)) == 0 }, "delivered")
	assert.Equal(t, []string{"a"}, to.ids())
}

func TestASlowReceiverIsCutOffAndTriedAgain(t *testing.T) {
	server := recordtest.NewConfigMaps()
	to := newReceiver(t, httptest.NewServer, first(1, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL), Timeout: time.Second}).run(t)
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a")}))
	eventually(t, func() bool { return len(pendingIn(t, server, orders)) == 0 }, "delivered in the end")
	// A busy machine may keep more answers than the first from coming in time.
	assert.Positive(t, p.counts.of(reports.ResultUnanswered))
	assert.Equal(t, 1, p.counts.of(reports.ResultDelivered))
	assert.GreaterOrEqual(t, len(to.ids()), 2)
	assert.Equal(t, []string{"a"}, slices.Compact(to.ids()))
	assert.Contains(t, p.logs.String(), "no answer in time")
}

func TestTLSIsVerifiedAgainstTheConfiguredCA(t *testing.T) {
	to := newReceiver(t, httptest.NewTLSServer, nil)
	other := httptest.NewTLSServer(http.NotFoundHandler())
	defer other.Close()

	server := recordtest.NewConfigMaps()
	bad := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL), Password: "pass", Username: "me"}).run(t)
	require.NoError(t, bad.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a")}))
	eventually(t, func() bool { return bad.counts.of(reports.ResultUnanswered) >= 2 }, "refused by us")
	bad.stop()
	assert.Empty(t, to.all())
	assert.Contains(t, bad.logs.String(), "certificate")
	assert.Equal(t, []string{"a"}, pendingIn(t, server, orders))

	good := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL), CA: caOf(to.Server)}).run(t)
	eventually(t, func() bool { return len(pendingIn(t, server, orders)) == 0 }, "delivered with the CA")
	good.stop()
	assert.Equal(t, []string{"a"}, to.ids())
}

func TestARedirectIsNotFollowed(t *testing.T) {
	elsewhere := newReceiver(t, httptest.NewServer, nil)
	for _, code := range []int{301, 302, 307, 308} {
		server := recordtest.NewConfigMaps()
		to := newReceiver(t, httptest.NewServer, func(_ int, w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, code) })
		p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL), Username: "me", Password: "pass"}).run(t)
		require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a")}))
		eventually(t, func() bool { return p.counts.of(reports.ResultRejected) >= 2 }, "rejected")
		p.stop()
		assert.Contains(t, p.logs.String(), "set WEBHOOK_URL to the final address")
		assert.Equal(t, []string{"a"}, pendingIn(t, server, orders))
	}
	assert.Empty(t, elsewhere.all())
}

func TestClustersAreDeliveredBesideEachOtherWithinTheBound(t *testing.T) {
	server := recordtest.NewConfigMaps()
	gate := make(chan struct{})
	to := newReceiver(t, httptest.NewServer, func(_ int, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-gate:
		case <-r.Context().Done():
		}
	})
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL)}, func(o *reports.Options) { o.Parallel = 3 }).run(t)
	var clusters []record.Cluster
	for i := range 8 {
		cluster := record.Cluster{Namespace: "prod", Name: fmt.Sprint("c", i)}
		clusters = append(clusters, cluster)
		require.NoError(t, p.queue.Enqueue(t.Context(), cluster, []model.Report{feedback("a"), feedback("b")}))
	}
	eventually(t, func() bool { return len(to.all()) == 3 }, "three at the same time")
	close(gate)
	eventually(t, func() bool {
		for _, cluster := range clusters {
			if len(pendingIn(t, server, cluster)) > 0 {
				return false
			}
		}
		return true
	}, "all taken")
	to.mu.Lock()
	defer to.mu.Unlock()
	assert.Len(t, to.got, 16)
	assert.Equal(t, 3, to.most)
	assert.Equal(t, 1, to.mostBusy, "one at a time for each cluster")
}

func TestABrokenClusterDoesNotHoldUpAnother(t *testing.T) {
	server := recordtest.NewConfigMaps()
	billing := record.Cluster{Namespace: "prod", Name: "billing"}
	to := newReceiver(t, httptest.NewServer, func(_ int, w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get(reports.HeaderEventID), "bad") {
			w.WriteHeader(422)
		}
	})
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL)}).run(t)
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("bad")}))
	require.NoError(t, p.queue.Enqueue(t.Context(), billing, []model.Report{feedback("a"), feedback("b")}))
	eventually(t, func() bool { return len(pendingIn(t, server, billing)) == 0 }, "the other one is taken")
	eventually(t, func() bool { return p.counts.of(reports.ResultRejected) >= 2 }, "this one is tried again")
	assert.Equal(t, []string{"bad"}, pendingIn(t, server, orders))
}

func TestOnlyWhoHoldsTheLeaseDelivers(t *testing.T) {
	server := recordtest.NewConfigMaps()
	to := newReceiver(t, httptest.NewServer, nil)
	var asked atomic.Int64
	var leads atomic.Bool
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL)}, func(o *reports.Options) {
		o.Lead = func() error {
			asked.Add(1)
			if !leads.Load() {
				return errors.New("the lease has run out")
			}
			return nil
		}
	}).run(t)
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a")}))
	p.queue.Health(orders, "GREEN")
	eventually(t, func() bool { return asked.Load() >= 4 }, "asked each time")
	assert.Empty(t, to.all())
	leads.Store(true)
	eventually(t, func() bool { return len(pendingIn(t, server, orders)) == 0 }, "delivered once it leads")
	assert.Equal(t, []string{"a"}, to.ids())
}

func TestHealthIsSentOnceAndNeverQueued(t *testing.T) {
	server := recordtest.NewConfigMaps()
	to := newReceiver(t, httptest.NewServer, first(1, status(500)))
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL), Secret: "key"}).run(t)
	p.queue.Health(orders, "YELLOW")
	eventually(t, func() bool { return p.counts.of(reports.ResultFailed) == 1 }, "tried")
	p.queue.Health(orders, "GREEN")
	eventually(t, func() bool { return p.counts.of(reports.ResultDelivered) == 1 }, "the next one")
	got := to.all()
	require.Len(t, got, 2)
	assert.Contains(t, got[0].body, `"health_data":{"status":"YELLOW"}`)
	assert.Contains(t, got[1].body, `"health_data":{"status":"GREEN"}`)
	assert.NotEqual(t, got[0].id, got[1].id)
	assert.Equal(t, signature("key", got[1].body), got[1].signature)
	assert.Zero(t, server.Writes())
}

func TestNoSecretReachesALogOrAnError(t *testing.T) {
	server := recordtest.NewConfigMaps()
	secrets := []string{"s3cret-user-pass", "s3cret-query", "s3cret-path", "s3cret-key", "s3cret-reply", "s3cret-basic"}
	to := newReceiver(t, httptest.NewServer, func(n int, w http.ResponseWriter, r *http.Request) {
		if n%2 == 0 {
			hijack(n, w, r)
			return
		}
		w.Header().Set("Location", "http://x/s3cret-reply")
		w.WriteHeader(400 + n)
		_, _ = w.Write([]byte("s3cret-reply"))
	})
	address := strings.Replace(to.URL, "http://", "http://u:s3cret-user-pass@", 1) + "/s3cret-path?token=s3cret-query"
	config := reports.Config{URL: reports.Secret(address), Secret: "s3cret-key"}
	p := newQueue(t, server, config).run(t)
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a")}))
	p.queue.Health(orders, "GREEN")
	eventually(t, func() bool { return len(to.all()) >= 6 }, "tried")
	p.stop()
	assert.Equal(t, "s3cret-user-pass", to.all()[0].password, "the URL's own credentials are used")
	stored, err := json.Marshal(server.Stored("prod", "stevedore-orders-reports"))
	require.NoError(t, err)
	config.Password = "s3cret-basic"
	encoded, err := json.Marshal(config)
	require.NoError(t, err)
	text := p.logs.String() + string(stored) + string(encoded) + fmt.Sprintf("%v %+v %#v %x", config, config, config, config.Password)
	for _, secret := range secrets {
		assert.NotContains(t, text, secret)
		assert.NotContains(t, text, fmt.Sprintf("%x", secret))
	}
}

func TestAReplyIsReadWithinABound(t *testing.T) {
	server := recordtest.NewConfigMaps()
	var wrote atomic.Int64
	to := newReceiver(t, httptest.NewServer, func(_ int, w http.ResponseWriter, _ *http.Request) {
		chunk := []byte(strings.Repeat("x", 64<<10))
		for range 4096 {
			n, err := w.Write(chunk)
			wrote.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL)}).run(t)
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a")}))
	eventually(t, func() bool { return len(pendingIn(t, server, orders)) == 0 }, "taken")
	p.stop()
	assert.Less(t, wrote.Load(), int64(64<<20))
}

func TestWhatAnEarlierProcessLeftIsFoundAlsoWhenItsClusterIsKnownLater(t *testing.T) {
	for name, known := range map[string]struct {
		clusters func(calls int64) []record.Cluster
		resume   bool
	}{
		"by a later look": {func(calls int64) []record.Cluster {
			if calls < 3 {
				return nil
			}
			return []record.Cluster{orders}
		}, false},
		"by its name": {func(int64) []record.Cluster { return nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := recordtest.NewConfigMaps()
			to := newReceiver(t, httptest.NewServer, nil)
			config := reports.Config{URL: reports.Secret(to.URL)}
			require.NoError(t, newQueue(t, server, config).queue.Enqueue(t.Context(), orders, []model.Report{feedback("a")}))
			var calls atomic.Int64
			p := newQueue(t, server, config, func(o *reports.Options) {
				o.Rescan = 5 * time.Millisecond
				o.Clusters = func() []record.Cluster { return known.clusters(calls.Add(1)) }
			}).run(t)
			if known.resume {
				p.queue.Resume(orders)
			}
			eventually(t, func() bool { return len(pendingIn(t, server, orders)) == 0 }, "delivered")
			assert.Equal(t, []string{"a"}, to.ids())
		})
	}
}

func TestSettledWaitsForDeliveryAndNoLongerThanItsContext(t *testing.T) {
	server := recordtest.NewConfigMaps()
	to := newReceiver(t, httptest.NewServer, first(3, status(500)))
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL)})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a"), feedback("b")}))
	require.ErrorIs(t, p.queue.Settled(ended), context.Canceled)
	p.run(t)
	require.NoError(t, p.queue.Settled(t.Context()))
	assert.Empty(t, pendingIn(t, server, orders))
	assert.Equal(t, []string{"a", "a", "a", "a", "b"}, to.ids())
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("c")}))
	require.NoError(t, p.queue.Settled(t.Context()))
	assert.Empty(t, pendingIn(t, server, orders))
}

// slow counts as a process does that pauses once it has read the queue.
type slow struct {
	*counts
	read atomic.Int32
	goOn chan struct{}
}

func (s *slow) ReportsQueued(cluster record.Cluster, n int, oldest time.Time) {
	if s.read.Add(1) == 1 {
		<-s.goOn
	}
	s.counts.ReportsQueued(cluster, n, oldest)
}

func TestAReportThatIsQueuedAfterADeliveryHasReadTheQueueIsDelivered(t *testing.T) {
	server := recordtest.NewConfigMaps()
	to := newReceiver(t, httptest.NewServer, nil)
	delivery := &slow{counts: newCounts(), goOn: make(chan struct{})}
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL)}, func(o *reports.Options) {
		o.Measure, o.Rescan = delivery, time.Hour
	}).run(t)
	eventually(t, func() bool { return delivery.read.Load() == 1 }, "a delivery has read the queue, which is empty")
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a")}))
	// What is sent after it says that the queue knows of it.
	p.queue.Health(orders, "GREEN")
	eventually(t, func() bool { return len(to.all()) == 1 }, "the health")
	close(delivery.goOn)
	require.NoError(t, p.queue.Settled(t.Context()))
	assert.Len(t, to.all(), 2)
	assert.Empty(t, pendingIn(t, server, orders))
}
