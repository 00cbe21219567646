package e2e

import (
	"fmt"
	"os"
	"regexp"
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

// ownKinds are the resources that a daemon reads and writes of clusters.
const ownKinds = "configmaps|statefulsets|services|secrets|poddisruptionbudgets|pods|persistentvolumeclaims|serviceaccounts|networkpolicies|ingresses"

// Many clusters in sync cost the API server the Lease and the watches that stand,
// and a restart of the daemon one list or watch a kind and namespace. They run
// alone: the API server counts for all.
func TestManyClustersInSyncCostTheAPIServerNothing(t *testing.T) {
	inSync(t, "few", 2, 5, 15*time.Second)
}

func TestSoakTwoHundredClustersInSyncCostTheAPIServerNothing(t *testing.T) {
	soak(t)
	inSync(t, "many", 10, 20, 5*time.Minute)
}

var wanted = regexp.MustCompile(`msg="the cluster is as it is wanted" namespace=(\S+) cluster=(\S+)`)

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
	start := func() *testbed.Daemon {
		return s.start(testbed.DaemonOptions{Args: append([]string{"--dir", s.dir, "--dir-quiet", "100ms", "--lease-duration", "15s"}, args...)})
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
	// The API server was away in the tests before: its controllers may come late to
	// what they put into each namespace.
	s.eventually("Kubernetes has put into the namespaces what it puts into each", patience, func() bool {
		for _, space := range spaces {
			_, account := bed.Admin.CoreV1().ServiceAccounts(space.ns).Get(s.ctx, "default", metav1.GetOptions{})
			_, authority := bed.Admin.CoreV1().ConfigMaps(space.ns).Get(s.ctx, "kube-root-ca.crt", metav1.GetOptions{})
			if account != nil || authority != nil {
				return false
			}
		}
		return true
	})

	before, stood, began := requests(t), standingWatches(t), time.Now()
	daemon = start()
	s.eventually("the new daemon says done of all", patience, all(daemon))
	known := time.Since(began)
	started := requests(t)
	watch := standingWatches(t)
	t.Logf("%d clusters in %d namespaces: a restart knows after %s that all is in sync, and costs %v and the watches %v", clusters, namespaces,
		known.Round(10*time.Millisecond), more(before, started, reads), more(stood, watch, regexp.MustCompile("")))
	assert.Empty(t, more(before, started, writes), "writes of a restart in sync")
	assert.Empty(t, more(before, started, regexp.MustCompile(`^GET (`+ownKinds+`)$`)), "single reads of a restart in sync")
	for _, kind := range strings.Split(ownKinds, "|") {
		most := namespaces // of Secrets too: all of these have their label
		// What streams its list needs none; the control plane's own watches begin
		// again after some minutes.
		const others = 2
		assert.LessOrEqual(t, watch[kind]-stood[kind], most, "watches of %s", kind)
		assert.LessOrEqual(t, started["LIST "+kind]-before["LIST "+kind], most+others, "lists of %s", kind)
	}
	assert.Equal(t, namespaces, watch["statefulsets"]-stood["statefulsets"], "the watches are not counted: the test shows nothing")

	address := s.address(daemon)
	published, used, decided := s.published(spaces, each), cpu(t, daemon), decisions(t, address)
	started = requests(t)
	s.throughout("in sync", span, func() bool { return daemon.Running() })
	later := requests(t)
	// Where nothing happens a cluster takes a whole turn about once a minute, however
	// often its database is asked.
	turns := decisions(t, address) - decided
	assert.LessOrEqual(t, turns, clusters*(2+int(span/(45*time.Second))), "decisions in sync")
	again := 0
	for key, version := range s.published(spaces, each) {
		if published[key] != version {
			again++
		}
	}
	var allowed []string
	if again > 0 {
		allowed = []string{"PUT configmaps: " + strconv.Itoa(again)} // the observations
	}
	assert.ElementsMatch(t, allowed, more(started, later, writes), "writes in sync")
	// The API server's own repair of ports lists all Services every few minutes.
	if lists := "LIST services"; later[lists]-started[lists] <= 2 {
		later[lists] = started[lists]
	}
	assert.Empty(t, more(started, later, regexp.MustCompile(`^(GET|LIST|APPLY) (`+ownKinds+`)$`)), "reads in sync")
	t.Logf("%d clusters in sync for %s: %d observations were published; %d decisions; resident memory %s, %.1f %% of a core",
		clusters, span, again, turns, resident(t, daemon), 100*(cpu(t, daemon)-used).Seconds()/span.Seconds())
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

// standingWatches are the watches that stand, by resource: they are counted among
// the requests only when they end.
func standingWatches(t *testing.T) map[string]int {
	t.Helper()
	text, err := bed.Admin.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	require.NoError(t, err)
	all := map[string]int{}
	for _, match := range watchOf.FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.ParseFloat(match[2], 64)
		require.NoError(t, err)
		all[match[1]] += int(n)
	}
	return all
}

var watchOf = regexp.MustCompile(`(?m)^apiserver_longrunning_requests\{.*resource="(\w+)".*verb="WATCH".*\} (\S+)$`)

// observedAt is the version of the cluster's observation; "" before there is one.
func (s *situation) observedAt(cluster string) string {
	object, err := bed.Admin.CoreV1().ConfigMaps(s.ns).Get(s.ctx, names.ObservationConfigMap(cluster), metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return object.ResourceVersion
}

func (s *situation) published(spaces []*situation, each int) map[string]string {
	all := map[string]string{}
	for _, space := range spaces {
		for j := range each {
			cluster := fmt.Sprintf("c%d", j)
			all[space.ns+"/"+cluster] = space.observedAt(cluster)
		}
	}
	return all
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
