package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/cratesim/model"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/testbed"
)

const (
	allocationEnable  = "SELECT settings['cluster']['routing']['allocation']['enable'] FROM sys.cluster"
	allocationExclude = "SELECT settings['cluster']['routing']['allocation']['exclude']['_id'] FROM sys.cluster"
)

// podsAtMost lets a namespace make no more pods than this: one that is deleted
// does not come back. It returns what lifts it.
func (s *situation) podsAtMost(n int64) (lift func()) {
	s.Helper()
	quotas := bed.Admin.CoreV1().ResourceQuotas(s.ns)
	_, err := quotas.Create(s.ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "pods"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(n, resource.DecimalSI)},
	}}, metav1.CreateOptions{})
	require.NoError(s, err)
	s.until("the quota counts", func() bool {
		quota, err := quotas.Get(s.ctx, "pods", metav1.GetOptions{})
		require.NoError(s, err)
		return len(quota.Status.Used) > 0
	})
	return func() {
		s.Helper()
		require.NoError(s, quotas.Delete(s.ctx, "pods", metav1.DeleteOptions{}))
	}
}

// inTheMiddleOfARestart brings a cluster of three nodes to where a node is down,
// the allocation held and the budget closed, and keeps it there.
func (s *situation) inTheMiddleOfARestart() (at string, goOn func()) {
	s.Helper()
	at = time.Now().UTC().Add(time.Second).Format(time.RFC3339)
	goOn = s.podsAtMost(2)
	s.write(map[string]string{"orders.yaml": s.short(3, with("metadata.annotations", map[string]any{names.RestartedAtAnnotation: at}))})
	s.eventually("a node is down, the allocation held and the budget closed", restartPatience, func() bool {
		return s.record("orders").Lock != nil && len(s.clusterPods("orders")) == 2 && s.maxUnavailable() == 0 &&
			s.held(names.StatefulSet("orders", "hot", false))
	})
	s.until("the database says so", func() bool {
		rows := s.anyAnswers(allocationEnable)
		return len(rows) == 1 && rows[0][0] == "primaries"
	})
	return at, goOn
}

func (s *situation) short(replicas int, edits ...edit) string {
	return definition(s.ns, "orders", append([]edit{with(replicasOfHot, replicas),
		with("spec.operations", map[string]any{"stableFor": "1s", "masterStableFor": "1s"})}, edits...)...)
}

func (s *situation) held(set string) bool {
	s.Helper()
	return s.set(set).Annotations[names.HoldAnnotation] != ""
}

// uninstall is what docs/install.md says, for one namespace.
func (s *situation) uninstall(daemon interface{ Stop() (int, error) }) {
	s.Helper()
	out, stderr, code := s.verb("release", "--all", "-n", s.ns, "--wait", "--timeout", "1m")
	require.Zero(s, code, out+stderr)
	assert.Contains(s, out, "cluster "+s.ns+"/orders: released, and nothing of it is held any more")
	code, err := daemon.Stop()
	require.NoError(s, err)
	assert.Zero(s, code)
	require.NoError(s, bed.Admin.RbacV1().RoleBindings(s.ns).Delete(s.ctx, "stevedore", metav1.DeleteOptions{}))
	require.NoError(s, bed.Admin.RbacV1().Roles(s.ns).Delete(s.ctx, "stevedore", metav1.DeleteOptions{}))
}

// nothingOfOursHolds is what people find when stevedore is gone.
func (s *situation) nothingOfOursHolds() {
	s.Helper()
	assert.Equal(s, [][]string{{"all"}}, s.anyAnswers(allocationEnable), "the allocation")
	assert.Equal(s, [][]string{{""}}, s.anyAnswers(allocationExclude), "the exclusions")
	assert.Equal(s, 1, s.maxUnavailable(), "the budget lets one pod go at a time")
	assert.False(s, s.held(names.StatefulSet("orders", "hot", false)))
	for _, object := range s.everything() {
		assert.Empty(s, object.Finalizers, "finalizers of %s", object.Name)
		assert.Empty(s, object.OwnerReferences, "owners of %s", object.Name)
	}
}

