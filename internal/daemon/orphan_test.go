package daemon

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// What was decided on may be old: a StatefulSet leaves its pods only while all are there and the
// budget keeps them, and it leaves them.
func TestAStatefulSetLeavesItsPodsOnlyWhileAllOfThemAreThereAndKept(t *testing.T) {
	now := metav1.Now()
	for _, c := range []struct {
		name    string
		so      func(set *appsv1.StatefulSet, pods []*corev1.Pod, budget *policyv1.PodDisruptionBudget)
		refused string
		deletes bool
		away    []string
	}{
		{"all are there", func(*appsv1.StatefulSet, []*corev1.Pod, *policyv1.PodDisruptionBudget) {}, "", true, nil},
		{"one is away that does not come back otherwise", func(_ *appsv1.StatefulSet, pods []*corev1.Pod, _ *policyv1.PodDisruptionBudget) {
			pods[1].Name = "elsewhere"
		}, "", true, []string{"s-1"}},
		{"it is on its way out", func(_ *appsv1.StatefulSet, pods []*corev1.Pod, _ *policyv1.PodDisruptionBudget) {
			pods[1].DeletionTimestamp, pods[1].Finalizers = &now, []string{"f"}
		}, "", true, []string{"s-1"}},
		{"it is back by now", func(*appsv1.StatefulSet, []*corev1.Pod, *policyv1.PodDisruptionBudget) {}, "its pod s-1 may be there by now", false, []string{"s-1"}},
		{"it is being deleted", func(s *appsv1.StatefulSet, _ []*corev1.Pod, _ *policyv1.PodDisruptionBudget) {
			s.DeletionTimestamp, s.Finalizers = &now, []string{"orphan"}
		}, "", false, nil},
		{"it is another one", func(s *appsv1.StatefulSet, _ []*corev1.Pod, _ *policyv1.PodDisruptionBudget) { s.UID = "other" }, "it is another one by now", false, nil},
		{"it has other replicas", func(s *appsv1.StatefulSet, _ []*corev1.Pod, _ *policyv1.PodDisruptionBudget) { *s.Spec.Replicas = 3 }, "it has not 2 replicas by now", false, nil},
		{"a pod is gone", func(_ *appsv1.StatefulSet, pods []*corev1.Pod, _ *policyv1.PodDisruptionBudget) {
			pods[1].Name = "elsewhere"
		}, "looking at its pod s-1", false, nil},
		{"a pod goes", func(_ *appsv1.StatefulSet, pods []*corev1.Pod, _ *policyv1.PodDisruptionBudget) {
			pods[1].DeletionTimestamp, pods[1].Finalizers = &now, []string{"f"}
		}, "its pod s-1 is being deleted", false, nil},
		{"a pod is another's", func(_ *appsv1.StatefulSet, pods []*corev1.Pod, _ *policyv1.PodDisruptionBudget) {
			pods[0].OwnerReferences[0].UID = "other"
		}, "its pod s-0 is being deleted or another's", false, nil},
		{"the budget has maxUnavailable", func(_ *appsv1.StatefulSet, _ []*corev1.Pod, b *policyv1.PodDisruptionBudget) {
			b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, &intstr.IntOrString{IntVal: 1}
		}, "could let a pod go", false, nil},
		{"its controller has not taken it in", func(_ *appsv1.StatefulSet, _ []*corev1.Pod, b *policyv1.PodDisruptionBudget) { b.Generation = 2 }, "could let a pod go", false, nil},
		{"it allows one", func(_ *appsv1.StatefulSet, _ []*corev1.Pod, b *policyv1.PodDisruptionBudget) {
			b.Status.DisruptionsAllowed = 1
		}, "could let a pod go", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			stored := recordWith(t, "uid-s")
			replicas := int32(2)
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: "uid-s", Labels: map[string]string{names.ClusterLabel: "c"}}, Spec: appsv1.StatefulSetSpec{Replicas: &replicas}}
			var pods []*corev1.Pod
			yes := true
			for _, name := range []string{"s-0", "s-1"} {
				pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", UID: "uid-s", Controller: &yes}}}})
			}
			budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b", Generation: 1}, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &intstr.IntOrString{IntVal: 9}}, Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1}}
			c.so(set, pods, budget)
			client := fake.NewClientset(set, pods[0], pods[1], budget, stored)
			told := []string{}
			o := objects{client: client, cluster: key("c"), deleted: func(uid string) { told = append(told, uid) }}
			err := o.OrphanSet(t.Context(), "s", "uid-s", "7", 2, c.away, "b", 9)
			var deletes []metav1.DeleteOptions
			for _, a := range client.Actions() {
				if d, ok := a.(clienttesting.DeleteActionImpl); ok {
					deletes = append(deletes, d.DeleteOptions)
				}
			}
			if c.refused != "" {
				require.ErrorContains(t, err, c.refused)
				assert.Empty(t, told)
			} else {
				require.NoError(t, err)
				assert.Equal(t, []string{"uid-s"}, told, "what is deleted is on its way out, whatever a watch shows")
			}
			if !c.deletes {
				assert.Empty(t, deletes)
				return
			}
			require.Len(t, deletes, 1)
			assert.Equal(t, metav1.DeletePropagationOrphan, *deletes[0].PropagationPolicy, "or its pods go with it")
			assert.Equal(t, set.UID, *deletes[0].Preconditions.UID)
			assert.Equal(t, "7", *deletes[0].Preconditions.ResourceVersion)
		})
	}
}

