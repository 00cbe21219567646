package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/testbed"
)

type lookedAfter struct {
	Lease, By, Why, Revision string
	At                       time.Time
	Nobody, Behind           bool
}

// looked is what status says of who looks after a cluster.
func (s *situation) looked(name string) lookedAfter {
	s.Helper()
	out, stderr, code := s.verb("status", s.ns+"/"+name, "-o", "json")
	require.Zero(s, code, stderr)
	var all []struct{ Looked lookedAfter }
	require.NoError(s, json.Unmarshal([]byte(out), &all))
	require.Len(s, all, 1)
	return all[0].Looked
}

func TestStatusSaysWhoLooksAfterACluster(t *testing.T) {
	t.Parallel()
	s := begin(t, "attended")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	daemon := s.run()
	s.done("orders")
	s.until("the Lease says that the cluster was looked at", func() bool {
		who := s.looked("orders")
		return !who.Nobody && who.Lease == names.DaemonNamespace+"/attended" && who.Revision != "" && !who.Behind && time.Since(who.At) < time.Minute
	})
	address := s.address(daemon)
	s.until("it is measured", func() bool {
		_, text := get(t, "http://"+address+"/metrics")
		return strings.Contains(text, `stevedore_cluster_looked_timestamp_seconds{cluster="orders",namespace="attended"}`) &&
			strings.Contains(text, `stevedore_cluster_nodes_ready{cluster="orders",group="hot",namespace="attended"} 1`)
	})

	_, err := daemon.Stop()
	require.NoError(t, err)
	out, stderr, code := s.verb("status", "-n", s.ns)
	require.Zero(t, code, stderr)
	assert.True(t, strings.HasPrefix(out, "NOBODY LOOKS AFTER attended/orders: the daemon was stopped"), out)

	// The same Lease, and another source.
	other := s.aside(s.ns, t.TempDir())
	other.write(map[string]string{"README.md": "nothing yet\n"})
	daemon = s.start(testbed.DaemonOptions{Args: other.fromDir()})
	s.until("it is said that nobody looks", func() bool {
		who := s.looked("orders")
		return who.Nobody && strings.Contains(who.Why, "and the cluster belongs to ") && strings.Contains(who.Why, other.dir)
	})
	_, stderr, code = s.verb("wait", s.ns+"/orders", "--timeout", "3s")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "nobody looks after it: ")
	_, err = daemon.Stop()
	require.NoError(t, err)

	// The same source, and another Lease.
	require.NoError(t, bed.Lease(s.ctx, "attended-second"))
	s.start(testbed.DaemonOptions{Args: s.fromDir(), Lease: "attended-second"})
	s.until("the record names the Lease of who looks now", func() bool {
		who := s.looked("orders")
		return !who.Nobody && who.Lease == names.DaemonNamespace+"/attended-second"
	})
}

// A wait for a push that was just made ends when the cluster is as it says, and not by
// what the record said before.
func TestAWaitForAPushEndsOnceItIsDone(t *testing.T) {
	t.Parallel()
	s := begin(t, "awaited")
	s.appSecret("app-password")
	repository, err := testbed.NewRepository(s.ctx, t.TempDir(), "clusters")
	require.NoError(t, err)
	push := func(message, text string) string {
		t.Helper()
		require.NoError(t, repository.Push(s.ctx, message, map[string]string{"orders.yaml": text}))
		head, err := repository.Head(s.ctx)
		require.NoError(t, err)
		return head
	}
	wait := func(head string) {
		t.Helper()
		out, stderr, code := s.verb("wait", s.ns+"/orders", "--revision", head, "--timeout", "2m")
		require.Zero(t, code, stderr)
		assert.Equal(t, "cluster awaited/orders: done\n", out)
	}
	three := []edit{with(replicasOfHot, 3), with("spec.operations", map[string]any{"stableFor": "1s", "masterStableFor": "1s"})}
	head := push("first", definition(s.ns, "orders", three...))
	s.start(testbed.DaemonOptions{Args: []string{"--git", repository.URL, "--ref", "main", "--interval", "1s", "--namespace", s.ns}})
	wait(head)
	assert.True(t, s.record("orders").Bootstrap.Done)

	wait(push("a mark", definition(s.ns, "orders", append(three, with("spec.cluster.service.annotations", map[string]any{"example.com/mark": "one"}))...)))
	assert.Equal(t, "one", s.mark())

	// One that does not touch the cluster is known as well.
	require.NoError(t, repository.Push(s.ctx, "words", map[string]string{"README.md": "words\n"}))
	head, err = repository.Head(s.ctx)
	require.NoError(t, err)
	wait(head)

	// A restart is waited for.
	pod := s.podIDs()
	_, stderr, code := s.verb("restart", s.ns+"/orders")
	require.Zero(t, code, stderr)
	_, stderr, code = s.verb("wait", s.ns+"/orders", "--timeout", "2m")
	require.Zero(t, code, stderr)
	for _, id := range s.podIDs() {
		assert.NotContains(t, pod, id, "a pod that was there before the restart")
	}
}

