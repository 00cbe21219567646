package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
)

// suspendVoyage is a made cluster with rows in it that is to be suspended.
type suspendVoyage struct {
	*restartVoyage
	id   string
	rows map[string]string
}

var consented = with("spec.operations", map[string]any{"stableFor": "1s", "masterStableFor": "1s", "consent": []string{"suspend"}})

func departSuspend(t *testing.T, ns string) *suspendVoyage {
	t.Helper()
	v := &suspendVoyage{restartVoyage: departRestart(t, ns), rows: map[string]string{}}
	v.until("rows were written", func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return v.acked["none"] > 0 && v.acked["one"] > 0 && v.acked["two"] > 0
	})
	v.end()
	v.id = v.record(cutCluster).ClusterID
	v.count(v.rows)
	return v
}

func (v *suspendVoyage) count(into map[string]string) {
	v.Helper()
	v.restartVoyage.rows(cutCluster, "REFRESH TABLE doc.none, doc.one, doc.two")
	for _, table := range replicaTables {
		into[table] = v.restartVoyage.rows(cutCluster, "SELECT count(*) FROM doc."+table)[0][0]
	}
}

func (v *suspendVoyage) told(status string) int {
	ids := map[string]bool{}
	for _, d := range v.receiver.Taken() {
		if d.Status == status && actionOf(v.T, d) == "suspend" {
			ids[d.EventID] = true
		}
	}
	return len(ids)
}

func (v *suspendVoyage) isSuspended() bool {
	rec := v.record(cutCluster)
	return len(rec.Suspended) == 1 && v.isSettled(cutCluster) && len(v.clusterPods(cutCluster)) == 0 && v.told("success") == 1
}

func (v *suspendVoyage) isResumed() bool {
	rec := v.record(cutCluster)
	return len(rec.Suspended) == 0 && v.isSettled(cutCluster) && len(v.clusterPods(cutCluster)) == 3 && v.told("success") == 2
}

// down checks what holds while it is suspended.
func (v *suspendVoyage) down() {
	v.Helper()
	set := v.set("crate-data-hot-orders")
	assert.Zero(v, *set.Spec.Replicas)
	assert.Contains(v, set.Annotations[names.SuspendedAnnotation], `"replicas":3`)
	assert.Contains(v, strings.Join(set.Spec.Template.Spec.Containers[0].Command, " "), "-Cgateway.expected_data_nodes=3", "gateway counts keep their values")
	claims, err := bed.Admin.CoreV1().PersistentVolumeClaims(v.ns).List(v.ctx, metav1.ListOptions{})
	require.NoError(v, err)
	assert.GreaterOrEqual(v, len(claims.Items), 3)
	budget, err := bed.Admin.PolicyV1().PodDisruptionBudgets(v.ns).Get(v.ctx, names.DataBudget(cutCluster), metav1.GetOptions{})
	require.NoError(v, err)
	assert.Equal(v, 1, budget.Spec.MaxUnavailable.IntValue())
	assert.Contains(v, v.statusText(), "suspended")
}

// arrived checks what holds after the resume.
func (v *suspendVoyage) arrived() {
	v.Helper()
	rec := v.record(cutCluster)
	assert.Equal(v, v.id, rec.ClusterID)
	assert.Nil(v, rec.Operation)
	assert.NotContains(v, v.set("crate-data-hot-orders").Annotations, names.SuspendedAnnotation)
	assert.Equal(v, [][]string{{v.id}}, v.restartVoyage.rows(cutCluster, "SELECT id FROM sys.cluster"))
	now := map[string]string{}
	v.count(now)
	assert.Equal(v, v.rows, now, "the data is kept")
	assert.Empty(v, v.restartVoyage.rows(cutCluster, "SELECT table_name FROM sys.health WHERE health <> 'GREEN'"))
	for _, line := range slices.Concat(v.receiver.Taken()) {
		if actionOf(v.T, line) == "create" {
			assert.NotEqual(v, "failure", line.Status)
		}
	}
}

func TestASuspendedClusterComesBackWithItsData(t *testing.T) {
	t.Parallel()
	v := departSuspend(t, "suspend")
	trace := filepath.Join(t.TempDir(), "writes")
	count := func() int {
		content, err := os.ReadFile(trace)
		require.NoError(t, err)
		return strings.Count(string(content), "\n")
	}
	daemon := v.sail("", trace)
	v.settled(cutCluster)
	v.define(with(replicasOfHot, 0), consented)
	v.eventually("it is suspended", restartPatience, v.isSuspended)
	v.down()
	down := count()
	// Told twice and done twice would show here.
	v.stop(daemon)
	daemon = v.sail("", trace)
	v.until("the next daemon has looked", func() bool { return saidDone.MatchString(daemon.Log()) })
	v.define(consented)
	v.eventually("it is resumed", restartPatience, v.isResumed)
	writes := count()
	v.stop(daemon)
	v.arrived()
	assert.Equal(t, 2, v.told("in_progress"))
	t.Logf("a suspension: %d writes, with the resume %d", down, writes)

	for _, die := range cuts(writes) {
		t.Run("killed "+die, func(t *testing.T) {
			together(t)
			v := departSuspend(t, "suspend-"+strings.ReplaceAll(die, ":", "-"))
			v.define(with(replicasOfHot, 0), consented)
			daemon := v.sail(die, "")
			v.carriedOut(&daemon, "it is suspended", restartPatience, v.isSuspended)
			v.down()
			v.define(consented)
			v.carriedOut(&daemon, "it is resumed", restartPatience, v.isResumed)
			v.last(daemon)
			v.arrived()
			assert.Equal(t, 2, v.told("in_progress"))
		})
	}
}
