package apply_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/apply"
)

func TestReady(t *testing.T) {
	pod := func(name, revision string, ready bool, change ...func(*corev1.Pod)) *corev1.Pod {
		status := corev1.ConditionFalse
		if ready {
			status = corev1.ConditionTrue
		}
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: map[string]string{"controller-revision-hash": revision},
				OwnerReferences: []metav1.OwnerReference{{UID: "set", Controller: new(true)}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}},
		}
		for _, c := range change {
			c(p)
		}
		return p
	}
	const set = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s, namespace: ns, uid: set, generation: 2},
		spec: {replicas: 2, updateStrategy: {type: OnDelete}}, status: {observedGeneration: 2, replicas: 2, readyReplicas: 2, currentRevision: r1, updateRevision: r2}}`
	for _, test := range []struct {
		name, object string
		pods         []*corev1.Pod
		why          string
	}{
		{"all pods ready on the new template, though currentRevision is the old one", set, []*corev1.Pod{pod("a", "r2", true), pod("b", "r2", true)}, ""},
		{"a pod on the old template, though the status counts it ready", set, []*corev1.Pod{pod("a", "r1", true), pod("b", "r2", true)}, "pod a runs an older template (revision r1, not r2)"},
		{"a pod that is not ready", set, []*corev1.Pod{pod("a", "r2", true), pod("b", "r2", false)}, "pod b is Running and not ready"},
		{"a pod that is missing", set, []*corev1.Pod{pod("a", "r2", true)}, "it has 1 of 2 pods"},
		{"a pod of another set", set, []*corev1.Pod{pod("a", "r2", true), pod("b", "r2", true, func(p *corev1.Pod) { p.OwnerReferences[0].UID = "x" })}, "it has 1 of 2 pods"},
		{"a pod too many, on its way out", set, []*corev1.Pod{pod("a", "r2", true), pod("b", "r2", true), pod("c", "r2", true)}, "it has 3 of 2 pods"},
		{"a pod that ends", set, []*corev1.Pod{pod("a", "r2", true), pod("b", "r2", true, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} })}, "pod b is ending"},
		{"an image that cannot be pulled", set, []*corev1.Pod{pod("a", "r2", true), pod("b", "r2", false, func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "crate", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
		})}, "pod b waits in container crate: ImagePullBackOff"},
		{"a controller that lags", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s, generation: 3}, spec: {replicas: 0}, status: {observedGeneration: 2}}`, nil, "its controller has seen generation 2 of 3"},
		{"a set that its controller has not seen at all", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s, generation: 1}, spec: {replicas: 0}}`, nil, "its controller has seen generation 0 of 1"},
		{"a suspended set", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s, generation: 1}, spec: {replicas: 0}, status: {observedGeneration: 1, updateRevision: r}}`, nil, ""},
		{"a load balancer without an address", `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}}`, nil, "its load balancer has no address yet"},
		{"a load balancer", `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}}`, nil, ""},
		{"a headless service", `{apiVersion: v1, kind: Service, spec: {clusterIP: None}}`, nil, ""},
		{"a claim without a volume", `{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}`, nil, "it is Pending, not Bound"},
		{"a deployment", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}, status: {updatedReplicas: 2, availableReplicas: 1}}`, nil, "2 of 2 replicas are updated, 1 available"},
		{"a job that failed", `{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Failed, status: "True", message: too often}]}}`, nil, "too often"},
		{"a custom resource that is not ready", `{apiVersion: example.org/v1, kind: X, status: {conditions: [{type: Ready, status: "False", message: not yet}]}}`, nil, "not yet"},
		{"a kind that is ready by being there", `{apiVersion: v1, kind: ConfigMap}`, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal([]byte(test.object), &u.Object))
			jsonNumbers(u.Object)
			ready, why := apply.Ready(u, test.pods)
			assert.Equal(t, test.why, why)
			assert.Equal(t, test.why == "", ready)
		})
	}
	ready, _ := apply.Ready(nil, nil)
	assert.False(t, ready, "what does not exist")
}

// jsonNumbers makes whole numbers int64, as the API machinery decodes them.
func jsonNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = jsonNumbers(item)
		}
	case []any:
		for i, item := range v {
			v[i] = jsonNumbers(item)
		}
	case float64:
		return int64(v)
	}
	return v
}