func (s *situation) podIDs() (all []string) {
	s.Helper()
	pods, err := bed.Admin.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: names.NameLabel + "=orders"})
	require.NoError(s, err)
	for _, pod := range pods.Items {
		all = append(all, string(pod.UID))
	}
	return all
}

// recorded are the kinds of records that a cluster has.
func (s *situation) recorded(name string) (kinds []record.Kind) {
	s.Helper()
	for _, kind := range record.Kinds() {
		_, err := bed.Admin.CoreV1().ConfigMaps(s.ns).Get(s.ctx, kind.Name(name), metav1.GetOptions{})
		if err == nil {
			kinds = append(kinds, kind)
		} else if !apierrors.IsNotFound(err) {
			require.NoError(s, err)
		}
	}
	return kinds
}

func TestForgetTakesAwayWhatIsLeftAndNothingElse(t *testing.T) {
	t.Parallel()
	s := begin(t, "forgotten")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders"), "README.md": "keeps the folder\n"})
	daemon := s.run()
	s.done("orders")
	refused := func(says string) {
		t.Helper()
		_, stderr, code := s.verb("forget", s.ns+"/orders")
		assert.Equal(t, 1, code)
		assert.Contains(t, stderr, "cluster forgotten/orders is not forgotten: "+says)
		assert.Contains(t, s.recorded("orders"), record.Operation)
	}
	refused("it has 1 StatefulSets (crate-data-hot-orders) and 2 volume claims")
	_, stderr, code := s.verb("release", s.ns+"/orders", "--wait")
	require.Zero(t, code, stderr)
	refused(s.dir + " still defines it")

	s.write(map[string]string{"orders.yaml": ""})
	s.until("its definition is gone", func() bool {
		_, stderr, code = s.verb("forget", s.ns+"/orders")
		return code == 0
	})
	assert.Empty(t, s.recorded("orders"), stderr)
	s.throughout("the daemon writes nothing of it again", 2*time.Second, func() bool { return len(s.recorded("orders")) == 0 && daemon.Running() })
	set := s.set("crate-data-hot-orders")
	assert.EqualValues(t, 1, set.Status.ReadyReplicas)
	_, err := s.query("orders", "app", appPassword, "SELECT 1")
	assert.NoError(t, err, "the cluster runs")

	// It may come back: what stands is taken up, as after a lost record.
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	s.done("orders")
	assert.Equal(t, set.UID, s.set("crate-data-hot-orders").UID)
	assert.Equal(t, names.DaemonNamespace+"/"+s.lease, s.record("orders").Shown.Lease, "the record that is recreated names who looks")
	s.noPodRestarted()
}

func TestForgetWhereNobodyLooks(t *testing.T) {
	t.Parallel()
	s := begin(t, "left-over")
	s.appSecret("app-password")
	s.write(map[string]string{
		"orders.yaml": definition(s.ns, "orders"),
		"never.yaml":  definition(s.ns, "never", with("metadata.annotations", map[string]any{names.PausedAnnotation: "true"})),
	})
	daemon := s.run()
	s.done("orders")
	s.until("the other one is paused before it was made", func() bool { return slices.Contains(s.reasons("never"), "paused") })
	_, err := daemon.Stop()
	require.NoError(t, err)

	_, stderr, code := s.verb("forget", s.ns+"/orders")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "and is not released")
	out, stderr, code := s.verb("forget", s.ns+"/never")
	require.Zero(t, code, stderr)
	assert.Equal(t, "cluster left-over/never: nothing is recorded of it any more\n", out)
	assert.Empty(t, s.recorded("never"))
	assert.Equal(t, []record.Kind{record.Operation, record.Inventory, record.Observation}, s.recorded("orders"), "the other cluster's stay")
	_, stderr, code = s.verb("forget", s.ns+"/never")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "there is no record of a cluster left-over/never")
}

func TestAllClustersOfANamespaceArePausedAndResumed(t *testing.T) {
	t.Parallel()
	s := begin(t, "all-of-them")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders"), "metrics.yaml": definition(s.ns, "metrics")})
	s.run()
	s.done("orders")
	s.done("metrics")
	out, stderr, code := s.verb("pause", "--all", "-n", s.ns)
	require.Zero(t, code, stderr)
	assert.Equal(t, 2, strings.Count(out, "cluster all-of-them/"))
	_, stderr, code = s.verb("wait", "--all", "-n", s.ns, "--for", "paused", "--timeout", "1m")
	require.Zero(t, code, stderr)
	out, stderr, code = s.verb("resume", "--all", "-n", s.ns)
	require.Zero(t, code, stderr)
	assert.Equal(t, 2, strings.Count(out, "resumed"))
	out, stderr, code = s.verb("wait", "--all", "-n", s.ns, "--timeout", "1m")
	require.Zero(t, code, stderr)
	assert.Equal(t, "cluster all-of-them/metrics: done\ncluster all-of-them/orders: done\n", out)
	s.noPodRestarted()
}
