package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/ops/model"
)

// What a kubelet has said of an earlier spec says nothing of this one.
func TestHowFarAResizeHasComeIsReadFromWhatTheKubeletHasSeen(t *testing.T) {
	condition := func(kind corev1.PodConditionType, reason string, observed int64) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: "words", ObservedGeneration: observed}}
	}
	for _, c := range []struct {
		name       string
		observed   int64
		conditions []corev1.PodCondition
		stage      model.ResizeStage
	}{
		{"nothing is under way", 3, nil, ""},
		{"the kubelet has not seen it", 2, nil, model.ResizeAsked},
		{"a Kubernetes that does not count generations", 0, nil, ""},
		{"in progress", 3, condition(corev1.PodResizeInProgress, "", 3), model.ResizeAsked},
		{"an error in progress", 3, condition(corev1.PodResizeInProgress, corev1.PodReasonError, 3), model.ResizeError},
		{"deferred", 3, condition(corev1.PodResizePending, corev1.PodReasonDeferred, 3), model.ResizeDeferred},
		{"infeasible", 3, condition(corev1.PodResizePending, corev1.PodReasonInfeasible, 3), model.ResizeInfeasible},
		{"what was asked before was infeasible", 3, condition(corev1.PodResizePending, corev1.PodReasonInfeasible, 2), model.ResizeAsked},
		{"infeasible, by a kubelet that does not count", 0, condition(corev1.PodResizePending, corev1.PodReasonInfeasible, 0), model.ResizeInfeasible},
		{"one goes on while the next one is deferred", 3, append(condition(corev1.PodResizeInProgress, "", 3), condition(corev1.PodResizePending, corev1.PodReasonDeferred, 3)...), model.ResizeDeferred},
		{"a condition that is false", 3, []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionFalse, Reason: corev1.PodReasonInfeasible}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			amounts := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}, Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5")}}
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Generation: 3},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "crate", Resources: amounts}, {Name: "exporter"}}},
				Status:     corev1.PodStatus{ObservedGeneration: c.observed, Conditions: c.conditions, ContainerStatuses: []corev1.ContainerStatus{{Name: "crate", Resources: &amounts}}},
			}
			var out model.Pod
			sayResources(&out, pod)
			assert.Equal(t, c.stage, out.Resize)
			if c.stage != "" && c.stage != model.ResizeAsked {
				assert.Equal(t, "words", out.ResizeMessage)
			}
			assert.True(t, out.Altered)
			assert.Equal(t, model.Resources("crate limits.memory=2Gi\ncrate requests.cpu=500m\ncrate requests.memory=2Gi"), out.Resources, "a request that is not there is the limit")
			assert.Equal(t, out.Resources, out.Actual)
		})
	}
}
