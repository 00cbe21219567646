package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

// What is not done is refused by its name, with nothing of it applied, while
// the harmless part of the same commit is.
func TestWhatIsNotSupportedIsRefusedByNameWithNothingApplied(t *testing.T) {
	t.Parallel()
	s := begin(t, "refusals")
	s.appSecret("app-password")
	base := []edit{with(replicasOfHot, 2), with("spec.nodes.data.1", group("cold", 1)), with("spec.users.1", user("report"))}
	s.appSecret("report-password")
	require.NoError(t, bed.Secret(s.ctx, s.ns, "ssl", map[string]string{"keystore": "k", "password": "p"}))
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", base...)})
	receiver := testbed.NewReceiver(nil)
	t.Cleanup(receiver.Close)
	s.start(testbed.DaemonOptions{Args: s.fromDir(), Env: []string{"WEBHOOK_URL=" + receiver.URL()}})
	s.done("orders")
	before, selector := s.setSpecs(), s.service("crate-orders").Spec.Selector

	ssl := func(key string) map[string]any {
		return map[string]any{"secretKeyRef": map[string]any{"name": "ssl", "key": key}}
	}
	for _, situation := range []struct {
		change  string
		edits   []edit
		refused []string
	}{
		{"fewer replicas", []edit{with(replicasOfHot, 1)}, []string{"master-quorum"}},
		{"a version with a minor left out", []edit{with("spec.cluster.version", "6.6.0")}, []string{"version-path"}},
		{"an older version", []edit{with("spec.cluster.version", "6.3.7")}, []string{"downgrade-refused"}},
		{"dedicated masters", []edit{with("spec.nodes.master", map[string]any{"replicas": 3, "resources": resources()})}, []string{"new-group-not-supported"}},
		{"a group less", []edit{with("spec.nodes.data.1", nil)}, []string{"group-removal-consent"}},
		{"a smaller disk", []edit{with("spec.nodes.data.0.resources.disk.size", "1GiB")}, []string{"volume-cannot-shrink"}},
		{"another cluster.name", []edit{with("spec.cluster.name", "purchases")}, []string{"cluster-name-change"}},
		{"TLS", []edit{with("spec.cluster.ssl", map[string]any{"keystore": ssl("keystore"), "keystorePassword": ssl("password"), "keystoreKeyPassword": ssl("password")})}, []string{"tls-change-not-supported"}},
		{"a user less", []edit{with("spec.users.1", nil)}, []string{"user-removal-not-supported"}},
		{"a shrink beside a grow", []edit{with(replicasOfHot, 1), with("spec.nodes.data.1.replicas", 2)}, []string{"master-quorum"}},
	} {
		edits := append(slices.Clone(base), situation.edits...)
		edits = append(edits, with("spec.cluster.service.annotations", map[string]any{"example.com/change": situation.change}))
		s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", edits...)})
		s.until(situation.change+": the harmless part is applied", func() bool {
			return s.service("crate-orders").Annotations["example.com/change"] == situation.change
		})
		s.until(situation.change+": refused as "+strings.Join(situation.refused, ", "), func() bool {
			return assert.ObjectsAreEqual(sorted(situation.refused), sorted(s.refusals("orders")))
		})
		assert.Equal(t, before, s.setSpecs(), "%s: a StatefulSet was changed", situation.change)
		assert.Equal(t, selector, s.service("crate-orders").Spec.Selector, "%s: clients reach other pods", situation.change)
		budgets, err := bed.Admin.PolicyV1().PodDisruptionBudgets(s.ns).List(s.ctx, metav1.ListOptions{})
		require.NoError(t, err)
		assert.Len(t, budgets.Items, 1, "%s: budgets", situation.change)
		for _, name := range situation.refused {
			s.until(situation.change+": told as a failure", func() bool {
				return slices.ContainsFunc(receiver.Taken(), func(d testbed.Delivery) bool {
					return d.Status == "failure" && d.Revision == s.record("orders").Revision && strings.Contains(string(d.Body), name)
				})
			})
		}
	}

	// Taken back, all is as it was.
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", base...)})
	s.done("orders")
	assert.Equal(t, before, s.setSpecs())
	s.noPodRestarted()
	claims, err := bed.Admin.CoreV1().PersistentVolumeClaims(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, claims.Items, 6, "volume claims")
	_, err = s.query("orders", "report", appPassword, "SELECT 1")
	assert.NoError(t, err, "the user that was gone for a while")
}

