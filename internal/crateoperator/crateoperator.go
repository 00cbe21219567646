// Package crateoperator knows crate-operator by what it leaves: on its objects, and of itself.
package crateoperator

import (
	"encoding/json"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"stevedore.dev/stevedore/internal/names"
)

// Name is what it calls itself: in app.kubernetes.io/managed-by of what it makes, in its image and its
// Deployment.
const Name = "crate-operator"

// Unfinished are its handlers that have begun and not ended, by the annotations that kopf keeps on an
// object (operator.cloud.crate.io/cluster_update.restart: {"started": …, "success": false}).
func Unfinished(annotations map[string]string) (handlers []string) {
	for key, value := range annotations {
		if handler, ok := strings.CutPrefix(key, names.OperatorPrefix); ok && unfinished(value) {
			handlers = append(handlers, handler)
		}
	}
	slices.Sort(handlers)
	return handlers
}

func unfinished(value string) bool {
	var progress struct {
		Started string `json:"started"`
		Success bool   `json:"success"`
		Failure bool   `json:"failure"`
	}
	return json.Unmarshal([]byte(value), &progress) == nil && progress.Started != "" && !progress.Success && !progress.Failure
}

// Deployment reports whether it is one of crate-operator's that has pods, or is to have some.
func Deployment(d *appsv1.Deployment) bool {
	desired := d.Spec.Replicas == nil || *d.Spec.Replicas > 0
	return itself(d.Name, d.Labels, d.Spec.Template.Spec.Containers) && (desired || d.Status.Replicas > 0)
}

// Pod reports whether crate-operator runs in a pod.
func Pod(p *corev1.Pod) bool { return itself(p.Name, p.Labels, p.Spec.Containers) }

func itself(name string, labels map[string]string, containers []corev1.Container) bool {
	return strings.HasPrefix(name, Name) || labels[names.NameLabel] == Name ||
		slices.ContainsFunc(containers, func(c corev1.Container) bool { return strings.Contains(c.Image, Name) })
}
