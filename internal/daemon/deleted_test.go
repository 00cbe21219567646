package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/ops/model"
)

// What a watch shows in the moment after a deletion is what was before it.
func TestADeletedPodIsOnItsWayOutBeforeAWatchShowsIt(t *testing.T) {
	pod := podWith(corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}}})
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	w := newWorker(t, recordtest.NewConfigMaps())
	w.kube = fake.NewClientset(pod)
	behind := view{pods: []*corev1.Pod{pod}}
	desired := model.Desired{Namespace: "ns", Name: "c"}
	seen := func() model.Pod { return w.observe(behind, desired).Pods[0] }
	require.False(t, seen().Terminating)
	require.NoError(t, w.tools().Objects.RestartPod(t.Context(), pod.Name, string(pod.UID), true))
	for range 2 {
		assert.True(t, seen().Terminating, "it is deleted, and the watch is behind")
	}

	again := pod.DeepCopy()
	again.UID = "uid-3"
	behind.pods = []*corev1.Pod{again}
	assert.False(t, seen().Terminating, "the one after it has another UID")
	assert.Empty(t, w.deleted, "and what is gone is forgotten")
}

// A recreation that a watch shows as not begun would be dropped where another definition comes.
func TestAStatefulSetThatWasDeletedIsOnItsWayOutBeforeAWatchShowsIt(t *testing.T) {
	w := newWorker(t, recordtest.NewConfigMaps())
	w.deleted = deletedObjects{"uid-1"}
	sets := []model.ObservedSet{{Name: "a", UID: "uid-1"}, {Name: "b", UID: "uid-2"}}
	w.deleted = w.deleted.mark(nil, sets)
	assert.True(t, sets[0].Terminating)
	assert.False(t, sets[1].Terminating)
	assert.Empty(t, w.deleted.mark(nil, sets[1:]), "and what is gone is forgotten")
}
