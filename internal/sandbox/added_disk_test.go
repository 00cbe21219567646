package sandbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const diskSet = "crate-data-hot-c"

// recreated deletes the StatefulSet around its pods and makes it again, changed.
func (s situation) recreated(change func(*appsv1.StatefulSet)) {
	s.Helper()
	sets := s.client.AppsV1().StatefulSets(s.namespace)
	old, err := sets.Get(s.Context(), diskSet, metav1.GetOptions{})
	require.NoError(s, err)
	orphan := metav1.DeletePropagationOrphan
	require.NoError(s, sets.Delete(s.Context(), diskSet, metav1.DeleteOptions{PropagationPolicy: &orphan, Preconditions: &metav1.Preconditions{UID: &old.UID}}))
	s.within("the StatefulSet is gone", func() bool {
		_, err := sets.Get(s.Context(), diskSet, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	next := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: diskSet}, Spec: old.Spec}
	for i := range next.Spec.VolumeClaimTemplates {
		claim := &next.Spec.VolumeClaimTemplates[i]
		*claim = corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim.Name}, Spec: claim.Spec}
	}
	change(next)
	made, err := sets.Create(s.Context(), next, metav1.CreateOptions{})
	require.NoError(s, err)
	s.within("the new StatefulSet has the pods", func() bool { return s.owned(made.UID) })
}

func (s situation) owned(set types.UID) bool {
	pods, err := s.client.CoreV1().Pods(s.namespace).List(s.Context(), metav1.ListOptions{})
	require.NoError(s, err)
	for i := range pods.Items {
		if owner := metav1.GetControllerOf(&pods.Items[i]); owner == nil || owner.UID != set {
			return false
		}
	}
	return true
}

func addDisk(set *appsv1.StatefulSet) {
	claim := *set.Spec.VolumeClaimTemplates[0].DeepCopy()
	claim.Name = "data1"
	set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, claim)
}

func dropDisk(set *appsv1.StatefulSet) {
	set.Spec.VolumeClaimTemplates = set.Spec.VolumeClaimTemplates[:1]
}

// disksOf are the claims that a pod mounts, joined; "" where it is not there.
func (s situation) disksOf(ordinal int) string {
	var out []string
	for _, v := range s.pod(fmt.Sprintf("%s-%d", diskSet, ordinal)).Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			out = append(out, v.Name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

func (s situation) deletePod(ordinal int) (before types.UID) {
	s.Helper()
	name := fmt.Sprintf("%s-%d", diskSet, ordinal)
	before = s.pod(name).UID
	require.NoError(s, s.client.CoreV1().Pods(s.namespace).Delete(s.Context(), name, metav1.DeleteOptions{}))
	s.within(name+" is gone", func() bool { return s.pod(name).UID != before })
	return before
}

func (s situation) claimsNamed(prefix string) []string {
	list, err := s.client.CoreV1().PersistentVolumeClaims(s.namespace).List(s.Context(), metav1.ListOptions{})
	require.NoError(s, err)
	var out []string
	for _, c := range list.Items {
		if strings.HasPrefix(c.Name, prefix) {
			out = append(out, strings.TrimPrefix(c.Name, prefix)+" "+string(c.Status.Phase))
		}
	}
	slices.Sort(out)
	return out
}

// failedUpdates is how often the controller has said that it cannot give a pod its volume.
func (s situation) failedUpdates() (count int, words string) {
	list, err := s.client.CoreV1().Events(s.namespace).List(s.Context(), metav1.ListOptions{FieldSelector: "reason=FailedUpdate"})
	require.NoError(s, err)
	for _, e := range list.Items {
		count, words = count+int(e.Count), words+e.Message[:min(len(e.Message), 160)]+"\n"
	}
	return count, words
}

// counted is how many pods the controller has found when it last looked. It counts them in the pass
// in which it would make what is missing; its events say less, for Kubernetes drops what repeats.
func (s situation) counted() int32 {
	set, err := s.client.AppsV1().StatefulSets(s.namespace).Get(s.Context(), diskSet, metav1.GetOptions{})
	require.NoError(s, err)
	return set.Status.Replicas
}

// What the StatefulSet controller does with pods that lack the volume of a claim template. It
// takes them by 1, 2, 4, …, tries in vain to give each the volume, and after a group in which
// that failed it goes no further: a pod of a later group that is gone does not come back.
func TestAPodBehindOneWithoutAClaimTemplatesVolumeDoesNotComeBack(t *testing.T) {
	s := situationIn(t, common(t))
	s.crate(5, nil)
	allReady := func(n int) {
		t.Helper()
		for i := range n {
			s.within(fmt.Sprintf("pod %d is ready", i), s.isReady(fmt.Sprintf("%s-%d", diskSet, i)))
		}
	}
	allReady(5)
	s.recreated(addDisk)
	s.within("the controller says that it fails", func() bool { n, _ := s.failedUpdates(); return n > 2 })
	n, words := s.failedUpdates()
	t.Logf("%d: %s", n, words)
	set, err := s.client.AppsV1().StatefulSets(s.namespace).Get(t.Context(), diskSet, metav1.GetOptions{})
	require.NoError(t, err)
	t.Logf("generation %d observed %d, replicas %d ready %d, conditions %v, updated %d", set.Generation, set.Status.ObservedGeneration, set.Status.Replicas, set.Status.ReadyReplicas, set.Status.Conditions, set.Status.UpdatedReplicas)
	t.Log("claims ", s.claimsNamed("data1-"+diskSet+"-"))

	s.deletePod(4)
	s.within("the controller has counted once more", func() bool { return s.counted() == 4 })
	assert.Empty(t, s.disksOf(4), "pod 4 came back")

	s.recreated(dropDisk)
	s.within("pod 4 is back", func() bool { return s.disksOf(4) == "data0" })
	s.recreated(addDisk)
	t.Log("claims ", s.claimsNamed("data1-"+diskSet+"-"))

	s.deletePod(0)
	s.within("pod 0 has the disk", func() bool { return s.disksOf(0) == "data0,data1" })
	s.deletePod(2)
	s.within("pod 2 has the disk: it is in one group with pod 1", func() bool { return s.disksOf(2) == "data0,data1" })
	s.within("claims", func() bool { return len(s.claimsNamed("data1-"+diskSet+"-")) >= 3 })
	t.Log("claims ", s.claimsNamed("data1-"+diskSet+"-"))
	s.deletePod(3)
	s.within("the controller has counted once more", func() bool { return s.counted() == 4 })
	assert.Empty(t, s.disksOf(3), "pod 3 came back")
	s.deletePod(1)
	s.within("pods 1 and 3 have the disk", func() bool { return s.disksOf(1) == "data0,data1" && s.disksOf(3) == "data0,data1" })
	s.deletePod(4)
	s.within("pod 4 has the disk", func() bool { return s.disksOf(4) == "data0,data1" })
	allReady(5)
	t.Log("claims ", s.claimsNamed("data1-"+diskSet+"-"))
	// A set with fewer claim templates leaves pods with more as they are.
	before, _ := s.failedUpdates()
	s.recreated(dropDisk)
	s.deletePod(4)
	s.within("pod 4 came back without the disk", func() bool { return s.disksOf(4) == "data0" })
	after, _ := s.failedUpdates()
	assert.Equal(t, before, after)
}
