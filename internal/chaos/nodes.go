package chaos

import (
	"context"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/names"
)

// endpoints are the addresses of the cluster's ready pods, as a Service has them:
// a pod leaves when it is not ready or has to end, and not at the same moment.
type endpoints struct {
	client    kubernetes.Interface
	namespace string
	mu        sync.Mutex
	ready     []string
}

// endpointsEvery is how soon a change of the pods is seen.
const endpointsEvery = 200 * time.Millisecond

func (e *endpoints) follow(ctx context.Context) {
	tick := time.NewTicker(endpointsEvery)
	defer tick.Stop()
	for {
		pods, err := e.pods(ctx)
		if err == nil {
			var ready []string
			for i := range pods {
				if isReady(&pods[i]) {
					ready = append(ready, pods[i].Status.PodIP)
				}
			}
			e.mu.Lock()
			e.ready = ready
			e.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (e *endpoints) pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := e.client.CoreV1().Pods(e.namespace).List(ctx, metav1.ListOptions{LabelSelector: names.NameLabel + "=" + cluster})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// pick is the nth address, and not the one that was tried before unless there is
// no other; "" while there is none at all.
func (e *endpoints) pick(n int, tried string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.ready {
		if address := e.ready[(n+i)%len(e.ready)]; address != tried {
			return address
		}
	}
	if len(e.ready) > 0 {
		return e.ready[0]
	}
	return ""
}

func isReady(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (v *voyage) sets(ctx context.Context) ([]appsv1.StatefulSet, error) {
	list, err := v.Bed.Admin.AppsV1().StatefulSets(v.Voyage.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}
