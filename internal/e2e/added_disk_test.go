package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/ops/plan"
)

const disksOfHot = "spec.nodes.data.0.resources.disk.count"

// A further disk comes by the recreation of the StatefulSet and the restart of each pod, as was
// planned, in a soak wherever the daemon dies on the way, and under a writer.
func TestADiskIsAddedByARestart(t *testing.T) {
	t.Parallel()
	type variant struct{ name, die string }
	for _, c := range proof([]variant{
		{"undisturbed", ""}, // killed, a replacement of volumes goes the same way
	}, eachWrite(24, func(name, die string) variant { return variant{name, die} })...) {
		t.Run(c.name, func(t *testing.T) {
			together(t)
			v := departRestart(t, "disk-"+c.name)
			before := v.set(hotSet)
			v.define(with(disksOfHot, 2))
			plans := v.plans(2, v.dir)
			daemon := v.sail(c.die, "")
			v.carriedOut(&daemon, "all nodes have the disk", restartPatience, func() bool { return v.haveDisks(2, 3) && v.restartedPods() && v.isSettled(cutCluster) })
			if c.die == "" {
				var planned []plan.Step
				for _, op := range plans[0].Operations {
					planned = append(planned, op.Steps...)
				}
				assert.Empty(t, plan.Same(planned, deeds(daemon.Log())), "what was planned was done")
			}
			v.last(daemon)
			v.arrived()
			v.addedDisk(before.UID)
		})
	}
}

// addedDisk checks what holds once a disk was added.
func (v *restartVoyage) addedDisk(before any) {
	v.Helper()
	set := v.set(hotSet)
	assert.NotEqual(v, before, set.UID, "the StatefulSet was recreated")
	for _, pod := range v.clusterPods(cutCluster) {
		owner := metav1.GetControllerOf(&pod)
		require.NotNil(v, owner, pod.Name)
		assert.Equal(v, set.UID, owner.UID, "the new StatefulSet has %s", pod.Name)
		assert.True(v, slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
			return slices.ContainsFunc(c.Command, func(a string) bool { return strings.Contains(a, "path.data=/data/data0,/data/data1") })
		}), "%s has both folders", pod.Name)
	}
	budget, err := bed.Admin.PolicyV1().PodDisruptionBudgets(v.ns).Get(v.ctx, "crate-data-"+cutCluster, metav1.GetOptions{})
	require.NoError(v, err)
	assert.Nil(v, budget.Spec.MinAvailable, "the budget is as it was")
	for _, row := range v.rows(cutCluster, "SELECT name, array_length(fs['data']['path'], 1) FROM sys.nodes") {
		assert.Equal(v, "2", row[1], "disks of %s", row[0])
	}
}

// haveDisks reports whether so many pods are there, each with so many disks.
func (v *voyage) haveDisks(disks, pods int) bool {
	list := v.clusterPods(cutCluster)
	for _, pod := range list {
		if disksOf(&pod) != disks {
			return false
		}
	}
	return len(list) == pods
}

func disksOf(pod *corev1.Pod) int {
	n := 0
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil && strings.HasPrefix(volume.Name, "data") {
			n++
		}
	}
	return n
}

// The controller brings no pod back behind one that lacks the disk. The daemon does, also without a
// record, and the pods that have the disk keep it.
func TestAPodThatVanishesWhileADiskIsAddedComesBack(t *testing.T) {
	t.Parallel()
	for _, lost := range proof([]bool{true}, false) {
		t.Run(fmt.Sprintf("record-lost-%t", lost), func(t *testing.T) {
			v := departRestart(t, fmt.Sprintf("disk-vanished-%t", lost), with(replicasOfHot, 4))
			v.define(with(disksOfHot, 2))
			daemon := v.sail("", "")
			// A daemon that is stopped before it is ready leaves a restart that has not ended.
			v.eventually("the first pod has the disk and is ready", restartPatience, func() bool { return v.disksAt(0) == 2 && !v.readySince(hotSet+"-0").IsZero() })
			v.mayRestart = true
			budget, err := bed.Admin.PolicyV1().PodDisruptionBudgets(v.ns).Get(v.ctx, "crate-data-"+cutCluster, metav1.GetOptions{})
			require.NoError(t, err)
			require.NotNil(t, budget.Spec.MinAvailable, "no pod may be evicted while some lack the disk")
			assert.Equal(t, 1_000_000, budget.Spec.MinAvailable.IntValue())
			set := v.set(hotSet)
			if lost {
				v.stop(daemon)
				require.NoError(t, bed.Admin.CoreV1().ConfigMaps(v.ns).Delete(v.ctx, "stevedore-"+cutCluster+"-operation", metav1.DeleteOptions{}))
			}
			// Pod 3 is of the third group that the controller takes, behind pod 1 and pod 2.
			require.NoError(t, bed.Admin.CoreV1().Pods(v.ns).Delete(v.ctx, hotSet+"-3", metav1.DeleteOptions{}))
			v.eventually("it is gone", restartPatience, func() bool { return v.disksAt(3) < 0 })
			if lost {
				daemon = v.sail("", "")
			}
			disks := -1
			v.eventually("it is back", restartPatience, func() bool { disks = v.disksAt(3); return disks >= 0 })
			assert.Equal(t, 1, disks, "it came back without the disk")
			v.eventually("all nodes have the disk", restartPatience, func() bool { return v.haveDisks(2, 4) && v.isSettled(cutCluster) })
			v.stop(daemon)
			v.end()
			v.noRowLost()
			v.addedDisk(set.UID)
			v.caughtUp()
			v.pods.mu.Lock()
			defer v.pods.mu.Unlock()
			assert.Len(t, v.pods.uids[hotSet+"-0"], 2, "the first pod kept its disk")
		})
	}
}

// disksAt is how many disks a pod of the group hot has; -1 where it is not there.
func (v *voyage) disksAt(ordinal int) int {
	pod, err := bed.Admin.CoreV1().Pods(v.ns).Get(v.ctx, fmt.Sprintf("%s-%d", hotSet, ordinal), metav1.GetOptions{})
	if err != nil {
		return -1
	}
	return disksOf(pod)
}