// everything that stevedore made in the namespace.
func (s *situation) everything() []metav1.ObjectMeta {
	s.Helper()
	var all []metav1.ObjectMeta
	selector := metav1.ListOptions{LabelSelector: names.ClusterLabel + "=orders"}
	sets, err := bed.Admin.AppsV1().StatefulSets(s.ns).List(s.ctx, selector)
	require.NoError(s, err)
	for _, object := range sets.Items {
		all = append(all, object.ObjectMeta)
	}
	services, err := bed.Admin.CoreV1().Services(s.ns).List(s.ctx, selector)
	require.NoError(s, err)
	for _, object := range services.Items {
		// A load balancer's own finalizer comes from its controller.
		all = append(all, object.ObjectMeta)
	}
	budgets, err := bed.Admin.PolicyV1().PodDisruptionBudgets(s.ns).List(s.ctx, selector)
	require.NoError(s, err)
	for _, object := range budgets.Items {
		all = append(all, object.ObjectMeta)
	}
	secrets, err := bed.Admin.CoreV1().Secrets(s.ns).List(s.ctx, selector)
	require.NoError(s, err)
	for _, object := range secrets.Items {
		all = append(all, object.ObjectMeta)
	}
	configs, err := bed.Admin.CoreV1().ConfigMaps(s.ns).List(s.ctx, selector)
	require.NoError(s, err)
	for _, object := range configs.Items {
		all = append(all, object.ObjectMeta)
	}
	require.Greater(s, len(all), 6)
	return all
}

// Removed in the middle of a restart: the allocation lock is on and a node is down.
func TestUninstalledInTheMiddleOfARestartNothingOfOursHoldsACluster(t *testing.T) {
	t.Parallel()
	s := begin(t, "uninstall-restart")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": s.short(3)})
	daemon := s.run()
	s.done("orders")
	s.rows("orders", "CREATE TABLE doc.t (id TEXT PRIMARY KEY) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = '1')")
	s.until("the table has its copies", func() bool { return s.notGreen() == 0 })
	s.rows("orders", "INSERT INTO doc.t (id) VALUES ('a'), ('b'), ('c')")
	_, goOn := s.inTheMiddleOfARestart()

	s.uninstall(daemon)
	s.nothingOfOursHolds()
	goOn()
	s.until("the node comes back by itself, and the cluster is whole", func() bool {
		return len(s.anyAnswers("SELECT id FROM sys.nodes")) == 3 && len(s.anyAnswers("SELECT table_name FROM sys.health WHERE health <> 'GREEN'")) == 0
	})
	s.nothingOfOursHolds()
	s.rows("orders", "REFRESH TABLE doc.t")
	assert.Equal(t, [][]string{{"3"}}, s.rows("orders", "SELECT count(*) FROM doc.t"))
	s.until("a pod may be evicted", func() bool { return s.evict("crate-data-hot-orders-0") })
	// Its node is on the others' list for a moment after it has ended.
	s.until("and comes back", func() bool {
		s.pods.mu.Lock()
		again := len(s.pods.uids["crate-data-hot-orders-0"]) == 3
		s.pods.mu.Unlock()
		return again && len(s.anyAnswers("SELECT id FROM sys.nodes")) == 3 && s.ready("orders") == 3
	})
	// The way that is written down for those who want its records gone too.
	require.NoError(t, bed.Admin.CoreV1().ConfigMaps(s.ns).DeleteCollection(s.ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: record.Label}))
	assert.Len(t, s.anyAnswers("SELECT id FROM sys.nodes"), 3)

	// Installed again, without its records, it takes up what it finds.
	require.NoError(t, bed.Namespace(s.ctx, s.ns))
	s.write(map[string]string{"orders.yaml": s.short(3)})
	uids := s.podUIDs()
	s.run()
	s.done("orders")
	assert.Equal(t, uids, s.podUIDs(), "no pod is restarted for it")
}

