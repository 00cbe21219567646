package apply_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/names"
)

// crate-operator has made a Service. Once it is adopted what the definition makes of it is ours alone:
// what it makes no more goes. What it never made stays.
func TestAnAdoptedServiceHasNothingThatItsDefinitionMakesNoMore(t *testing.T) {
	w := newWorld(t)
	made := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: "crate-c", Labels: map[string]string{names.ManagedByLabel: "crate-operator", "team": "shop"},
			Annotations: map[string]string{"dns": "a.example.org", "theirs": "1"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Selector: map[string]string{"app.kubernetes.io/name": "c"},
			Ports: []corev1.ServicePort{{Name: "http", Port: 4200}, {Name: "psql", Port: 5432}, {Name: "transport", Port: 4300}},
		},
	}
	services := w.admin.CoreV1().Services(w.namespace)
	before, err := services.Create(t.Context(), made, metav1.CreateOptions{FieldManager: "OpenAPI-Generator"})
	require.NoError(t, err)
	w.restart()
	put := func(text string) *corev1.Service {
		_, err := w.applier.Sync(t.Context(), w.namespace, "one", []*unstructured.Unstructured{w.object(text)}, apply.AdoptAlways)
		require.NoError(t, err)
		w.settled()
		live, err := services.Get(t.Context(), "crate-c", metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, before.UID, live.UID, "it is the same object")
		assert.Equal(t, before.Spec.ClusterIP, live.Spec.ClusterIP, "and its clients find it")
		return live
	}
	const head = "{apiVersion: v1, kind: Service, metadata: {name: crate-c, labels: {app.kubernetes.io/managed-by: stevedore}"
	live := put(head + ", annotations: {dns: a.example.org}}, spec: {type: ClusterIP, selector: {app.kubernetes.io/name: c}, ports: [{name: http, port: 4200}, {name: psql, port: 5432}, {name: transport, port: 4300}]}}")
	assert.Equal(t, "stevedore", live.Labels[names.ManagedByLabel])
	assert.Len(t, live.Spec.Ports, 3)

	live = put(head + "}, spec: {type: ClusterIP, selector: {app.kubernetes.io/name: c}, ports: [{name: http, port: 4201}, {name: psql, port: 5432}]}}")
	var ports []int32
	for _, port := range live.Spec.Ports {
		ports = append(ports, port.Port)
	}
	assert.ElementsMatch(t, []int32{4201, 5432}, ports, "no port stands beside the one that took its place")
	assert.NotContains(t, live.Annotations, "dns")
	assert.Equal(t, "1", live.Annotations["theirs"], "what the definition never made stays")
	assert.Equal(t, "shop", live.Labels["team"])
}
