package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/testbed"
	"stevedore.dev/stevedore/ops/model"
)

func (s *situation) configMap(name string) (*corev1.ConfigMap, bool) {
	s.Helper()
	object, err := bed.Admin.CoreV1().ConfigMaps(s.ns).Get(s.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, false
	}
	require.NoError(s, err)
	return object, true
}

// What exists is taken over as the definition says, what the definition makes no
// more goes, and a definition that moves to another file changes nothing.
func TestOtherObjectsAreTakenOverAndRemovedAsTheDefinitionSays(t *testing.T) {
	t.Parallel()
	s := begin(t, "ownership")
	s.appSecret("app-password")
	make := func(name string, annotations map[string]string) *corev1.ConfigMap {
		object, err := bed.Admin.CoreV1().ConfigMaps(s.ns).Create(s.ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Data: map[string]string{"theirs": "1"},
		}, metav1.CreateOptions{FieldManager: "someone"})
		require.NoError(t, err)
		return object
	}
	nobodys := make("nobodys", nil)
	helms := make("helms", map[string]string{"meta.helm.sh/release-name": "shop"})
	extra := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {ours: '1'}\n"
	}
	good := definition(s.ns, "orders")
	s.write(map[string]string{"orders.yaml": good, "nobodys.yaml": extra("nobodys"), "helms.yaml": extra("helms"), "made.yaml": extra("made")})
	daemon := s.run("--look-interval", "1s")
	s.until("it is refused with whose it is", func() bool {
		return strings.Contains(daemon.Log(), "ConfigMap helms (it belongs to the Helm release shop)")
	})
	live, _ := s.configMap("helms")
	assert.Equal(t, helms.ResourceVersion, live.ResourceVersion)

	s.write(map[string]string{"helms.yaml": ""})
	s.done("orders")
	live, _ = s.configMap("nobodys")
	assert.Equal(t, nobodys.UID, live.UID)
	assert.Equal(t, map[string]string{"theirs": "1", "ours": "1"}, live.Data)

	// It moves to another file, and nothing is recreated or removed.
	before := s.versions()
	s.write(map[string]string{"moved.yaml": good, "orders.yaml": "", "both.yaml": extra("nobodys") + "---\n" + extra("made"), "nobodys.yaml": "", "made.yaml": ""})

	// What is made no more goes, and nothing else.
	s.write(map[string]string{"both.yaml": extra("nobodys")})
	s.until("it is removed", func() bool { _, there := s.configMap("made"); return !there })
	s.done("orders")
	_, there := s.configMap("nobodys")
	assert.True(t, there)
	live, _ = s.configMap("helms")
	assert.Equal(t, helms.ResourceVersion, live.ResourceVersion)
	assert.Equal(t, before, s.versions(), "what else was changed")
	assert.False(t, s.eventOf("orders", "Orphaned"))
	s.noPodRestarted()
}

// By the consent that was applied before it vanished a cluster is deleted, but not
// its volumes; and of many that vanish at once none is.
func TestDefinitionsThatConsentedTakeTheirClustersWithThemUnlessManyVanish(t *testing.T) {
	t.Parallel()
	s := begin(t, "vanishing")
	s.appSecret("app-password")
	all := []string{"one", "two", "three"}
	files := map[string]string{"stays.yaml": definition(s.ns, "stays")}
	gone := map[string]string{}
	for _, name := range all {
		files[name+".yaml"] = definition(s.ns, name, with("spec.operations.consent", []string{"delete-cluster"}))
		gone[name+".yaml"] = ""
	}
	s.write(files)
	receiver := testbed.NewReceiver(nil)
	t.Cleanup(receiver.Close)
	daemon := s.start(testbed.DaemonOptions{
		Args: s.fromDir("--look-interval", "1s", "--removal-delay", "3s", "--max-removed", "2"), Env: []string{"WEBHOOK_URL=" + receiver.URL()},
	})
	for _, name := range append(all, "stays") {
		s.done(name)
	}
	s.rows("one", "CREATE TABLE doc.t (id TEXT PRIMARY KEY) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0)")
	s.rows("one", "INSERT INTO doc.t (id) VALUES ('kept')")
	id := s.record("one").ClusterID
	before := s.versions()

	s.write(gone)
	for _, name := range all {
		s.refusedFor(name, "mass-removal")
	}
	s.until("the webhook", func() bool {
		for _, delivery := range receiver.Taken() {
			if strings.Contains(string(delivery.Body), "--max-removed") {
				return true
			}
		}
		return false
	})
	s.until("the event", func() bool { return s.eventOf("one", "MassRemoval") })
	s.untilLog(daemon, "mass-removal")
	// Those that are back go on, the others are not taken for a few that vanished.
	s.write(map[string]string{"one.yaml": files["one.yaml"], "two.yaml": files["two.yaml"]})
	s.done("one")
	s.done("two")
	s.refusedFor("three", "mass-removal")
	s.write(map[string]string{"three.yaml": files["three.yaml"]})
	s.done("three")
	assert.Equal(t, before, s.versions(), "what was changed")
	s.noPodRestarted()

	// One alone goes, though the daemon is killed meanwhile.
	s.write(map[string]string{"one.yaml": ""})
	s.until("it begins", func() bool { r := s.record("one").Removal; return r != nil && !r.Began.IsZero() })
	s.kill(daemon)
	s.start(testbed.DaemonOptions{
		Args: s.fromDir("--look-interval", "1s", "--removal-delay", "3s", "--max-removed", "2"), Env: []string{"WEBHOOK_URL=" + receiver.URL()},
	})
	s.until("its records are gone", func() bool { _, there := s.configMap(names.OperationConfigMap("one")); return !there })
	for _, kind := range record.Kinds() {
		_, there := s.configMap(kind.Name("one"))
		assert.False(t, there, kind)
	}
	sets, err := bed.Admin.AppsV1().StatefulSets(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: names.ClusterLabel + "=one"})
	require.NoError(t, err)
	assert.Empty(t, sets.Items)
	services, err := bed.Admin.CoreV1().Services(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: names.ClusterLabel + "=one"})
	require.NoError(t, err)
	assert.Empty(t, services.Items)
	budgets, err := bed.Admin.PolicyV1().PodDisruptionBudgets(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: names.ClusterLabel + "=one"})
	require.NoError(t, err)
	assert.Empty(t, budgets.Items)
	s.until("its pods are gone", func() bool { return len(s.clusterPods("one")) == 0 })
	claims, err := bed.Admin.CoreV1().PersistentVolumeClaims(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: names.NameLabel + "=one"})
	require.NoError(t, err)
	assert.NotEmpty(t, claims.Items, "volume claims are never deleted")
	_, err = bed.Admin.CoreV1().Secrets(s.ns).Get(s.ctx, names.SystemSecret("one"), metav1.GetOptions{})
	require.NoError(t, err, "Secrets are never deleted")
	told := ""
	for _, delivery := range receiver.Taken() {
		told += string(delivery.Body)
	}
	assert.Contains(t, told, "the cluster was deleted")
	for _, name := range []string{"two", "three", "stays"} {
		assert.True(t, isDone(s.record(name)), name)
	}

	// A definition of the same name finds its data again.
	s.write(map[string]string{"one.yaml": files["one.yaml"]})
	s.done("one")
	assert.Equal(t, id, s.record("one").ClusterID)
	assert.Equal(t, [][]string{{"kept"}}, s.rows("one", "SELECT id FROM doc.t"))
	assert.NotEqual(t, model.StageRemoved, s.record("one").Stage)
}
