package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// What users of crate-operator ran into, each as a test of what holds instead.
// The guard of each is taken out in internal/mutations, and its test goes red.

// view is what is live in a namespace.
type view struct {
	objects map[compare.Key]*unstructured.Unstructured
	pods    []*corev1.Pod
}

func (v view) Get(k compare.Key) (*unstructured.Unstructured, bool) {
	object, ok := v.objects[k]
	return object, ok
}
func (v view) Pods(string, string) []*corev1.Pod                     { return v.pods }
func (v view) Claims(string, string) []*corev1.PersistentVolumeClaim { return nil }
func (v view) Secret(string, string) (*corev1.Secret, bool)          { return nil, false }

func (v view) Objects(_, cluster string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, object := range v.objects {
		if object.GetLabels()[names.ClusterLabel] == cluster {
			out = append(out, object)
		}
	}
	return out
}

func setOf(name string, labels map[string]any) (compare.Key, *unstructured.Unstructured) {
	metadata := map[string]any{"namespace": "ns", "name": name}
	if labels != nil {
		metadata["labels"] = labels
	}
	return compare.Key{Group: "apps", Kind: "StatefulSet", Namespace: "ns", Name: name},
		&unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata}}
}

func podOf(name, group string, owner *metav1.OwnerReference) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid",
			Labels: map[string]string{names.ComponentLabel: names.Component, names.NameLabel: "c", names.NodeNameLabel: group}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	if owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return pod
}

// There, a StatefulSet of somebody else's without labels ended the health check
// of every cluster in the namespace.
func TestAStatefulSetWithoutLabelsDisturbsNothing(t *testing.T) {
	ours, set := setOf("crate-data-hot-c", map[string]any{names.ClusterLabel: "c"})
	bare, somebodys := setOf("crate-data-cold-c", nil)
	nobodys, another := setOf("postgres", nil)
	desired := model.Desired{Namespace: "ns", Name: "c", Sets: []model.Set{
		{Name: "crate-data-hot-c", Group: "hot", Data: true, Replicas: 1}, {Name: "crate-data-cold-c", Group: "cold", Data: true, Replicas: 1},
	}}
	observed := observeKubernetes(view{objects: map[compare.Key]*unstructured.Unstructured{ours: set, bare: somebodys, nobodys: another}}, desired)
	require.Len(t, observed.Sets, 2, "what bears none of our names is not looked at")
	assert.True(t, observed.Sets[0].Ours)
	assert.False(t, observed.Sets[1].Ours, "a name is not enough to be ours")
}

// There, pods of a snapshot job with the cluster's labels were waited for, and a
// suspension never ended.
func TestAPodThatNoStatefulSetMadeIsNoNode(t *testing.T) {
	of := func(kind string) *metav1.OwnerReference {
		return &metav1.OwnerReference{Kind: kind, Controller: new(true)}
	}
	completed := podOf("backup-29411280-x2lqz", "", of("Job"))
	completed.Status.Phase, completed.Status.Conditions[0].Status = corev1.PodSucceeded, corev1.ConditionFalse
	lookalike := podOf("crate-data-hot-c-1", "hot", of("Job"))
	bare := podOf("somebodys-shell", "", nil)
	observed := observeKubernetes(view{pods: []*corev1.Pod{
		podOf("crate-data-hot-c-0", "hot", of("StatefulSet")),
		podOf("crate-data-hot-c-2", "hot", nil), // its StatefulSet was deleted and left it
		completed, lookalike, bare,
	}}, model.Desired{Namespace: "ns", Name: "c", Sets: []model.Set{{Name: "crate-data-hot-c", Group: "hot", Data: true, Replicas: 1}}})
	var seen []string
	for _, p := range observed.Pods {
		seen = append(seen, p.Name)
	}
	assert.Equal(t, []string{"crate-data-hot-c-0", "crate-data-hot-c-2"}, seen)
}
