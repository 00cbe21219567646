package sandbox_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mounted are the claim templates whose volume CrateDB's container of a pod mounts, joined.
func (s situation) mounted(ordinal int) string {
	var out []string
	for _, c := range s.pod(fmt.Sprintf("%s-%d", diskSet, ordinal)).Spec.Containers {
		for _, m := range c.VolumeMounts {
			if strings.HasPrefix(m.Name, "data") {
				out = append(out, m.Name)
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// mounting writes which disks the containers of the template mount. The claim templates stay.
func (s situation) mounting(disks ...string) {
	s.Helper()
	sets := s.client.AppsV1().StatefulSets(s.namespace)
	set, err := sets.Get(s.Context(), diskSet, metav1.GetOptions{})
	require.NoError(s, err)
	crate := crateContainer(set)
	crate.VolumeMounts = slices.DeleteFunc(crate.VolumeMounts, func(m corev1.VolumeMount) bool { return strings.HasPrefix(m.Name, "data") })
	for _, disk := range disks {
		crate.VolumeMounts = append(crate.VolumeMounts, corev1.VolumeMount{Name: disk, MountPath: "/data/" + disk})
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": set.Spec.Template.Spec.Containers}}}})
	require.NoError(s, err)
	_, err = sets.Patch(s.Context(), diskSet, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(s, err)
	s.within("the controller has seen the template", func() bool {
		set, err := sets.Get(s.Context(), diskSet, metav1.GetOptions{})
		return err == nil && set.Status.ObservedGeneration == set.Generation
	})
}

// What a pod mounts is in the template, which Kubernetes changes at any time. What volumes it has is in
// the claim templates, which it never changes. So a disk can be taken from one pod at a time, and
// each other pod that vanishes comes back with all that it had.
func TestATemplateThatMountsFewerDisksLeavesTheClaimTemplates(t *testing.T) {
	s := situationIn(t, common(t))
	s.crate(4, func(set *appsv1.StatefulSet) {
		addDisk(set)
		crate := crateContainer(set)
		crate.VolumeMounts = append(crate.VolumeMounts, corev1.VolumeMount{Name: "data1", MountPath: "/data/data1"})
	})
	has := func(ordinal int, volumes, mounts string) {
		t.Helper()
		s.within(fmt.Sprintf("pod %d has %s and mounts %s", ordinal, volumes, mounts), func() bool {
			return s.disksOf(ordinal) == volumes && s.mounted(ordinal) == mounts
		})
	}
	for i := range 4 {
		has(i, "data0,data1", "data0,data1")
	}

	s.mounting("data0")
	s.deletePod(0)
	has(0, "data0,data1", "data0")
	s.mounting("data0", "data1")
	s.deletePod(3)
	has(3, "data0,data1", "data0,data1")
	s.within("pod 3 is ready", s.isReady(diskSet+"-3"))
	n, words := s.failedUpdates()
	assert.Zero(t, n, "each pod has the volume of each claim template: %s", words)

	// Without the claim template pods keep the volume until they restart, and the claim stays.
	s.mounting("data0")
	for i := 1; i < 4; i++ {
		s.deletePod(i)
		has(i, "data0,data1", "data0")
	}
	s.recreated(dropDisk)
	has(1, "data0,data1", "data0")
	s.deletePod(1)
	has(1, "data0", "data0")
	assert.Len(t, s.claimsNamed("data1-"+diskSet+"-"), 4, "nobody deletes a claim")
}
