package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

// One source, three clusters: what is wrong with one stops no other.
func TestABrokenClusterStopsNoOther(t *testing.T) {
	t.Parallel()
	s := begin(t, "isolation")
	s.appSecret("app-password")
	waiting := definition(s.ns, "waiting", with("spec.users.0", user("absent")))
	s.write(map[string]string{
		"good.yaml":    definition(s.ns, "good"),
		"broken.yaml":  "apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: broken, namespace: " + s.ns + "}\nspec:\n  cluster: {name: broken, imageRegistry: crate, version: 6.4.3}\n  nodes:\n    data:\n    - name: hot\n      replica: 1\n",
		"waiting.yaml": waiting,
	})
	daemon := s.run()
	s.done("good")
	s.until("the mistake is in the log with its line", func() bool { return strings.Contains(daemon.Log(), "broken.yaml:9:7") })
	s.until("the missing Secret is named", func() bool {
		return slices.ContainsFunc(s.record("waiting").Shown.Reasons, func(r shownReason) bool {
			return r.Name == "secret-missing" && strings.Contains(r.Message, "absent-password")
		})
	})
	// While the others stand still, the good one takes a change.
	s.write(map[string]string{"good.yaml": definition(s.ns, "good", with(replicasOfHot, 2))})
	s.until("the good cluster grows", func() bool { return len(s.record("good").Sets) == 1 && s.record("good").Sets[0].Replicas == 2 })
	s.done("good")

	// Each goes on when its own reason is gone.
	s.appSecret("absent-password")
	s.done("waiting")
	s.write(map[string]string{"broken.yaml": definition(s.ns, "broken")})
	s.done("broken")
	s.noPodRestarted()
}

// A mistake in a definition that was good keeps the cluster as it was, and is
// shown with its place until it is corrected.
func TestAMistakeIsShownWithItsLineAndMended(t *testing.T) {
	t.Parallel()
	s := begin(t, "mistake")
	s.appSecret("app-password")
	good := definition(s.ns, "orders")
	s.write(map[string]string{"orders.yaml": good, "other.yaml": definition(s.ns, "other")})
	s.run()
	s.done("orders")
	s.done("other")

	for _, mistake := range []struct{ what, content, shown string }{
		{"an unknown field", strings.Replace(good, "replicas: 1", "replica: 1", 1), "did you mean"},
		{"a wrong type", strings.Replace(good, "replicas: 1", "replicas: many", 1), "replicas"},
		{"no YAML at all", "apiVersion: cloud.crate.io/v1\nkind: [\n", "orders.yaml:"},
	} {
		s.write(map[string]string{"orders.yaml": mistake.content})
		s.until(mistake.what+": shown with its place", func() bool {
			return slices.ContainsFunc(s.record("orders").Shown.Problems, func(p string) bool {
				return strings.HasPrefix(p, "orders.yaml:") && strings.Contains(p, mistake.shown)
			})
		})
		out, _, code := s.verb("status", "-n", s.ns, "orders")
		assert.Equal(t, 0, code)
		assert.Contains(t, out, "orders.yaml:", "%s: status", mistake.what)

		// The rest of the source is used all the same, where YAML can be read.
		_, err := s.query("orders", "app", appPassword, "SELECT 1")
		assert.NoError(t, err, "the cluster runs on")
	}
	s.write(map[string]string{"orders.yaml": good})
	s.done("orders")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with("spec.cluster.service.annotations", map[string]any{"example.com/corrected": "yes"}))})
	s.until("it goes on", func() bool { return s.service("crate-orders").Annotations["example.com/corrected"] == "yes" })
	s.done("other")
	s.noPodRestarted()
}