// recordWith is the record of a cluster that recreates the StatefulSet of a UID; of "" none.
func recordWith(t *testing.T, uid string) *corev1.ConfigMap {
	rec := model.Record{SchemaVersion: model.RecordVersion}
	if uid != "" {
		rec.Operation = &model.Operation{Kind: model.OperationExpand, Step: model.StepRecreate, Recreation: &model.Recreation{Set: "s", UID: uid, Pods: 2}}
	}
	data, err := record.Encode(record.Operation, &rec)
	require.NoError(t, err)
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: record.Operation.Name("c")}, Data: map[string]string{names.DataKey: data}}
}

// Seed 6420197532: the record was lost after the pass had written it. Once the StatefulSet is gone nobody knows how many pods it had.
func TestAStatefulSetIsNotDeletedWithoutItsRecord(t *testing.T) {
	for _, c := range []struct {
		name    string
		record  *corev1.ConfigMap
		refused string
	}{
		{"the record says that it is recreated", recordWith(t, "uid-s"), ""},
		{"the record says so of the one before", recordWith(t, "uid-before"), "the record does not say by now"},
		{"the record is another one", recordWith(t, ""), "the record does not say by now"},
		{"the record cannot be read", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: record.Operation.Name("c")}}, "looking at the record"},
		{"the record is gone", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other"}}, "looking at the record"},
	} {
		t.Run(c.name, func(t *testing.T) {
			replicas := int32(0)
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: "uid-s", Labels: map[string]string{names.ClusterLabel: "c"}}, Spec: appsv1.StatefulSetSpec{Replicas: &replicas}}
			client := fake.NewClientset(set, c.record)
			err := objects{client: client, cluster: key("c"), deleted: func(string) {}}.OrphanSet(t.Context(), "s", "uid-s", "7", 0, nil, "", 0)
			_, gone := client.AppsV1().StatefulSets("ns").Get(t.Context(), "s", metav1.GetOptions{})
			if c.refused != "" {
				require.ErrorContains(t, err, c.refused)
				assert.NoError(t, gone)
				return
			}
			require.NoError(t, err)
			assert.Error(t, gone)
		})
	}
}

// The answer to a deletion can be lost, and the watch be behind: who looks again knows.
func TestADeletionWhoseAnswerWasLostIsLookedAtOnceMore(t *testing.T) {
	for _, c := range []struct {
		name string
		gone bool
	}{
		{"it was done", true},
		{"it was not", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			replicas := int32(0)
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: "uid-s", Labels: map[string]string{names.ClusterLabel: "c"}}, Spec: appsv1.StatefulSetSpec{Replicas: &replicas}}
			client := fake.NewClientset(set, recordWith(t, "uid-s"))
			client.PrependReactor("delete", "statefulsets", func(clienttesting.Action) (bool, runtime.Object, error) {
				if c.gone {
					require.NoError(t, client.Tracker().Delete(appsv1.SchemeGroupVersion.WithResource("statefulsets"), "ns", "s"))
				}
				return true, nil, context.DeadlineExceeded
			})
			told := []string{}
			o := objects{client: client, cluster: key("c"), deleted: func(uid string) { told = append(told, uid) }}
			err := o.OrphanSet(t.Context(), "s", "uid-s", "7", 0, nil, "", 0)
			if !c.gone {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Empty(t, told)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []string{"uid-s"}, told)
		})
	}
}
