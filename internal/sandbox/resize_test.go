package sandbox_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"stevedore.dev/stevedore/internal/sandbox/agent"
)

// shownResize is the resize of a pod in a line: its conditions, and the request that it has.
func shownResize(pod *corev1.Pod) string {
	conditions := ""
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodResizePending || c.Type == corev1.PodResizeInProgress {
			conditions += string(c.Type) + " " + c.Reason + " "
		}
	}
	has := "nothing"
	if status := pod.Status.ContainerStatuses; len(status) == 1 && status[0].Resources != nil {
		has = status[0].Resources.Requests.Cpu().String()
	}
	return conditions + has
}

// resizable starts a pod with half a CPU and a limit of two, and follows what it shows.
func (s situation) resizable(name, fault string) (trail func() []string) {
	s.Helper()
	amounts := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
	}
	pods := s.client.CoreV1().Pods(s.namespace)
	_, err := pods.Create(s.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{agent.FaultAnnotation: fault}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "sleeper", Image: "sleeper", Resources: amounts}}},
	}, metav1.CreateOptions{})
	require.NoError(s, err)
	s.within("the pod runs", s.isReady(name))
	ctx, cancel := context.WithCancel(context.Background())
	seen, err := pods.Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
	require.NoError(s, err)
	var mu sync.Mutex
	var lines []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range seen.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok && event.Type != watch.Deleted {
				mu.Lock()
				lines = slices.Compact(append(lines, shownResize(pod)))
				mu.Unlock()
			}
		}
	}()
	s.Cleanup(func() { cancel(); <-done })
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(lines)
	}
}

func (s situation) askCPU(name, kind, cpu string) error {
	patch := fmt.Sprintf(`{"spec":{"containers":[{"name":"sleeper","resources":{%q:{"cpu":%q}}}]}}`, kind, cpu)
	_, err := s.client.CoreV1().Pods(s.namespace).Patch(s.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "resize")
	return err
}

// A running pod gets other CPU as a kubelet gives it, or shows why not: and its process stays.
func TestAPodIsResizedAsAKubeletDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault, cpu string
		// trail is what it shows, until the fault is taken off.
		trail []string
		says  string
	}{
		{"", "750m", []string{"500m", "PodResizeInProgress  500m", "750m"}, ""},
		{"resize-deferred", "750m", []string{"500m", "PodResizePending Deferred 500m"}, "Node didn't have enough resource"},
		{"resize-infeasible", "750m", []string{"500m", "PodResizePending Infeasible 500m"}, "resize-infeasible"},
		{"resize-error", "750m", []string{"500m", "PodResizeInProgress Error 500m"}, "resize-error"},
		{"resize-slow", "750m", []string{"500m", "PodResizeInProgress  500m"}, ""},
	} {
		t.Run("fault "+c.fault, func(t *testing.T) {
			t.Parallel()
			s := situationIn(t, common(t))
			trail := s.resizable("p", c.fault)
			require.NoError(t, s.askCPU("p", "requests", c.cpu))
			s.within("it shows "+c.trail[len(c.trail)-1], func() bool { return slices.Equal(trail(), c.trail) })
			pod := s.pod("p")
			assert.Equal(t, int64(2), pod.Generation)
			assert.Equal(t, pod.Generation, pod.Status.ObservedGeneration)
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodResizePending || condition.Type == corev1.PodResizeInProgress {
					assert.Contains(t, condition.Message, c.says)
					assert.Equal(t, pod.Generation, condition.ObservedGeneration)
				}
			}
			if c.fault != "" {
				_, err := s.client.CoreV1().Pods(s.namespace).Patch(t.Context(), "p", types.MergePatchType,
					[]byte(fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, agent.FaultAnnotation)), metav1.PatchOptions{})
				require.NoError(t, err)
				s.within("it has what it was asked to have", func() bool { return shownResize(s.pod("p")) == "750m" })
			}
			assert.Zero(t, s.pod("p").Status.ContainerStatuses[0].RestartCount)
		})
	}
}

// What the API server itself refuses: facts that a decision relies on.
func TestWhatTheAPIServerSaysOfAResize(t *testing.T) {
	t.Parallel()
	s := situationIn(t, common(t))
	s.resizable("p", "")
	for _, c := range []struct{ name, patch, says string }{
		{"another QoS class", `{"spec":{"containers":[{"name":"sleeper","resources":{"requests":{"cpu":"2","memory":"1Gi"},"limits":{"memory":"1Gi"}}}]}}`, "Pod QOS Class may not change"},
		{"a limit that is removed", `{"spec":{"containers":[{"name":"sleeper","resources":{"limits":{"cpu":null}}}]}}`, "cannot be removed"},
		{"more than its node has", `{"spec":{"containers":[{"name":"sleeper","resources":{"requests":{"cpu":"8000"},"limits":{"cpu":"9000"}}}]}}`, "node didn't have enough allocatable resources: cpu, requested: 8000000"},
		{"another image", `{"spec":{"containers":[{"name":"sleeper","image":"other"}]}}`, ""},
		{"another pod of that name", `{"metadata":{"uid":"someone"},"spec":{"containers":[{"name":"sleeper","resources":{"requests":{"cpu":"600m"}}}]}}`, "uid"},
	} {
		_, err := s.client.CoreV1().Pods(s.namespace).Patch(t.Context(), "p", types.StrategicMergePatchType, []byte(c.patch), metav1.PatchOptions{}, "resize")
		if c.says == "" {
			assert.NoError(t, err, c.name)
			assert.Equal(t, "sleeper", s.pod("p").Spec.Containers[0].Image, "the subresource takes only resources")
			continue
		}
		assert.ErrorContains(t, err, c.says, c.name)
		assert.True(t, apierrors.IsInvalid(err) || apierrors.IsConflict(err) || apierrors.IsForbidden(err), "%s: %v", c.name, err)
	}
	assert.Equal(t, "500m", shownResize(s.pod("p")))
}