// A namespace without the Role, and one that does not exist, are one clear
// error each; it goes on when they are there.
func TestAMissingNamespaceOrRoleStopsOnlyItsCluster(t *testing.T) {
	t.Parallel()
	s := begin(t, "rights")
	s.appSecret("app-password")
	missing, forbidden := "rights-missing", "rights-forbidden"
	_, err := bed.Admin.CoreV1().Namespaces().Create(s.ctx, namespaceNamed(forbidden), metav1.CreateOptions{})
	require.NoError(t, err)
	s.write(map[string]string{
		"good.yaml":      definition(s.ns, "good"),
		"missing.yaml":   definition(missing, "one"),
		"forbidden.yaml": definition(forbidden, "two"),
	})
	daemon := s.run()
	s.done("good")
	for _, namespace := range []string{missing, forbidden} {
		s.until("the error of "+namespace+" is said", func() bool {
			return slices.ContainsFunc(strings.Split(daemon.Log(), "\n"), func(line string) bool {
				return strings.Contains(line, "level=WARN") && strings.Contains(line, namespace)
			})
		})
	}
	for namespace, cluster := range map[string]string{missing: "one", forbidden: "two"} {
		there := s.aside(namespace, s.dir)
		require.NoError(t, bed.Namespace(s.ctx, namespace))
		there.appSecret("app-password")
		there.eventually(cluster+" goes on", patience*2, func() bool { return isDone(there.record(cluster)) })
		t.Cleanup(func() { dropSets(t, namespace) })
	}
	s.noPodRestarted()
}

// Rights that are taken away later stop what needs them, and nothing else.
func TestRightsThatAreRevokedStopOnlyTheirCluster(t *testing.T) {
	t.Parallel()
	s := begin(t, "revoked")
	s.appSecret("app-password")
	other := begin(t, "revoked-not")
	other.appSecret("app-password")
	s.write(map[string]string{"one.yaml": definition(s.ns, "one"), "two.yaml": definition(other.ns, "two")})
	daemon := s.run("--look-interval", "1s")
	s.done("one")
	other.done("two")

	require.NoError(t, bed.Admin.RbacV1().RoleBindings(s.ns).Delete(s.ctx, "stevedore", metav1.DeleteOptions{}))
	s.write(map[string]string{
		"one.yaml": definition(s.ns, "one", with("spec.cluster.service.annotations", map[string]any{"example.com/a": "b"})),
		"two.yaml": definition(other.ns, "two", with("spec.cluster.service.annotations", map[string]any{"example.com/a": "b"})),
	})
	s.until("the other goes on", func() bool { return other.service("crate-two").Annotations["example.com/a"] == "b" })
	s.until("the error is said", func() bool { return strings.Contains(daemon.Log(), "forbidden") })
	assert.Empty(t, s.service("crate-one").Annotations["example.com/a"])

	require.NoError(t, bed.Namespace(s.ctx, s.ns))
	s.until("it goes on with its rights", func() bool { return s.service("crate-one").Annotations["example.com/a"] == "b" })
	s.done("one")
	s.noPodRestarted()
}

// A definition that never could start may be corrected: pods that never ran are recreated on the new template.
func TestADefinitionThatNeverStartedIsCorrected(t *testing.T) {
	t.Parallel()
	s := begin(t, "corrected")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with("spec.nodes.data.0.resources.limits.cpu", 5000))})
	s.run()
	s.until("its pod cannot be scheduled", func() bool {
		pods := s.clusterPods("orders")
		return len(pods) == 1 && slices.ContainsFunc(pods[0].Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Reason == corev1.PodReasonUnschedulable && strings.Contains(c.Message, "Insufficient cpu")
		})
	})
	stuck := s.clusterPods("orders")[0].UID
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	s.done("orders")
	assert.NotEqual(t, stuck, s.clusterPods("orders")[0].UID)
}

// A source that vanishes keeps the last good state; nothing is orphaned.
func TestASourceThatVanishesKeepsWhatWasGood(t *testing.T) {
	t.Parallel()
	s := begin(t, "vanished")
	s.appSecret("app-password")
	repository := s.repository(definition(s.ns, "orders"))
	daemon := s.start(testbed.DaemonOptions{Args: []string{"--git", repository.URL, "--ref", "main", "--interval", "200ms", "--namespace", s.ns}})
	s.done("orders")
	require.NoError(t, os.Rename(repository.Bare, repository.Bare+".away"))
	s.until("the failure is said", func() bool { return strings.Contains(daemon.Log(), "level=WARN") })
	assert.True(t, isDone(s.record("orders")))
	require.NoError(t, os.Rename(repository.Bare+".away", repository.Bare))
	require.NoError(t, repository.Push(s.ctx, "an annotation", map[string]string{"orders.yaml": definition(s.ns, "orders", with("spec.cluster.service.annotations", map[string]any{"example.com/a": "b"}))}))
	s.until("it goes on", func() bool { return s.service(names.Service("orders")).Annotations["example.com/a"] == "b" })
	s.noPodRestarted()
}