func (s *situation) podUIDs() map[string]string {
	s.Helper()
	uids := map[string]string{}
	for _, pod := range s.clusterPods("orders") {
		uids[pod.Name] = string(pod.UID)
	}
	return uids
}

// Removed in the middle of a drain: nodes are excluded, and stay then.
func TestUninstalledInTheMiddleOfADrainNothingOfOursHoldsACluster(t *testing.T) {
	// Only a simulated table is large enough to be on its way for hours.
	needing(t, simulator)
	t.Parallel()
	s := begin(t, "uninstall-drain")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": s.short(4)})
	daemon := s.run()
	s.done("orders")
	s.rows("orders", "CREATE TABLE doc.t (id TEXT PRIMARY KEY) CLUSTERED INTO 8 SHARDS WITH (number_of_replicas = '1')")
	s.until("the table has its copies", func() bool { return s.notGreen() == 0 })
	id := s.record("orders").ClusterID
	bed.Sandbox.Simulator().Do(func(m *model.Model) {
		for _, node := range m.Nodes() {
			if node.ClusterID() == id {
				m.SetDiskSize(node, 1<<40) // its claim would be full
				m.SetTableBytes(node.Table("doc", "t"), 100<<30)
			}
		}
	})
	s.write(map[string]string{"orders.yaml": s.short(3)})
	s.eventually("a drain is under way", restartPatience, func() bool {
		rows := s.anyAnswers(allocationExclude)
		return s.record("orders").Exclusions != nil && len(rows) == 1 && rows[0][0] != ""
	})

	s.uninstall(daemon)
	s.nothingOfOursHolds()
	assert.Len(t, s.rows("orders", "SELECT id FROM sys.nodes"), 4, "nodes that had not been let go stay")
	assert.EqualValues(t, 4, *s.set("crate-data-hot-orders").Spec.Replicas)
	s.noPodRestarted()

	// Installed again: the release stands until it is taken back, then the shrink
	// goes on.
	require.NoError(t, bed.Namespace(s.ctx, s.ns))
	s.run()
	s.until("it is still released", func() bool {
		rec := s.record("orders")
		return rec.ReleaseDone()
	})
	s.throughout("hands off", time.Second, func() bool { return s.record("orders").Exclusions == nil })
	_, stderr, code := s.verb("resume", "-n", s.ns, "orders")
	require.Zero(t, code, stderr)
	s.eventually("the drain begins again", restartPatience, func() bool { return s.record("orders").Exclusions != nil })
}

// Nobody gives anything back where no daemon runs, and that has to be said.
func TestAReleaseThatNoDaemonCarriesOutIsAnError(t *testing.T) {
	t.Parallel()
	s := begin(t, "release-alone")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": s.short(1)})
	daemon := s.run()
	s.done("orders")
	_, err := daemon.Stop()
	require.NoError(t, err)
	_, stderr, code := s.verb("release", "-n", s.ns, "orders", "--wait", "--timeout", "1s")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "no daemon has seen it")
	assert.Contains(t, stderr, "do not remove stevedore before it is")
	for _, wrong := range [][]string{{}, {"orders", "--all"}, {"-A"}} {
		_, stderr, code = s.verb(append([]string{"release", "-n", s.ns}, wrong...)...)
		assert.Equal(t, 1, code, "%v: %s", wrong, stderr)
	}
}

