package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// versions of what a cluster consists of: resource versions, and of what Kubernetes itself
// keeps a status of all but that status. On a busy machine a pod may be unready for a moment.
func (s *situation) versions() map[string]string {
	s.Helper()
	all := map[string]string{}
	sets, err := bed.Admin.AppsV1().StatefulSets(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for _, object := range sets.Items {
		all["StatefulSet "+object.Name] = fmt.Sprint(object.UID, " ", object.Generation, text(object.Labels), text(object.Annotations))
	}
	services, err := bed.Admin.CoreV1().Services(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for _, object := range services.Items {
		all["Service "+object.Name] = object.ResourceVersion
	}
	secrets, err := bed.Admin.CoreV1().Secrets(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for _, object := range secrets.Items {
		all["Secret "+object.Name] = object.ResourceVersion
	}
	pods, err := bed.Admin.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for _, object := range pods.Items {
		all["Pod "+object.Name] = fmt.Sprint(object.UID, text(object.Labels), text(object.Annotations), text(object.Spec))
	}
	claims, err := bed.Admin.CoreV1().PersistentVolumeClaims(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for _, object := range claims.Items {
		all["PersistentVolumeClaim "+object.Name] = object.ResourceVersion
	}
	return all
}

// A definition that is gone deletes nothing, is said, and goes on when it is
// back; also where the daemon that saw it vanish is not the one that runs.
func TestARemovedDefinitionLeavesItsClusterRunning(t *testing.T) {
	t.Parallel()
	s := begin(t, "removed")
	s.appSecret("app-password")
	good := definition(s.ns, "orders", with(replicasOfHot, 2))
	s.write(map[string]string{"orders.yaml": good, "other.yaml": definition(s.ns, "other")})
	daemon := s.run()
	s.done("orders")
	s.done("other")
	before := s.versions()

	orphaned := func() {
		s.Helper()
		s.refusedFor("orders", "orphaned")
		s.until("the event", func() bool { return s.eventOf("orders", "Orphaned") })
		out, _, _ := s.verb("status", "-n", s.ns, "orders")
		assert.Contains(t, out, "orphaned")
		assert.Equal(t, before, s.versions(), "what was changed of an orphaned cluster")
		_, err := s.query("orders", "app", appPassword, "SELECT 1")
		assert.NoError(t, err)
	}
	s.write(map[string]string{"orders.yaml": ""})
	orphaned()
	assert.Equal(t, model.StageRemovalPending, s.record("orders").Stage)

	s.write(map[string]string{"orders.yaml": good})
	s.done("orders")
	assert.Equal(t, before, s.versions(), "what was changed when the definition came back")

	// Removed while no daemon runs.
	s.kill(daemon)
	s.write(map[string]string{"orders.yaml": ""})
	s.run()
	orphaned()
	s.write(map[string]string{"orders.yaml": good})
	s.done("orders")
	assert.Equal(t, before, s.versions(), "what was changed when the definition came back")
	s.noPodRestarted()

	// It is still looked after.
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 3))})
	s.until("it grows", func() bool { return *s.set(names.StatefulSet("orders", "hot", false)).Spec.Replicas == 3 })
	s.done("orders")
}

// An object that stands under a wanted name and is not ours is never taken.
func TestAnObjectOfSomebodyElseIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := begin(t, "not-ours")
	s.appSecret("app-password")
	name := names.StatefulSet("orders", "hot", false)
	// As crate-operator labels its own.
	theirs := map[string]string{
		"app.kubernetes.io/component": "cratedb", "app.kubernetes.io/managed-by": "crate-operator",
		"app.kubernetes.io/name": "orders", "app.kubernetes.io/part-of": "cratedb", "cloud.crate.io/node-name": "hot",
	}
	made, err := bed.Admin.AppsV1().StatefulSets(s.ns).Create(s.ctx, foreignSet(name, theirs), metav1.CreateOptions{})
	require.NoError(t, err)
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders"), "other.yaml": definition(s.ns, "other")})
	daemon := s.run("--look-interval", "1s")
	s.until("it is refused by name", func() bool {
		return strings.Contains(daemon.Log(), "object-not-ours") && strings.Contains(daemon.Log(), "StatefulSet "+name)
	})
	s.done("other")
	live := s.set(name)
	assert.Equal(t, made.UID, live.UID)
	assert.Equal(t, made.Generation, live.Generation)
	assert.Equal(t, theirs, live.Labels)
	for _, managed := range live.ManagedFields {
		assert.NotEqual(t, names.FieldManager, managed.Manager, "a field of theirs is ours now")
	}
	services, err := bed.Admin.CoreV1().Services(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: names.ClusterLabel + "=orders"})
	require.NoError(t, err)
	assert.Empty(t, services.Items, "nothing of the refused cluster is made")

	// When it is gone, the cluster is made.
	require.NoError(t, bed.Admin.AppsV1().StatefulSets(s.ns).Delete(s.ctx, name, metav1.DeleteOptions{}))
	s.done("orders")
}
