package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
)

// transportPort is where CrateDB nodes meet each other.
const transportPort = 4300

// reseed asks for the seed files of a namespace to be written again. Not of all: of a
// thousand nodes that start each would have those of all others written.
func (a *Agent) reseed(namespace string) {
	a.mu.Lock()
	a.unseeded[namespace] = true
	a.mu.Unlock()
	select {
	case a.seedsChanged <- struct{}{}:
	default:
	}
}

// keepSeeds keeps each CrateDB node's list of seeds as its discovery service has
// them: what a cluster's DNS does.
func (a *Agent) keepSeeds() {
	for {
		select {
		case <-a.ctx.Done():
			return
		case <-a.seedsChanged:
		}
		a.mu.Lock()
		var workers []*worker
		for _, w := range a.workers {
			if a.unseeded[w.namespace] {
				workers = append(workers, w)
			}
		}
		clear(a.unseeded)
		a.mu.Unlock()
		for _, w := range workers {
			w.mu.Lock()
			file, query := w.seedFile, w.seedQuery
			w.mu.Unlock()
			if file != "" && w.life.Err() == nil {
				a.report("writing seeds", a.writeSeeds(file, query))
			}
		}
	}
}

func (w *worker) setSeeds(file, query string) {
	w.mu.Lock()
	w.seedFile, w.seedQuery = file, query
	w.mu.Unlock()
	w.agent.reseed(w.namespace)
}

// writeSeeds writes the addresses behind an SRV query, `IP:4300` a line, the
// form of CrateDB's unicast_hosts.txt. No query: no seeds.
func (a *Agent) writeSeeds(file, query string) error {
	var content strings.Builder
	for _, address := range a.endpoints(query) {
		fmt.Fprintf(&content, "%s:%d\n", address, transportPort)
	}
	if before, err := os.ReadFile(file); err == nil && string(before) == content.String() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o711); err != nil {
		return fmt.Errorf("writing the seeds of a node: %w", err)
	}
	err := os.WriteFile(file+".new", []byte(content.String()), 0o644)
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		return fmt.Errorf("writing the seeds of a node: %w", err)
	}
	return nil
}

// endpoints are the addresses of the pods behind `_PORT._tcp.SERVICE.NAMESPACE.svc…`.
// Pods that are not ready count when the service publishes them.
func (a *Agent) endpoints(query string) []string {
	parts := strings.Split(query, ".")
	if len(parts) < 4 {
		return nil
	}
	service, err := a.services.Services(parts[3]).Get(parts[2])
	if err != nil || len(service.Spec.Selector) == 0 {
		return nil
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	a.mu.Lock()
	defer a.mu.Unlock()
	var found []string
	for _, w := range a.workers {
		if w.namespace != service.Namespace {
			continue
		}
		w.mu.Lock()
		pod, address := w.pod, w.address
		w.mu.Unlock()
		if !address.IsValid() || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if service.Spec.PublishNotReadyAddresses || isReady(pod) && pod.DeletionTimestamp == nil {
			found = append(found, address.String())
		}
	}
	slices.Sort(found)
	return found
}

// namespaceOf is that of an object of a watch, or of the last that it showed of one.
func namespaceOf(object any) string {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	if found, ok := object.(metav1.Object); ok {
		return found.GetNamespace()
	}
	return ""
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
