package daemon

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/placement"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// A pod was deleted whose template mounts a claim that does not exist: it was unschedulable until the time limit.
func TestNoNodeTakesAPodThatMountsAClaimThatDoesNotExist(t *testing.T) {
	claim := func(namespace, name string) runtime.Object {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	now := metav1.Now()
	going := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "backups", DeletionTimestamp: &now, Finalizers: []string{"kubernetes.io/pvc-protection"}}}
	mounts := func(pod string, claims ...string) placement.Pod {
		spec := &corev1.PodSpec{Volumes: []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}}
		for _, c := range claims {
			spec.Volumes = append(spec.Volumes, corev1.Volume{Name: c, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c}}})
		}
		return placement.Pod{Name: pod, Spec: spec}
	}
	for _, c := range []struct {
		name    string
		objects []runtime.Object
		fails   error
		pods    []placement.Pod
		found   model.Placement
	}{
		{"it is there", []runtime.Object{claim("shop", "backups")}, nil, []placement.Pod{mounts("p-0", "backups"), mounts("p-1", "backups")}, model.Placement{}},
		{"it is missing", []runtime.Object{claim("shop", "other")}, nil, []placement.Pod{mounts("p-0", "backups"), mounts("p-1", "backups")}, model.Placement{Pod: "p-0", Claim: "backups"}},
		{"that of a later pod is missing", []runtime.Object{claim("shop", "backups")}, nil, []placement.Pod{mounts("p-0", "backups"), mounts("p-1", "backups", "more")}, model.Placement{Pod: "p-1", Claim: "more"}},
		{"it is being deleted", []runtime.Object{going}, nil, []placement.Pod{mounts("p-0", "backups")}, model.Placement{Pod: "p-0", Claim: "backups", Why: "is being deleted. Create it again once it is gone"}},
		{"it is in another namespace", []runtime.Object{claim("prod", "backups")}, nil, []placement.Pod{mounts("p-0", "backups")}, model.Placement{Pod: "p-0", Claim: "backups"}},
		{"no pod mounts one by name", nil, assert.AnError, []placement.Pod{mounts("p-0")}, model.Placement{}},
		{"it may not be read", nil, apierrors.NewForbidden(corev1.Resource("persistentvolumeclaims"), "", nil), []placement.Pod{mounts("p-0", "backups")}, model.Placement{Unread: "PersistentVolumeClaim backups could not be read: persistentvolumeclaims is forbidden: <nil>"}},
		{"nobody answers", nil, context.DeadlineExceeded, []placement.Pod{mounts("p-0", "backups")}, model.Placement{Unread: "PersistentVolumeClaim backups could not be read: context deadline exceeded"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := fake.NewClientset(c.objects...)
			if c.fails != nil {
				client.PrependReactor("list", "persistentvolumeclaims", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.fails })
			}
			assert.Equal(t, c.found, mountsMissing(t.Context(), client, "shop", c.pods))
		})
	}
}

// A plan says before the push that a pod will mount a claim which is not there: the daemon would wait for it.
func TestAPlanNamesAClaimThatAPodMountsAndThatIsMissing(t *testing.T) {
	set := func(claim string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"namespace": "shop", "name": "s"},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{}}},
		}}
		if claim != "" {
			require.NoError(t, unstructured.SetNestedSlice(u.Object, []any{map[string]any{"name": "v", "persistentVolumeClaim": map[string]any{"claimName": claim}}}, "spec", "template", "spec", "volumes"))
		}
		return u
	}
	yes := true
	live := view{
		objects: map[compare.Key]*unstructured.Unstructured{{Group: "apps", Kind: "StatefulSet", Namespace: "shop", Name: "s"}: set("")},
		pods:    []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "s-0", OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "s", Controller: &yes}}}}},
	}
	there := fake.NewClientset(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "backups"}})
	cluster := record.Cluster{Namespace: "shop", Name: "c"}
	for _, c := range []struct {
		claim string
		found model.Placement
	}{{"", model.Placement{}}, {"backups", model.Placement{}}, {"more", model.Placement{Pod: "s-0", Claim: "more"}}} {
		assert.Equal(t, c.found, plannedFits(t.Context(), live, there, cluster, []*unstructuredObject{set(c.claim)}), c.claim)
	}
}