// otherVersion is the same program under another version, as a new release is.
func otherVersion(t *testing.T, version string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stevedore")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w -X main.version="+version, "-o", path, "stevedore.dev/stevedore/cmd/stevedore")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// Its record, its hold and the pod that is down are the old release's; the new one
// waits for the Lease, as in a rolling update of the Deployment, and goes on.
func TestANewReleaseGoesOnInTheMiddleOfARestartOfTheOldOne(t *testing.T) {
	t.Parallel()
	s := begin(t, "upgrade-self")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": s.short(3)})
	old := s.run()
	s.done("orders")
	at, goOn := s.inTheMiddleOfARestart()
	before := s.record("orders")
	next := s.start(testbed.DaemonOptions{Args: s.fromDir(), Binary: otherVersion(t, "v99.0.0")})
	s.until("the new one waits", func() bool { return strings.Contains(next.Log(), "another daemon acts") })
	code, err := old.Stop()
	require.NoError(t, err)
	require.Zero(t, code)
	s.until("the new one acts", func() bool { return leads(next) })
	assert.Contains(t, next.Log(), "version=v99.0.0")
	goOn()
	s.eventually("the restart has ended", restartPatience, func() bool {
		rec := s.record("orders")
		return isDone(rec) && rec.RestartedAt == at
	})
	s.caughtUp()
	s.pods.mu.Lock()
	for name, uids := range s.pods.uids {
		assert.Len(t, uids, 2, "pod %s was restarted once", name)
	}
	s.pods.mu.Unlock()
	assert.Equal(t, before.ClusterID, s.record("orders").ClusterID)
	s.nothingOfOursHolds()
}

// A record that says of itself that a newer release wrote it is not understood,
// not changed, and nothing is done to its cluster; others go on.
func TestARecordOfANewerReleaseIsRefusedByNameAndLeftAsItIs(t *testing.T) {
	t.Parallel()
	s := begin(t, "newer-record")
	s.appSecret("app-password")
	other := definition(s.ns, "other")
	s.write(map[string]string{"orders.yaml": s.short(1), "other.yaml": other})
	daemon := s.run()
	s.done("orders")
	s.done("other")
	_, err := daemon.Stop()
	require.NoError(t, err)

	configs := bed.Admin.CoreV1().ConfigMaps(s.ns)
	object, err := configs.Get(s.ctx, names.OperationConfigMap("orders"), metav1.GetOptions{})
	require.NoError(t, err)
	mine := object.Data[names.DataKey]
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(mine), &fields))
	fields["schemaVersion"], fields["heldSince"] = names.SchemaVersion+1, "a field that this release does not know"
	object.Data[names.DataKey] = text(fields)
	object, err = configs.Update(s.ctx, object, metav1.UpdateOptions{FieldManager: "stevedore"})
	require.NoError(t, err)
	theirs, version := object.Data[names.DataKey], object.ResourceVersion
	sets := s.setSpecs()

	s.write(map[string]string{"orders.yaml": s.short(2), "other.yaml": definition(s.ns, "other", with("spec.cluster.service.annotations", map[string]any{"example.com/mark": "x"}))})
	daemon = s.run()
	s.until("it is said by name", func() bool {
		return strings.Contains(daemon.Log(), names.OperationConfigMap("orders")) && strings.Contains(daemon.Log(), "schemaVersion 2 is not known to this release")
	})
	s.until("the other cluster goes on", func() bool { return s.service("crate-other").Annotations["example.com/mark"] == "x" })
	out, _, _ := s.verb("status", "-n", s.ns)
	assert.Contains(t, out, "run the release that wrote it")
	object, err = configs.Get(s.ctx, names.OperationConfigMap("orders"), metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, theirs, object.Data[names.DataKey])
	assert.Equal(t, version, object.ResourceVersion, "not even its labels were written")
	assert.Equal(t, sets["crate-data-hot-orders"], s.setSpecs()["crate-data-hot-orders"], "its StatefulSet")

	// The release that wrote it is back, and what it knew is there.
	object.Data[names.DataKey] = mine
	_, err = configs.Update(s.ctx, object, metav1.UpdateOptions{FieldManager: "stevedore"})
	require.NoError(t, err)
	s.eventually("the cluster goes on", restartPatience, func() bool { return *s.set("crate-data-hot-orders").Spec.Replicas == 2 && isDone(s.record("orders")) })
}
