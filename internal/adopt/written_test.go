package adopt

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"stevedore.dev/stevedore/ops/adopt"
)

// guided is the StatefulSet of CrateDB's guide, in what counts.
func guided(args ...string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "crate"},
		Spec: appsv1.StatefulSetSpec{
			ServiceName: "crate-set", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "crate"}},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "cratedb-data"}}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "crate", Args: append([]string{"-Cpath.data=/data"}, args...), VolumeMounts: []corev1.VolumeMount{{Name: "cratedb-data", MountPath: "/data/"}},
			}}}},
		},
	}
}

// What its data, its nodes or its clients hang on has to be as it is; all else may come by a restart.
func TestAWrittenStatefulSetIsRefusedByWhatIsOtherwise(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*appsv1.StatefulSet)
		says   string
	}{
		{"nothing", func(*appsv1.StatefulSet) {}, ""},
		{"what a restart changes", func(s *appsv1.StatefulSet) { *s = *guided("-Cprocessors=7", "-Chttp.port=4200-4300") }, ""},
		{"the Service", func(s *appsv1.StatefulSet) { s.Spec.ServiceName = "other" }, "serviceName is other and would be crate-set"},
		{"the selector", func(s *appsv1.StatefulSet) { s.Spec.Selector.MatchLabels["tier"] = "db" }, "the selector is app=crate,tier=db"},
		{"the claims", func(s *appsv1.StatefulSet) {
			s.Spec.VolumeClaimTemplates = append(s.Spec.VolumeClaimTemplates, s.Spec.VolumeClaimTemplates[0])
		}, "the list of claims is [cratedb-data cratedb-data]"},
		{"the mount", func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.Containers[0].VolumeMounts[0].MountPath = "/var"
		}, "the folder of volume cratedb-data is /var and would be /data"},
		{"a part of the volume", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].VolumeMounts[0].SubPath = "x" }, "the folder of volume cratedb-data is  and would be /data"},
		{"the folder", func(s *appsv1.StatefulSet) { *s = *guided("-Cpath.data=/data/nodes") }, "path.data is /data/nodes and would be /data"},
		{"the image's folder", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Args = nil }, "path.data is /data/data and would be /data"},
		{"the container", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Name = "db" }, "it has no container crate"},
		{"TLS", func(s *appsv1.StatefulSet) { *s = *guided("-Cssl.psql.enabled=true") }, "ssl.psql.enabled is true and would be false"},
		{"a port of nodes", func(s *appsv1.StatefulSet) { *s = *guided("-Ctransport.tcp.port=4310") }, "transport.tcp.port is 4310 and would be 4300"},
		{"a port of clients", func(s *appsv1.StatefulSet) { *s = *guided("-Cpsql.port=5433") }, "psql.port is 5433 and would be 5432"},
		{"the first ordinal", func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 1} }, "its ordinals begin with 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := guided()
			asked.Spec.Template.Spec.Containers[0].Command, asked.Spec.Template.Spec.Containers[0].Args = asked.Spec.Template.Spec.Containers[0].Args, nil
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(asked)
			require.NoError(t, err)
			live := guided()
			c.change(live)
			is, err := wrong(live, &unstructured.Unstructured{Object: object})
			require.NoError(t, err)
			if c.says == "" {
				assert.Empty(t, is)
				return
			}
			require.Len(t, is, 1)
			assert.True(t, strings.HasPrefix(is[0], c.says), is[0])
		})
	}
}

// Claims of another class would all be replaced after the adoption.
func TestAnotherStorageClassIsSaidOnceForAStatefulSet(t *testing.T) {
	r := &adopt.Reading{Sets: []adopt.Set{{Name: "crate", Written: &adopt.WrittenSet{}}, {Name: "ours", Ours: true, Written: &adopt.WrittenSet{}}}}
	for _, set := range []string{"crate", "crate", "ours", "none"} {
		isOtherwise(r, set, "the storage class of its claims is a and would be b")
	}
	assert.Equal(t, []string{"the storage class of its claims is a and would be b"}, r.Sets[0].Written.Wrong)
	assert.Empty(t, r.Sets[1].Written.Wrong)
	assert.Equal(t, "fast", classIn([]byte(`[{"metadata":{"name":"d"},"spec":{"storageClassName":"fast"}}]`)))
	assert.Empty(t, classIn([]byte(`[]`)))
}
