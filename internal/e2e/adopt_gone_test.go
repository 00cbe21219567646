package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/ops/model"
)

// Who enlarges claim templates deletes a StatefulSet without its pods and makes it again. A daemon that waits for the adoption
// makes none of its own around pods and volumes that are somebody's: the volumes would go with their owner.
func TestAClusterWhoseStatefulSetIsGoneForAMomentIsNotTaken(t *testing.T) {
	t.Parallel()
	o := operate(t, "adopt-gone")
	daemon := o.expected()
	before := o.theirs()
	sets := o.client.Resource(o.resourceOf(setNamed("crate-data-hot-orders"))).Namespace(o.ns)
	set, err := sets.Get(o.ctx, "crate-data-hot-orders", metav1.GetOptions{})
	require.NoError(t, err)
	orphan := metav1.DeletePropagationOrphan
	require.NoError(t, sets.Delete(o.ctx, set.GetName(), metav1.DeleteOptions{PropagationPolicy: &orphan}))

	named := func(pod string) func() bool {
		return func() bool {
			return slices.ContainsFunc(o.record(cutCluster).Shown.Reasons, func(r model.ShownReason) bool {
				return r.Name == "object-not-ours" && strings.Contains(r.Message, "Pod "+pod+" (") &&
					strings.Contains(r.Message, "PersistentVolumeClaim data0-crate-data-hot-orders-0 (it belongs to crate-operator (its CrateDB orders))") &&
					!strings.Contains(r.Message, "StatefulSet crate-data-hot-orders (")
			})
		}
	}
	o.until("the pod and the claim are refused", named("crate-data-hot-orders-0"))
	o.same("without their StatefulSet")
	require.NoError(t, bed.Admin.CoreV1().Pods(o.ns).Delete(o.ctx, "crate-data-hot-orders-0", metav1.DeleteOptions{}))
	delete(o.pods, "crate-data-hot-orders-0")
	o.until("another pod is refused, where the first is gone too", named("crate-data-hot-orders-1"))
	_, err = sets.Get(o.ctx, set.GetName(), metav1.GetOptions{})
	assert.Error(t, err, "nobody has made it again")

	again := &unstructured.Unstructured{Object: map[string]any{"apiVersion": set.GetAPIVersion(), "kind": set.GetKind(), "spec": set.Object["spec"]}}
	again.SetName(set.GetName())
	again.SetLabels(set.GetLabels())
	again.SetAnnotations(set.GetAnnotations())
	again.SetOwnerReferences(set.GetOwnerReferences())
	_, err = sets.Create(o.ctx, again, metav1.CreateOptions{FieldManager: "OpenAPI-Generator"})
	require.NoError(t, err)
	o.until("the StatefulSet is refused", func() bool {
		return slices.ContainsFunc(o.record(cutCluster).Shown.Reasons, func(r model.ShownReason) bool {
			return r.Name == "object-not-ours" && strings.Contains(r.Message, "StatefulSet crate-data-hot-orders (")
		})
	})
	o.eventually("it is as it was", restartPatience, func() bool { return o.ready(cutCluster) == 3 && maps.Equal(before, o.theirs()) })
	o.adopt()
	o.settled(cutCluster)
	o.same("after the adoption")
	o.stop(daemon)
}

func setNamed(name string) *unstructured.Unstructured {
	set := &unstructured.Unstructured{}
	set.SetAPIVersion("apps/v1")
	set.SetKind("StatefulSet")
	set.SetName(name)
	return set
}

// The pods of a StatefulSet that somebody wrote have labels that no watch of the daemon selects.
func TestAWrittenStatefulSetThatIsGoneIsNotTaken(t *testing.T) {
	t.Parallel()
	s := handwrite(t, "written-gone")
	daemon := s.expected()
	orphan := metav1.DeletePropagationOrphan
	require.NoError(t, bed.Admin.AppsV1().StatefulSets(s.ns).Delete(s.ctx, writtenSet, metav1.DeleteOptions{PropagationPolicy: &orphan}))
	s.until("a pod of it is refused", func() bool {
		return slices.ContainsFunc(s.record(cutCluster).Shown.Reasons, func(r model.ShownReason) bool {
			return r.Name == "object-not-ours" && strings.Contains(r.Message, "Pod crate-0 (") && !strings.Contains(r.Message, "StatefulSet crate (")
		})
	})
	_, err := bed.Admin.AppsV1().StatefulSets(s.ns).Get(s.ctx, writtenSet, metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	assert.Equal(t, s.pods, s.podsNow())
	s.stop(daemon)
}
