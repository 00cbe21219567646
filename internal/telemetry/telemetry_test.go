package telemetry_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/internal/telemetry"
)

// The queue of reports is measured by these metrics.
var _ reports.Measure = telemetry.Target{}

var (
	orders  = record.Cluster{Namespace: "prod", Name: "orders"}
	billing = record.Cluster{Namespace: "prod", Name: "billing"}
	start   = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
)

// scrape is what a Prometheus gets.
func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, recorder.Code)
	return recorder.Body.String()
}

// series are the lines of metrics whose names begin with one of the prefixes.
func series(t *testing.T, m *telemetry.Metrics, prefixes ...string) []string {
	t.Helper()
	lines := []string{}
	for line := range strings.Lines(scrape(t, m)) {
		for _, prefix := range prefixes {
			if strings.HasPrefix(line, prefix) {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	return lines
}

func TestHealthIsCrateOperatorsMetricAndEndsWhenNotSeen(t *testing.T) {
	now := start
	m := telemetry.NewMetrics(telemetry.Build{}, func() time.Time { return now })
	m.Health(orders, "orders-db", telemetry.Yellow, start)
	m.Health(billing, "billing-db", telemetry.Unreachable, start.Add(100*time.Second))
	now = start.Add(299 * time.Second)
	assert.Equal(t, []string{
		`cloud_clusters_health{cluster_id="billing",cluster_name="billing-db",exported_namespace="prod"} 3`,
		`cloud_clusters_health{cluster_id="orders",cluster_name="orders-db",exported_namespace="prod"} 1`,
		`cloud_clusters_last_seen{cluster_id="orders",cluster_name="orders-db",exported_namespace="prod"} 1.7952552e+09`,
	}, series(t, m, "cloud_clusters_"))
	now = start.Add(300 * time.Second)
	assert.Equal(t, []string{
		`cloud_clusters_health{cluster_id="billing",cluster_name="billing-db",exported_namespace="prod"} 3`,
	}, series(t, m, "cloud_clusters_"))
	m.Forget(billing)
	assert.Empty(t, series(t, m, "cloud_clusters_"))
}

func TestAClustersStateIsReplacedByItsNextDecision(t *testing.T) {
	m := telemetry.NewMetrics(telemetry.Build{}, nil)
	m.Decided(orders, "wait", []string{"gateway-recovers", "master-unstable"}, nil)
	m.Decided(billing, "refuse", nil, []string{"not-supported", "not-supported"})
	m.Decided(orders, "done", nil, nil)
	assert.Equal(t, []string{
		`stevedore_cluster_state{cluster="billing",gate="not-supported",namespace="prod",state="refused"} 1`,
		`stevedore_decisions_total{gate="",outcome="done"} 1`,
		`stevedore_decisions_total{gate="gateway-recovers",outcome="wait"} 1`,
		`stevedore_decisions_total{gate="not-supported",outcome="refuse"} 1`,
	}, series(t, m, "stevedore_cluster_state{", "stevedore_decisions_total{"))
}

func TestTheQueuesAgeGrowsUntilItIsEmpty(t *testing.T) {
	now := start
	m := telemetry.NewMetrics(telemetry.Build{}, func() time.Time { return now })
	age := func(want string) {
		t.Helper()
		assert.Equal(t, []string{`stevedore_reports_oldest_age_seconds{cluster="orders",namespace="prod",target="webhook"} ` + want}, series(t, m, "stevedore_reports_oldest_age"))
	}
	m.Target("webhook").ReportsQueued(orders, 2, start)
	now = start.Add(90 * time.Second)
	age("90")
	now = start.Add(-time.Hour)
	age("0")
	now = start.Add(90 * time.Second)
	m.Target("webhook").ReportsQueued(orders, 0, time.Time{})
	age("0")
}

func TestEveryMetricFollowsPrometheusConventions(t *testing.T) {
	m := telemetry.NewMetrics(telemetry.Build{Version: "1", Revision: "abc"}, nil)
	m.SourceLooked("https://git.example/a", time.Second, start, nil)
	m.SourceLooked("https://git.example/a", time.Second, start, errors.New("x"))
	m.Rendered("https://git.example/a", time.Millisecond, 2)
	m.Decided(orders, "act", []string{"g"}, []string{"r"})
	m.Applied("in-sync", 7)
	m.Acted("set-user", nil)
	m.Reconciled("done", time.Millisecond)
	m.Leading(true)
	m.EventDropped()
	m.Target("webhook").ReportDelivery("delivered", 1)
	m.Target("webhook").ReportsQueued(orders, 1, start)
	m.Health(orders, "x", telemetry.Green, time.Now())
	problems, err := promlint.New(strings.NewReader(scrape(t, m))).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
	assert.Len(t, series(t, m, "stevedore_build_info{", "stevedore_leader 1", "stevedore_source_looks_total{", "stevedore_applies_total{",
		"stevedore_actions_total{", "stevedore_render_problems{", "stevedore_reconcile_duration_seconds_count{"), 8)
	m.ForgetSource("https://git.example/a")
	assert.Empty(t, series(t, m, "stevedore_source_", "stevedore_render_problems"))
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestTheServerSaysWhyItIsNotReadyAndEndsWithItsContext(t *testing.T) {
	m := telemetry.NewMetrics(telemetry.Build{}, nil)
	var live, ready telemetry.Checks
	synced := make(chan error, 1)
	synced <- errors.New("the watch of ConfigMaps has not listed yet")
	state := error(nil)
	ready.Add("cache", func() error {
		select {
		case state = <-synced:
		default:
		}
		return state
	})
	ready.Add("source", func() error { return nil })
	server := &telemetry.Server{Addr: "127.0.0.1:0", Metrics: m, Live: &live, Ready: &ready, Grace: 10 * time.Minute}
	listener, err := server.Listen(t.Context())
	require.NoError(t, err)
	url := "http://" + listener.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()

	code, body := get(t, url+"/readyz")
	assert.Equal(t, 503, code)
	assert.Equal(t, "cache: the watch of ConfigMaps has not listed yet\n", body)
	synced <- nil
	code, body = get(t, url+"/readyz")
	assert.Equal(t, 200, code)
	assert.Equal(t, "ok\n", body)
	code, _ = get(t, url+"/healthz")
	assert.Equal(t, 200, code)
	code, body = get(t, url+"/metrics")
	assert.Equal(t, 200, code)
	assert.Contains(t, body, "stevedore_leader 0")
	code, _ = get(t, url+"/other")
	assert.Equal(t, 404, code)

	_, err = (&telemetry.Server{Addr: listener.Addr().String()}).Listen(t.Context())
	require.ErrorContains(t, err, "choose another with --listen")

	cancel()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(10 * time.Minute):
		t.Fatal("it does not end")
	}
	// Asked of the listener: another process may have its port by now.
	_, err = listener.Accept()
	assert.ErrorIs(t, err, net.ErrClosed)
}

func TestALoopThatHangsIsNotAlive(t *testing.T) {
	now := start
	beat := &telemetry.Heartbeat{Within: time.Minute, Now: func() time.Time { return now }}
	var live telemetry.Checks
	live.Add("loop", beat.Check)
	now = start.Add(time.Hour)
	assert.Empty(t, live.Failed(), "before the first beat")
	beat.Beat()
	now = now.Add(time.Minute)
	assert.Empty(t, live.Failed())
	now = now.Add(time.Second)
	assert.Equal(t, []string{"loop: silent for 1m1s, longer than 1m0s"}, live.Failed())
	beat.Beat()
	assert.Empty(t, live.Failed())
}