// setSpecs are the specs of all StatefulSets of the namespace.
func (s *situation) setSpecs() map[string]string {
	s.Helper()
	list, err := bed.Admin.AppsV1().StatefulSets(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	specs := map[string]string{}
	for _, set := range list.Items {
		text, err := json.Marshal(set.Spec)
		require.NoError(s, err)
		specs[set.Name] = string(text)
	}
	return specs
}

// The Secret of the system user cannot be recreated: the database would not
// take another password.
func TestALostSystemSecretIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	s := begin(t, "system-lost")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	s.run()
	s.done("orders")
	password := s.secretValue(names.SystemSecret("orders"), "password")
	require.NoError(t, bed.Admin.CoreV1().Secrets(s.ns).Delete(s.ctx, names.SystemSecret("orders"), metav1.DeleteOptions{}))
	s.refusedFor("orders", "system-password-lost")
	require.NoError(t, bed.Secret(s.ctx, s.ns, names.SystemSecret("orders"), map[string]string{"password": password}))
	s.done("orders")
	s.noPodRestarted()
}

func TestASecondSourceWithTheSameClusterIsRefused(t *testing.T) {
	t.Parallel()
	s := begin(t, "two-sources")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	first := s.run()
	s.done("orders")
	_, err := first.Stop()
	require.NoError(t, err)
	owner := s.record("orders").Owner
	before := s.setSpecs()

	other := t.TempDir()
	second := s.aside(s.ns, other)
	second.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with("spec.cluster.service.annotations", map[string]any{"example.com/source": "second"}))})
	daemon := s.start(testbed.DaemonOptions{Args: second.fromDir()})
	s.until("the second source is refused, both named", func() bool {
		log := daemon.Log()
		return strings.Contains(log, "another-owner") && strings.Contains(log, s.dir) && strings.Contains(log, other)
	})
	assert.Empty(t, s.service("crate-orders").Annotations["example.com/source"])
	assert.Equal(t, owner, s.record("orders").Owner)
	assert.Equal(t, before, s.setSpecs())
	_, err = daemon.Stop()
	require.NoError(t, err)

	// With consent it moves.
	second.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with("spec.operations.consent", []string{"take-over"}))})
	s.start(testbed.DaemonOptions{Args: second.fromDir()})
	s.until("the cluster has a new owner", func() bool { return strings.Contains(s.record("orders").Owner, other) })
	s.done("orders")
	assert.Equal(t, before, s.setSpecs())
	s.noPodRestarted()
}

// A new name with the same spec.cluster.name would be an empty database beside
// the one with the data.
func TestARenameIsRefused(t *testing.T) {
	t.Parallel()
	s := begin(t, "rename")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	daemon := s.run()
	s.done("orders")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "purchases", with("spec.cluster.name", "orders"))})
	for _, one := range s.plans(2, s.dir) {
		if one.Name == "purchases" {
			require.NotEmpty(t, one.Refused, "the plan refuses what the daemon refuses")
			assert.Equal(t, "rename", one.Refused[0].Name)
		}
	}
	s.refusedFor("purchases", "rename")
	s.refusedFor("orders", "orphaned")
	sets, err := bed.Admin.AppsV1().StatefulSets(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, sets.Items, 1, "StatefulSets")

	// Also by a daemon that never saw the old definition.
	s.kill(daemon)
	once := s.run("--once")
	s.until("the next daemon ends", func() bool { return !once.Running() })
	assert.Equal(t, 1, once.ExitCode())
	s.refusedFor("purchases", "rename")
	sets, err = bed.Admin.AppsV1().StatefulSets(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, sets.Items, 1, "StatefulSets")

	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	s.run()
	s.done("orders")
	s.noPodRestarted()
}
