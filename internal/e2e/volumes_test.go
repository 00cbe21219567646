package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/testbed"
)

const diskOfHot = "spec.nodes.data.0.resources.disk.size"

// A pushed size reaches the claims and the StatefulSet without a restart, wherever the daemon
// dies on the way: the pods, their revisions and the rest of the budget are as before.
func TestVolumesGrowAroundRunningPods(t *testing.T) {
	t.Parallel()
	type variant struct{ name, die string }
	for _, c := range proof([]variant{
		{"killed-before", "before:4"},
		{"killed-after", "after:7"},
	}, append(eachWrite(14, func(name, die string) variant { return variant{name, die} }), variant{"undisturbed", ""})...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := depart(t, "volumes-"+c.name, grow)
			v.define(bootstrap)
			before, pods := v.set(hotSet), podsOf(v)
			v.write(map[string]string{"orders.yaml": definition(v.ns, cutCluster, with(replicasOfHot, nodesAfter[bootstrap]), with(diskOfHot, "32GiB"))})
			v.cutOff(c.die, "the volumes have grown", restartPatience, func() bool { return v.grew(nodesAfter[bootstrap]) && v.isSettled(cutCluster) })

			after := v.set(hotSet)
			assert.NotEqual(t, before.UID, after.UID, "the StatefulSet was recreated")
			assert.Equal(t, before.Status.UpdateRevision, after.Status.UpdateRevision, "no revision changed")
			assert.Equal(t, pods, podsOf(v), "no pod was recreated or got another revision")
			for _, pod := range v.clusterPods(cutCluster) {
				owner := metav1.GetControllerOf(&pod)
				require.NotNil(t, owner, pod.Name)
				assert.Equal(t, after.UID, owner.UID, "the new StatefulSet has %s", pod.Name)
			}
			v.noPodRestarted()
			budget, err := bed.Admin.PolicyV1().PodDisruptionBudgets(v.ns).Get(v.ctx, "crate-data-"+cutCluster, metav1.GetOptions{})
			require.NoError(t, err)
			assert.Nil(t, budget.Spec.MinAvailable, "the budget is as it was")
			assert.Equal(t, 1, budget.Spec.MaxUnavailable.IntValue())
			assert.True(t, slices.ContainsFunc(v.receiver.Taken(), func(d testbed.Delivery) bool {
				return d.Status == "success" && strings.Contains(string(d.Body), "expand_storage")
			}), "the growth was reported")
		})
	}
}

// A driver that works offline makes no file system larger while its pod runs: by the definition's
// policy each pod is restarted once for it, behind the gates of a restart and under a writer.
func TestAnOfflineDriverHasEachPodRestartedOnce(t *testing.T) {
	t.Parallel()
	v := departRestart(t, "volumes-offline", with("spec.nodes.data.0.resources.disk.storageClass", "offline"))
	v.define(with(diskOfHot, "32GiB"), with("spec.operations.offlineResize", "restart"))
	daemon := v.sail("", "", "--offline-after", "1s")
	v.eventually("the volumes have grown", restartPatience, func() bool { return v.grew(3) && v.isSettled(cutCluster) && v.restartedPods() })
	v.arrived()
	assert.Nil(t, v.record(cutCluster).Growth)
	assert.True(t, slices.ContainsFunc(v.receiver.Taken(), func(d testbed.Delivery) bool {
		return d.Status == "success" && strings.Contains(string(d.Body), "pods were restarted for it: the driver works offline")
	}), "the growth was reported")
	v.stop(daemon)
}

const hotSet = "crate-data-hot-" + cutCluster

// podsOf are the UIDs and revisions of the pods, by name.
func podsOf(v *voyage) map[string]string {
	out := map[string]string{}
	for _, pod := range v.clusterPods(cutCluster) {
		out[pod.Name] = string(pod.UID) + " " + pod.Labels["controller-revision-hash"]
	}
	return out
}

// grew reports whether the claims of data of so many nodes and the StatefulSet have the new size.
func (v *voyage) grew(nodes int) bool {
	wanted := resource.MustParse("32Gi")
	set, err := bed.Admin.AppsV1().StatefulSets(v.ns).Get(v.ctx, hotSet, metav1.GetOptions{})
	if err != nil || len(set.Spec.VolumeClaimTemplates) == 0 {
		return false // it is being made again
	}
	for _, template := range set.Spec.VolumeClaimTemplates {
		if template.Name == "data0" && template.Spec.Resources.Requests.Storage().Cmp(wanted) != 0 {
			return false
		}
	}
	claims, err := bed.Admin.CoreV1().PersistentVolumeClaims(v.ns).List(v.ctx, metav1.ListOptions{})
	if err != nil {
		return false
	}
	grown := 0
	for _, claim := range claims.Items {
		if claim.Status.Phase == corev1.ClaimBound && claim.Status.Capacity.Storage().Cmp(wanted) == 0 {
			grown++
		}
	}
	return grown == nodes
}

