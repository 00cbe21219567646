package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
)

// foreignSet is a StatefulSet of somebody else, without replicas.
func foreignSet(name string, labels map[string]string) *appsv1.StatefulSet {
	none := int32(0)
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &none, ServiceName: "cratedb",
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "crate", Image: "crate:6.4.3"}}},
			},
		},
	}
}

// What people change by hand is put back to what was last effective, without a
// pod going down; what is not ours stays.
func TestDriftIsCorrectedWithoutAPodGoingDown(t *testing.T) {
	t.Parallel()
	s := begin(t, "drift")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 3))})
	s.run()
	s.done("orders")
	set := names.StatefulSet("orders", "hot", false)
	before := s.setSpecs()
	budget := func() bool {
		_, err := bed.Admin.PolicyV1().PodDisruptionBudgets(s.ns).Get(s.ctx, names.DataBudget("orders"), metav1.GetOptions{})
		return err == nil
	}

	s.patch("services", "crate-orders", `{"metadata":{"annotations":{"example.com/theirs":"stays"}}}`)
	for _, drift := range []struct {
		what string
		make func()
		back func() bool
	}{
		{"a label of a Service is removed",
			func() {
				s.patch("services", "crate-orders", `{"metadata":{"labels":{"app.kubernetes.io/part-of":null}}}`)
			},
			func() bool { return s.service("crate-orders").Labels[names.PartOfLabel] == "cratedb" }},
		{"a port of a Service is changed",
			func() {
				s.patch("services", "crate-orders", `{"spec":{"ports":[{"name":"http","port":4200,"protocol":"TCP","targetPort":9999}]}}`)
			},
			func() bool {
				ports := s.service("crate-orders").Spec.Ports
				return len(ports) == 2 && ports[0].TargetPort.IntValue() == 4200 && ports[1].TargetPort.IntValue() == 5432
			}},
		{"a label of a template is edited",
			func() {
				s.patch("statefulsets", set, `{"spec":{"template":{"metadata":{"labels":{"app.kubernetes.io/part-of":"nothing"}}}}}`)
			},
			func() bool { return s.set(set).Spec.Template.Labels[names.PartOfLabel] == "cratedb" }},
		{"a Service is deleted",
			func() {
				require.NoError(t, bed.Admin.CoreV1().Services(s.ns).Delete(s.ctx, "crate-discovery-orders", metav1.DeleteOptions{}))
			},
			func() bool {
				_, err := bed.Admin.CoreV1().Services(s.ns).Get(s.ctx, "crate-discovery-orders", metav1.GetOptions{})
				return err == nil
			}},
		{"a budget is deleted",
			func() {
				require.NoError(t, bed.Admin.PolicyV1().PodDisruptionBudgets(s.ns).Delete(s.ctx, names.DataBudget("orders"), metav1.DeleteOptions{}))
			}, budget},
		{"the image of a container is edited",
			func() { s.setImage(set, "crate:5.0.0") },
			func() bool { return s.set(set).Spec.Template.Spec.Containers[0].Image == "crate:6.4.3" }},
	} {
		drift.make()
		s.until(drift.what+": it is put back", drift.back)
		s.done("orders")
	}
	assert.Equal(t, before, s.setSpecs())

	// What the definition names no more is taken off, what others put on stays.
	for _, mark := range []string{"ours", ""} {
		edits := []edit{with(replicasOfHot, 3)}
		if mark != "" {
			edits = append(edits, marked(mark))
		}
		s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", edits...)})
		s.until("the annotation is "+mark, func() bool { return s.service("crate-orders").Annotations["example.com/mark"] == mark })
		s.done("orders")
	}
	assert.NotContains(t, s.service("crate-orders").Annotations, "example.com/mark")
	assert.Equal(t, "stays", s.service("crate-orders").Annotations["example.com/theirs"])
	s.noPodRestarted()
}

// setImage edits a template by hand, as `kubectl set image` does.
func (s *situation) setImage(name, image string) {
	s.Helper()
	set := s.set(name)
	set.Spec.Template.Spec.Containers[0].Image = image
	_, err := bed.Admin.AppsV1().StatefulSets(s.ns).Update(s.ctx, set, metav1.UpdateOptions{FieldManager: "kubectl-set"})
	require.NoError(s, err)
}

// Replicas that somebody raised are not lowered: the new nodes may hold shards.
func TestReplicasRaisedByHandAreNotLowered(t *testing.T) {
	t.Parallel()
	s := begin(t, "raised")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 2))})
	s.run()
	s.done("orders")
	set := names.StatefulSet("orders", "hot", false)
	s.patch("statefulsets", set, `{"spec":{"replicas":3}}`)
	s.refusedFor("orders", "replicas-raised-by-others")
	s.throughout("the replicas stay raised", 2*time.Second, func() bool { return *s.set(set).Spec.Replicas == 3 })

	// What they raised may be made the wish, and ends as a grow.
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 3))})
	s.done("orders")
	assert.EqualValues(t, 3, *s.set(set).Spec.Replicas)
	s.noPodRestarted()
}

// Replicas that somebody lowered come back: their nodes come back to their own
// volumes.
func TestReplicasLoweredByHandComeBack(t *testing.T) {
	t.Parallel()
	s := begin(t, "lowered")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 3))})
	daemon := s.run()
	s.done("orders")
	set := names.StatefulSet("orders", "hot", false)
	s.patch("statefulsets", set, `{"spec":{"replicas":2}}`)
	s.until("the replicas are back", func() bool { return *s.set(set).Spec.Replicas == 3 })
	s.until("the node is back", func() bool {
		rows, err := s.query("orders", "app", appPassword, "SELECT count(*) FROM sys.nodes")
		return err == nil && s.ready("orders") == 3 && rows[0][0] == "3"
	})
	s.done("orders")
	assert.False(t, strings.Contains(daemon.Log(), "not-supported"), "nothing of it is refused")
}
