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

	"stevedore.dev/stevedore/internal/testbed"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/plan"
)

// mountsAt are the disks that CrateDB's container of a pod of the group hot mounts, joined; "" where the pod
// is not there.
func (v *voyage) mountsAt(ordinal int) string {
	pod, err := bed.Admin.CoreV1().Pods(v.ns).Get(v.ctx, fmt.Sprintf("%s-%d", hotSet, ordinal), metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return mountsIn(pod.Spec.Containers)
}

func mountsIn(containers []corev1.Container) string {
	var out []string
	for _, c := range containers {
		for _, m := range c.VolumeMounts {
			if c.Name == manifest.CrateContainer && strings.HasPrefix(m.Name, "data") {
				out = append(out, m.Name)
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

func (v *restartVoyage) said(words string) bool {
	return slices.ContainsFunc(v.receiver.Taken(), func(d testbed.Delivery) bool {
		return d.Status == "success" && strings.Contains(string(d.Body), words)
	})
}

// removedDisk checks what holds once each node does with one disk.
func (v *restartVoyage) removedDisk(nodes [][]string, claims map[string]corev1.PersistentVolumeClaim) {
	v.Helper()
	set := v.set(hotSet)
	assert.Equal(v, "data0", mountsIn(set.Spec.Template.Spec.Containers))
	for _, claim := range set.Spec.VolumeClaimTemplates {
		assert.NotEqual(v, "data1", claim.Name, "the StatefulSet was recreated without it")
	}
	for i := range 3 {
		assert.Equal(v, "data0", v.mountsAt(i))
	}
	now := v.claimsOf()
	for name, claim := range claims {
		assert.Equal(v, claim.UID, now[name].UID, "nobody deletes %s", name)
	}
	assert.Equal(v, nodes, v.rows(cutCluster, "SELECT id FROM sys.nodes ORDER BY 1"), "each node has its id still")
	for _, row := range v.rows(cutCluster, "SELECT name, array_length(fs['data']['path'], 1) FROM sys.nodes") {
		assert.Equal(v, "1", row[1], "disks of %s", row[0])
	}
	excluded := v.rows(cutCluster, "SELECT settings['cluster']['routing']['allocation']['exclude']['_id'] FROM sys.cluster")
	assert.Equal(v, [][]string{{""}}, excluded, "the exclusions were given back")
	budget, err := bed.Admin.PolicyV1().PodDisruptionBudgets(v.ns).Get(v.ctx, "crate-data-"+cutCluster, metav1.GetOptions{})
	require.NoError(v, err)
	assert.Nil(v, budget.Spec.MinAvailable, "the budget is as it was")
	assert.Nil(v, v.record(cutCluster).Operation)
}

// Two disks become one, node by node: drained, and back on the volume that stays. Rows are written all
// the time, also to a table without replicas, and none is lost, wherever the daemon dies on the way.
func TestADiskIsRemovedNodeByNode(t *testing.T) {
	t.Parallel()
	type variant struct{ name, die string }
	// Killed, a replacement of volumes goes the same way.
	for _, c := range proof([]variant{{"undisturbed", ""}}, eachWrite(44, func(name, die string) variant { return variant{name, die} })...) {
		t.Run(c.name, func(t *testing.T) {
			together(t)
			v := departRestart(t, "undisk-"+c.name, with(disksOfHot, 2))
			nodes, claims := v.rows(cutCluster, "SELECT id FROM sys.nodes ORDER BY 1"), v.claimsOf()
			v.define(with(disksOfHot, 1))
			v.rows(cutCluster, "ALTER TABLE doc.two SET (number_of_replicas = 1)")
			plans := v.plans(2, v.dir)
			daemon := v.sail(c.die, "")
			v.carriedOut(&daemon, "each node does with one disk", 2*restartPatience, func() bool {
				return v.said("each node has the disks that are desired") && v.isSettled(cutCluster)
			})
			if c.die == "" {
				require.Len(t, plans[0].Operations, 1)
				assert.Contains(t, plans[0].Operations[0].Summary, "3 nodes are drained in place before")
				assert.Empty(t, plan.Same(plans[0].Operations[0].Steps, deeds(daemon.Log())), "what was planned was done")
			}
			v.last(daemon)
			v.removedDisk(nodes, claims)
			v.arrived()
		})
	}
}

// A pod that vanishes in the moment in which the template is without the disk may come back without it, and
// its node was not drained. It gets the disk again, with its shards.
func TestAPodThatVanishesWhileADiskIsRemovedLosesNothing(t *testing.T) {
	t.Parallel()
	v := departRestart(t, "undisk-vanished", with(disksOfHot, 2))
	nodes, claims := v.rows(cutCluster, "SELECT id FROM sys.nodes ORDER BY 1"), v.claimsOf()
	v.rows(cutCluster, "ALTER TABLE doc.two SET (number_of_replicas = 1)")
	v.define(with(disksOfHot, 1))
	daemon := v.sail("", "")
	v.mayRestart = true
	first := v.clusterPods(cutCluster)[0].UID
	v.eventually("the first pod goes", 2*restartPatience, func() bool {
		pod, err := bed.Admin.CoreV1().Pods(v.ns).Get(v.ctx, hotSet+"-0", metav1.GetOptions{})
		return err != nil || pod.UID != first || pod.DeletionTimestamp != nil
	})
	now := int64(0)
	require.NoError(t, bed.Admin.CoreV1().Pods(v.ns).Delete(v.ctx, hotSet+"-2", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	v.eventually("it is back", restartPatience, func() bool { return v.mountsAt(2) != "" })
	if came := v.mountsAt(2); came == "data0" {
		v.eventually("it has its disk again before its node is drained", restartPatience, func() bool { return v.mountsAt(2) == "data0,data1" })
	} else {
		t.Log("it came back with ", came)
	}
	v.eventually("each node does with one disk", 3*restartPatience, func() bool {
		return v.said("each node has the disks that are desired") && v.isSettled(cutCluster)
	})
	v.removedDisk(nodes, claims)

	// Its own disk is no other node's: each pod takes it back.
	v.define(with(disksOfHot, 2))
	v.eventually("all nodes have the disk again", 2*restartPatience, func() bool {
		for i := range 3 {
			if v.mountsAt(i) != "data0,data1" {
				return false
			}
		}
		return v.isSettled(cutCluster)
	})
	v.stop(daemon)
	for name, claim := range v.claimsOf() {
		assert.Equal(t, claims[name].UID, claim.UID, name)
	}
	assert.Equal(t, nodes, v.rows(cutCluster, "SELECT id FROM sys.nodes ORDER BY 1"))
	v.end()
	v.noRowLost()
}

// What does not fit on the nodes that stay, or on the disks that stay, is refused before anything.
func TestADiskThatIsNeededIsNotRemoved(t *testing.T) {
	t.Parallel()
	v := departRestart(t, "undisk-needed", with(disksOfHot, 2))
	before := v.set(hotSet)
	v.define(with(disksOfHot, 1))
	daemon := v.sail("", "")
	v.until("a table with a copy on each node does not fit", func() bool { return v.shows("replicas-do-not-fit", "doc.two") })
	v.stop(daemon)
	v.define()
	v.rows(cutCluster, "ALTER TABLE doc.two SET (number_of_replicas = 1)")
	v.rows(cutCluster, "SET GLOBAL PERSISTENT \"cluster.routing.allocation.disk.watermark.low\" = '127gb', \"cluster.routing.allocation.disk.watermark.high\" = '1mb', \"cluster.routing.allocation.disk.watermark.flood_stage\" = '1mb'")
	v.define(with(disksOfHot, 1))
	daemon = v.sail("", "")
	v.until("it does not fit", func() bool { return v.shows("volumes-too-small", "") })
	v.stop(daemon)
	assert.Equal(t, before.UID, v.set(hotSet).UID)
	for i := range 3 {
		assert.Equal(t, "data0,data1", v.mountsAt(i))
	}
}
