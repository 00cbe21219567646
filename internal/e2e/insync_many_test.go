package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

// Many clusters in sync cost the API server the Lease and the watches that stand,
// and a restart of the daemon one list or watch a kind and namespace.
func TestManyClustersInSyncCostTheAPIServerNothing(t *testing.T) {
	t.Parallel()
	inSync(t, "few", 2, 3, 15*time.Second)
}

func TestSoakTwoHundredClustersInSyncCostTheAPIServerNothing(t *testing.T) {
	soak(t)
	inSync(t, "many", 10, 20, 5*time.Minute)
}

var wanted = regexp.MustCompile(`msg="the cluster is as its definition says" namespace=(\S+) cluster=(\S+)`)

func inSync(t *testing.T, name string, namespaces, each int, span time.Duration) {
	needing(t, roomForMany)
	s := beginBare(t, name)
	var args []string
	var spaces []*situation
	files, clusters := map[string]string{}, 0
	for i := range namespaces {
		ns := fmt.Sprintf("%s-%d", name, i)
		require.NoError(t, bed.Namespace(s.ctx, ns))
		t.Cleanup(func() { dropSets(t, ns) })
		space := s.aside(ns, s.dir)
		space.appSecret("app-password")
		spaces, args = append(spaces, space), append(args, "--namespace", ns)
		for j := range each {
			clusters++
			files[fmt.Sprintf("%s-%d.yaml", ns, j)] = definition(ns, fmt.Sprintf("c%d", j))
		}
	}
	s.ns = spaces[0].ns
	s.write(files)
	server := newRecordingAPIServer(t)
	start := func() *testbed.Daemon {
		return s.start(testbed.DaemonOptions{Args: append([]string{"--kubeconfig", server.kubeconfig, "--dir", s.dir, "--dir-quiet", "100ms"}, args...)})
	}
	patience := patience + time.Duration(clusters)*10*time.Second
	all := func(daemon *testbed.Daemon) func() bool {
		return func() bool {
			done := map[string]bool{}
			for _, match := range wanted.FindAllStringSubmatch(daemon.Log(), -1) {
				done[match[1]+"/"+match[2]] = true
			}
			return len(done) == clusters
		}
	}
	observations := map[asking]bool{}
	for _, space := range spaces {
		for j := range each {
			observations[asking{space.ns, "update", "configmaps", names.ObservationConfigMap(fmt.Sprintf("c%d", j))}] = true
		}
	}
	began := time.Now()
	daemon := start()
	s.eventually("all are made", patience, all(daemon))
	t.Logf("%d clusters were bootstrapped in %s", clusters, time.Since(began).Round(100*time.Millisecond))
	// Reports, events and the observation come after the verdict.
	s.eventually("what is said of them is written", patience, func() bool {
		for _, space := range spaces {
			for j := range each {
				if cluster := fmt.Sprintf("c%d", j); !isDone(space.record(cluster)) || !space.eventOf(cluster, "BootstrapSucceeded") || space.observedAt(cluster) == "" {
					return false
				}
			}
		}
		return true
	})
	_, err := daemon.Stop()
	require.NoError(t, err)

	before := server.requests()
	require.NotEmpty(t, more(nil, before, writes), "writes of the bootstrap: they are not counted, and the test shows nothing")
	began = time.Now()
	daemon = start()
	s.eventually("the new daemon says done of all", patience, all(daemon))
	known := time.Since(began)
	started := server.requests()
	assert.Empty(t, more(before, started, writes), "writes of a restart in sync")
	read := more(before, started, func(a asking) bool { return reads(a) && slices.Contains(ownKinds, a.resource) })
	for a, n := range read {
		assert.Empty(t, a.name, "%v: an object that is read alone", a)
		assert.Equal(t, 1, n, "%v", a)
	}
	for _, space := range spaces {
		assert.Contains(t, read, asking{namespace: space.ns, verb: "watch", resource: "apps/statefulsets"}, "the requests are not counted: the test shows nothing")
	}
	t.Logf("%d clusters in %d namespaces: a restart knows after %s that all is in sync, and costs %d lists and watches", clusters, namespaces,
		known.Round(10*time.Millisecond), len(read))

	address := s.address(daemon)
	used, decided := cpu(t, daemon), decisions(t, address)
	began = time.Now()
	started = server.requests()
	s.throughout("in sync", span, func() bool { return daemon.Running() })
	later := server.requests()
	// Where nothing happens a cluster takes a whole turn about once a minute, however
	// often its database is asked.
	turns := decisions(t, address) - decided
	span = time.Since(began) // a busy machine lets it last longer
	most := 2 + int(span/(45*time.Second))
	assert.LessOrEqual(t, turns, clusters*most, "decisions in sync")
	again := 0
	for a, n := range more(started, later, writes) {
		assert.Contains(t, observations, a, "writes in sync")
		assert.LessOrEqual(t, n, most, "%v", a)
		again += n
	}
	assert.Empty(t, more(started, later, readsOfClusters), "reads in sync")
	t.Logf("%d clusters in sync for %s: %d observations were published; %d decisions; resident memory %s, %.1f %% of a core",
		clusters, span.Round(time.Second), again, turns, resident(t, daemon), 100*(cpu(t, daemon)-used).Seconds()/span.Seconds())
}

// decisions that a daemon has made, by its own count.
func decisions(t *testing.T, address string) int {
	t.Helper()
	_, metrics := get(t, "http://"+address+"/metrics")
	total := 0
	for _, match := range decisionsOf.FindAllStringSubmatch(metrics, -1) {
		n, err := strconv.Atoi(match[1])
		require.NoError(t, err)
		total += n
	}
	require.Positive(t, total)
	return total
}

var decisionsOf = regexp.MustCompile(`(?m)^stevedore_decisions_total\{.*\} (\d+)$`)

// observedAt is the version of the cluster's observation; "" before there is one.
func (s *situation) observedAt(cluster string) string {
	object, err := bed.Admin.CoreV1().ConfigMaps(s.ns).Get(s.ctx, names.ObservationConfigMap(cluster), metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return object.ResourceVersion
}

// resident is the daemon's memory, as the kernel counts it.
func resident(t *testing.T, daemon *testbed.Daemon) string {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", daemon.PID()))
	require.NoError(t, err)
	match := regexp.MustCompile(`VmRSS:\s*(.*)`).FindStringSubmatch(string(status))
	require.NotNil(t, match)
	return match[1]
}

// cpu is the processor time that the daemon has used.
func cpu(t *testing.T, daemon *testbed.Daemon) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", daemon.PID()))
	require.NoError(t, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	require.Greater(t, len(fields), 13)
	var ticks int64
	for _, field := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(field, 10, 64)
		require.NoError(t, err)
		ticks += n
	}
	const perSecond = 100 // USER_HZ, on every Linux that Go knows
	return time.Duration(ticks) * time.Second / perSecond
}
