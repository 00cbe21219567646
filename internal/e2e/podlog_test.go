package e2e

import (
	"context"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// podLog is every pod that came and went in a namespace.
type podLog struct {
	mu      sync.Mutex
	uids    map[string]map[string]bool
	deleted []string
	// live are the names of the pods that were there last, by UID.
	live map[string]string
	// namespace that is watched.
	namespace string
}

// watchPods begins before there is any pod, so that none is missed. A watch that
// ends with its API server begins again with a list.
func (s *situation) watchPods(ns string) {
	s.Helper()
	s.pods.uids, s.pods.namespace = map[string]map[string]bool{}, ns
	begin := func(ctx context.Context) (watch.Interface, error) {
		list, err := bed.Admin.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		s.pods.relisted(list.Items)
		return bed.Admin.CoreV1().Pods(ns).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	}
	watching, err := begin(s.ctx)
	require.NoError(s, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			s.pods.follow(ctx, watching)
			for watching, err = begin(ctx); err != nil && ctx.Err() == nil; watching, err = begin(ctx) {
				<-time.After(50 * time.Millisecond)
			}
		}
	}()
	s.Cleanup(func() { cancel(); <-ended })
}

// follow notes events until the watch or ctx ends.
func (p *podLog) follow(ctx context.Context, watching watch.Interface) {
	defer watching.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-watching.ResultChan():
			if !open {
				return
			}
			if pod, ok := event.Object.(*corev1.Pod); ok {
				p.note(pod, event.Type == watch.Deleted)
			}
		}
	}
}

func (p *podLog) note(pod *corev1.Pod, deleted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.uids[pod.Name] == nil {
		p.uids[pod.Name] = map[string]bool{}
	}
	p.uids[pod.Name][string(pod.UID)] = true
	if p.live == nil {
		p.live = map[string]string{}
	}
	p.live[string(pod.UID)] = pod.Name
	if deleted {
		p.deleted = append(p.deleted, pod.Name)
		delete(p.live, string(pod.UID))
	}
}

// relisted notes which pods there are, and those that went unseen.
func (p *podLog) relisted(pods []corev1.Pod) {
	there := map[string]bool{}
	for i := range pods {
		there[string(pods[i].UID)] = true
		p.note(&pods[i], false)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for uid, name := range p.live {
		if !there[uid] {
			p.deleted = append(p.deleted, name)
			delete(p.live, uid)
		}
	}
}

// caughtUp waits until the log has what the API server has: its watch may come later than
// what a test has asked for.
func (s *situation) caughtUp() {
	s.Helper()
	if s.pods.namespace == "" {
		return // nobody watches
	}
	s.until("the log of the pods has caught up", func() bool {
		list, err := bed.Admin.CoreV1().Pods(s.pods.namespace).List(s.ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		s.pods.mu.Lock()
		defer s.pods.mu.Unlock()
		known := 0
		for i := range list.Items {
			if _, ok := s.pods.live[string(list.Items[i].UID)]; ok {
				known++
			}
		}
		return known == len(list.Items) && known == len(s.pods.live)
	})
}

// noPodRestarted: since the beginning no pod was deleted or recreated, and no
// container started twice.
func (s *situation) noPodRestarted() {
	s.Helper()
	s.caughtUp()
	s.pods.mu.Lock()
	assert.Empty(s, s.pods.deleted, "pods that were deleted")
	for name, uids := range s.pods.uids {
		assert.Len(s, uids, 1, "pod %s was recreated", name)
	}
	s.pods.mu.Unlock()
	list, err := bed.Admin.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for _, pod := range list.Items {
		for _, status := range pod.Status.ContainerStatuses {
			assert.Zero(s, status.RestartCount, "restarts of %s/%s", pod.Name, status.Name)
		}
	}
}