// What Kubernetes denies to a claim is said with its words, and growth goes on when it is allowed.
func TestAGrowthThatKubernetesDeniesSaysWhy(t *testing.T) {
	t.Parallel()
	v := depart(t, "volumes-denied", grow)
	v.define(bootstrap)
	quotas := bed.Admin.CoreV1().ResourceQuotas(v.ns)
	_, err := quotas.Create(v.ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "little"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceRequestsStorage: resource.MustParse("1Gi")}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	v.until("the quota is counted", func() bool {
		quota, err := quotas.Get(v.ctx, "little", metav1.GetOptions{})
		return err == nil && len(quota.Status.Used) > 0
	})
	v.write(map[string]string{"orders.yaml": definition(v.ns, cutCluster, with(replicasOfHot, nodesAfter[bootstrap]), with(diskOfHot, "32GiB"))})
	daemon := v.sail("", "")
	v.until("status has the words of the quota", func() bool {
		return slices.ContainsFunc(v.record(cutCluster).Shown.Reasons, func(r shownReason) bool {
			return strings.Contains(r.Message, "exceeded quota: little") && strings.Contains(r.Message, "data0-"+hotSet)
		})
	})
	require.NoError(t, quotas.Delete(v.ctx, "little", metav1.DeleteOptions{}))
	v.eventually("the volumes have grown", restartPatience, func() bool { return v.grew(nodesAfter[bootstrap]) && v.isSettled(cutCluster) })
	v.noPodRestarted()
	v.stop(daemon)
}

// A full disk is healed by a push. CrateDB blocks writes at the flood stage, and takes the block
// back by itself once the file system is larger.
func TestADiskThatIsFullToTheFloodStageHealsByAPush(t *testing.T) {
	needing(t, realCrateDB, fileSystems)
	t.Parallel()
	v := depart(t, "volumes-flood", bootstrap)
	sized := func(size string) {
		v.write(map[string]string{"orders.yaml": definition(v.ns, cutCluster, with(replicasOfHot, 1), with(diskOfHot, size),
			with("spec.nodes.data.0.resources.disk.storageClass", "sized"), with("spec.operations", map[string]any{"stableFor": "1s", "masterStableFor": "1s"}))})
	}
	sized("256MiB")
	daemon := v.sail("", "")
	v.settled(cutCluster)
	v.rows(cutCluster, `SET GLOBAL TRANSIENT "cluster.info.update.interval" = '10s'`)
	v.rows(cutCluster, "CREATE TABLE doc.big (x TEXT INDEX OFF STORAGE WITH (columnstore = false)) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0)")
	disk := func() (used, total int64) {
		row := v.rows(cutCluster, "SELECT fs['total']['used'], fs['total']['size'] FROM sys.nodes")[0]
		used, _ = strconv.ParseInt(row[0], 10, 64)
		total, _ = strconv.ParseInt(row[1], 10, 64)
		return used, total
	}
	acknowledged := 0
	write := func(rows string, n int) error {
		_, err := v.query(cutCluster, "app", appPassword, "INSERT INTO doc.big (x) "+rows)
		if err == nil {
			acknowledged += n
		}
		return err
	}
	fill := func() error {
		return write("SELECT repeat(gen_random_text_uuid(), 1500) FROM generate_series(1, 100)", 100)
	}
	v.eventually("the disk is full to the flood stage", restartPatience, func() bool {
		used, total := disk()
		return used*100 >= total*96 || fill() != nil
	})
	// information_schema.tables says false of this block: only a write shows it.
	v.eventually("CrateDB blocks writes", restartPatience, func() bool { return write("VALUES ('a')", 1) != nil })
	require.ErrorContains(t, write("VALUES ('a')", 1), "RELATION_READ_DELETE_ONLY")
	pods := podsOf(v)
	used, total := disk()
	require.Greater(t, used*100, total*94, "the disk is full still")

	sized("512MiB")
	v.eventually("CrateDB takes writes again", restartPatience, func() bool { return write("VALUES ('a')", 1) == nil })
	_, grown := disk()
	assert.Greater(t, grown, total*3/2, "CrateDB sees the bytes")
	v.eventually("the growth is reported", restartPatience, func() bool {
		return slices.ContainsFunc(v.receiver.Taken(), func(d testbed.Delivery) bool {
			return d.Status == "success" && strings.Contains(string(d.Body), "expand_storage")
		})
	})
	v.settled(cutCluster)
	v.stop(daemon)
	assert.Equal(t, pods, podsOf(v), "no pod restarted")
	v.rows(cutCluster, "REFRESH TABLE doc.big")
	assert.Equal(t, [][]string{{strconv.Itoa(acknowledged)}}, v.rows(cutCluster, "SELECT count(*) FROM doc.big"), "no acknowledged row is lost")
	t.Logf("full at %d of %d bytes; %d rows; afterwards %d bytes", used, total, acknowledged, grown)
}
