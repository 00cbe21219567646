package crateoperator

import (
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
)

func TestItIsKnownByItsNameItsLabelOrItsImage(t *testing.T) {
	for _, c := range []struct {
		name, called, label, image string
		want                       bool
	}{
		{"its own name", "crate-operator-7d9f", "", "x:1", true},
		{"its chart's label", "release-operator", "crate-operator", "x:1", true},
		{"its image, whatever the name is", "release-1", "", "registry.example/crate/crate-operator:2.63.0", true},
		{"what it makes", "crate-data-hot-orders-0", "orders", "crate:6.4.3", false},
		{"another operator", "postgres-operator", "postgres-operator", "postgres-operator:1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			meta := metav1.ObjectMeta{Name: c.called, Labels: map[string]string{names.NameLabel: c.label, names.ManagedByLabel: Name}}
			spec := corev1.PodSpec{Containers: []corev1.Container{{Image: "sidecar:1"}, {Image: c.image}}}
			assert.Equal(t, c.want, Pod(&corev1.Pod{ObjectMeta: meta, Spec: spec}))
			none := int32(0)
			d := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: spec}}}
			assert.Equal(t, c.want, Deployment(d), "one replica is what nobody says")
			d.Spec.Replicas = &none
			assert.False(t, Deployment(d), "it was stopped")
			d.Status.Replicas = 1
			assert.Equal(t, c.want, Deployment(d), "its last pod still ends")
		})
	}
}
