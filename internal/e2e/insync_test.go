package e2e

import (
	"io"
	"net/http"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testbed"
)

// A restart in sync costs the API server reads only, and the time after it
// nothing at all. It must run alone: the API server counts for all.
func TestARestartInSyncWritesNothingButItsLease(t *testing.T) {
	s := begin(t, "in-sync")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 3))})
	daemon := s.run()
	s.done("orders")
	s.until("the bootstrap is told", func() bool { return s.eventOf("orders", "BootstrapSucceeded") })
	s.until("the verdict is in the log", func() bool {
		return strings.Contains(daemon.Log(), `msg="the cluster is as it is wanted" namespace=in-sync cluster=orders`)
	})
	_, err := daemon.Stop()
	require.NoError(t, err)

	before, told := requests(t), s.eventVersions()
	watching := watches(t)
	daemon = s.run()
	s.until("the new daemon says done", func() bool {
		return strings.Contains(daemon.Log(), `msg="the cluster is as it is wanted" namespace=in-sync cluster=orders`)
	})
	started := requests(t)
	assert.Empty(t, more(before, started, writes), "writes of a restart in sync")
	t.Logf("a restart in sync costs %v and %d watches", more(before, started, reads), watches(t)-watching)

	// In sync: the Lease and the watches that stand, and nothing else.
	s.throughout("in sync", 10*time.Second, func() bool { return daemon.Running() })
	later := requests(t)
	assert.Empty(t, more(started, later, writes), "writes in sync")
	assert.Empty(t, more(started, later, regexp.MustCompile(`^(GET|LIST|APPLY) (configmaps|statefulsets|services|secrets|poddisruptionbudgets|pods|persistentvolumeclaims|serviceaccounts|networkpolicies|ingresses)$`)), "reads in sync")
	require.NotEmpty(t, told)
	assert.Equal(t, told, s.eventVersions(), "events")
	s.noPodRestarted()
}

// eventVersions are the events of the cluster's record: the counters are no
// help, since the control plane writes events of its own.
func (s *situation) eventVersions() map[string]string {
	s.Helper()
	versions := map[string]string{}
	for _, event := range s.events("orders") {
		versions[event.Name] = event.ResourceVersion
	}
	return versions
}

var (
	writes = regexp.MustCompile(`^(POST|PUT|PATCH|APPLY|DELETE|DELETECOLLECTION) `)
	reads  = regexp.MustCompile(`^(GET|LIST|WATCH) `)
	line   = regexp.MustCompile(`^apiserver_request_total\{(.*)\} (\S+)$`)
	label  = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// requests are the API server's own counters, by verb and resource.
func requests(t *testing.T) map[string]int {
	t.Helper()
	text, err := bed.Admin.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	require.NoError(t, err)
	counted := map[string]int{}
	for _, row := range strings.Split(string(text), "\n") {
		match := line.FindStringSubmatch(row)
		if match == nil {
			continue
		}
		labels := map[string]string{}
		for _, pair := range label.FindAllStringSubmatch(match[1], -1) {
			labels[pair[1]] = pair[2]
		}
		switch labels["resource"] {
		case "", "leases", "nodes", "events":
			// Nodes and their Leases are the control plane's own; for events see
			// eventVersions.
			continue
		}
		n, err := strconv.ParseFloat(match[2], 64)
		require.NoError(t, err)
		counted[labels["verb"]+" "+strings.TrimSuffix(labels["resource"]+"/"+labels["subresource"], "/")] += int(n)
	}
	require.NotEmpty(t, counted, "the API server's counters")
	return counted
}

// more are the requests that came between two countings.
func more(before, after map[string]int, which *regexp.Regexp) []string {
	var all []string
	for what, n := range after {
		if n > before[what] && which.MatchString(what) {
			all = append(all, what+": "+strconv.Itoa(n-before[what]))
		}
	}
	sort.Strings(all)
	return all
}

// watches that stand.
func watches(t *testing.T) int {
	t.Helper()
	text, err := bed.Admin.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	require.NoError(t, err)
	total := 0
	for _, match := range standing.FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.ParseFloat(match[1], 64)
		require.NoError(t, err)
		total += int(n)
	}
	return total
}

var standing = regexp.MustCompile(`(?m)^apiserver_longrunning_requests\{.*verb="WATCH".*\} (\S+)$`)

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
