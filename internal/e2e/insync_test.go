package e2e

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testbed"
)

// A restart in sync costs the API server reads only, and the time after it
// nothing at all.
func TestARestartInSyncWritesNothingButItsLease(t *testing.T) {
	t.Parallel()
	s := begin(t, "in-sync")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 3))})
	daemon := s.run()
	s.done("orders")
	s.until("the bootstrap is told", func() bool { return s.eventOf("orders", "BootstrapSucceeded") })
	s.until("the verdict is in the log", func() bool {
		return strings.Contains(daemon.Log(), `msg="the cluster is as its definition says" namespace=in-sync cluster=orders`)
	})
	_, err := daemon.Stop()
	require.NoError(t, err)

	server := newRecordingAPIServer(t)
	daemon = s.run("--kubeconfig", server.kubeconfig)
	s.until("the new daemon says done", func() bool {
		return strings.Contains(daemon.Log(), `msg="the cluster is as its definition says" namespace=in-sync cluster=orders`)
	})
	started := server.requests()
	assert.Empty(t, more(nil, started, writes), "writes of a restart in sync")
	read := more(nil, started, reads)
	require.NotEmpty(t, read, "the recorder sees nothing: the test shows nothing")
	t.Logf("a restart in sync costs %v", read)

	// In sync: the Lease and the watches that stand, and nothing else.
	s.throughout("in sync", 10*time.Second, func() bool { return daemon.Running() })
	later := server.requests()
	assert.Empty(t, more(started, later, writes), "writes in sync")
	assert.Empty(t, more(started, later, readsOfClusters), "reads in sync")
	s.noPodRestarted()
}

func TestHealthReadinessAndMetricsAnswer(t *testing.T) {
	t.Parallel()
	s := begin(t, "telemetry")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	daemon := s.run()
	s.done("orders")
	address := s.address(daemon)
	for path, wanted := range map[string]string{
		"/healthz": "ok",
		"/readyz":  "ok",
		"/metrics": `cloud_clusters_health{cluster_id="orders",cluster_name="orders",exported_namespace="telemetry"} 0`,
	} {
		s.until(path+" says "+wanted, func() bool {
			code, body := get(t, "http://"+address+path)
			return code == http.StatusOK && strings.Contains(body, wanted)
		})
	}
	_, metrics := get(t, "http://"+address+"/metrics")
	for _, name := range []string{"stevedore_build_info", "stevedore_leader", "stevedore_decisions_total", "cloud_clusters_last_seen"} {
		assert.Contains(t, metrics, "\n"+name)
	}
}

var served = regexp.MustCompile(`serving metrics and health" address=(\S+)`)

func (s *situation) address(daemon *testbed.Daemon) string {
	s.Helper()
	var match []string
	s.until("the address is in the log", func() bool {
		match = served.FindStringSubmatch(daemon.Log())
		return match != nil
	})
	return match[1]
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	require.NoError(t, err)
	return response.StatusCode, string(body)
}
