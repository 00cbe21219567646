package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

func scaling(consent ...string) edit {
	return with("spec.operations", map[string]any{"stableFor": "1s", "masterStableFor": "1s", "consent": consent})
}

// somebodys is an exclusion that is not ours.
const somebodys = "a-node-of-somebody-elses"

func departShrink(t *testing.T, ns string, edits ...edit) *restartVoyage {
	t.Helper()
	v := departRestart(t, ns, edits...)
	v.rows(cutCluster, `SET GLOBAL PERSISTENT "cluster.routing.allocation.exclude._id" = '`+somebodys+`'`)
	return v
}

func (v *restartVoyage) scaled(set string, replicas int) bool {
	told := slices.ContainsFunc(v.receiver.Taken(), func(d testbed.Delivery) bool { return d.Event == "scale" && d.Status == "success" })
	return told && int(*v.set(set).Spec.Replicas) == replicas && v.isSettled(cutCluster)
}

// shrunk checks what holds after a shrink, however often the daemon was killed.
func (v *restartVoyage) shrunk(nodes int) {
	v.Helper()
	rec := v.record(cutCluster)
	assert.Nil(v, rec.Exclusions)
	assert.Nil(v, rec.Operation)
	assert.Equal(v, [][]string{{somebodys}}, v.rows(cutCluster, "SELECT settings['cluster']['routing']['allocation']['exclude']['_id'] FROM sys.cluster"))
	assert.Len(v, v.rows(cutCluster, "SELECT name FROM sys.nodes"), nodes)
	assert.NotContains(v, v.set("crate-data-hot-orders").Annotations, names.HoldAnnotation)
	assert.Empty(v, v.rows(cutCluster, "SELECT table_name FROM sys.health WHERE health <> 'GREEN'"))
	assert.Empty(v, v.rows(cutCluster, "SELECT node_id FROM sys.node_checks WHERE id = 1 AND acknowledged = FALSE AND passed = FALSE"))
	// What was acknowledged before the refresh is seen after it; writers go on meanwhile.
	v.mu.Lock()
	acked := maps.Clone(v.acked)
	v.mu.Unlock()
	v.rows(cutCluster, "REFRESH TABLE doc.none, doc.one, doc.two")
	for _, table := range replicaTables {
		rows, err := strconv.Atoi(v.rows(cutCluster, "SELECT count(*) FROM doc."+table)[0][0])
		require.NoError(v, err)
		assert.GreaterOrEqual(v, rows, acked[table], "acknowledged rows of doc.%s, which has a shard on no node that left", table)
	}
}

func TestNodesLeaveEmptyAndAGroupIsRemoved(t *testing.T) {
	t.Parallel()
	needing(t, nodes(6))
	v := departShrink(t, "shrink", with(replicasOfHot, 5), with("spec.nodes.data.1", group("cold", 1)))
	daemon := v.sail("", "")
	v.settled(cutCluster)
	v.define(with(replicasOfHot, 3))
	v.eventually("two voters have left", restartPatience, func() bool { return v.scaled("crate-data-hot-orders", 3) })
	v.shrunk(4)

	v.define(with(replicasOfHot, 3), with("spec.nodes.data.1", nil))
	v.refusedFor(cutCluster, "group-removal-consent")
	v.define(with(replicasOfHot, 3), with("spec.nodes.data.1", nil), scaling("remove-group"))
	v.eventually("the group is gone", restartPatience, func() bool {
		_, err := bed.Admin.AppsV1().StatefulSets(v.ns).Get(v.ctx, "crate-data-cold-orders", metav1.GetOptions{})
		return err != nil && v.isSettled(cutCluster)
	})
	v.shrunk(3)
	claims, err := bed.Admin.CoreV1().PersistentVolumeClaims(v.ns).List(v.ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, claims.Items, 12, "volume claims stay")

	// Git says otherwise midway.
	v.define(with(replicasOfHot, 2), with("spec.nodes.data.1", nil), scaling("two-masters"))
	v.until("a drain has begun, or a table does not fit", func() bool {
		return v.record(cutCluster).Exclusions != nil || slices.Contains(v.refusals(cutCluster), "replicas-do-not-fit")
	})
	require.Contains(t, v.refusals(cutCluster), "replicas-do-not-fit", "doc.two wants three copies")
	v.rows(cutCluster, "ALTER TABLE doc.two SET (number_of_replicas = '0-2')")
	v.eventually("a drain has begun", restartPatience, func() bool { return v.record(cutCluster).Operation != nil })
	v.define(with(replicasOfHot, 3), with("spec.nodes.data.1", nil), scaling("two-masters"))
	v.eventually("the exclusions are given back", restartPatience, func() bool {
		return v.isSettled(cutCluster) && int(*v.set("crate-data-hot-orders").Spec.Replicas) == 3 && v.record(cutCluster).Exclusions == nil
	})
	// While a node is excluded CrateDB gives a range of replicas a copy less, and makes it
	// again afterwards: nothing waits for that, since the shrink was called off.
	v.eventually("the copy that the exclusion has cost is back", restartPatience, func() bool {
		return len(v.rows(cutCluster, "SELECT table_name FROM sys.health WHERE health <> 'GREEN'")) == 0
	})
	v.shrunk(3)
	v.stop(daemon)
}

func TestAShrinkKilledMidwayEndsTheSame(t *testing.T) {
	t.Parallel()
	v := departShrink(t, "shrink-cut", with(replicasOfHot, 4))
	v.define(with(replicasOfHot, 3))
	trace := filepath.Join(t.TempDir(), "writes")
	daemon := v.sail("", trace)
	v.eventually("it has ended", restartPatience, func() bool { return v.scaled("crate-data-hot-orders", 3) })
	v.stop(daemon)
	v.shrunk(3)
	content, err := os.ReadFile(trace)
	require.NoError(t, err)
	writes := strings.Count(string(content), "\n")
	t.Logf("a shrink by one node: %d writes", writes)
	require.Greater(t, writes, 12)
	for _, die := range cuts(writes, fmt.Sprintf("before:%d", writes/2)) {
		t.Run("killed "+die, func(t *testing.T) {
			together(t)
			v := departShrink(t, "shrink-"+strings.ReplaceAll(die, ":", "-"), with(replicasOfHot, 4))
			v.define(with(replicasOfHot, 3))
			v.cutOff(die, "the shrink has ended", restartPatience, func() bool { return v.scaled("crate-data-hot-orders", 3) })
			v.shrunk(3)
		})
	}
}

// A table that may only be on the node that leaves goes by consent, and has its filters afterwards.
func TestATablePinnedToALeavingNodeMovesAndHasItsFiltersBack(t *testing.T) {
	t.Parallel()
	v := departShrink(t, "shrink-pinned", with(replicasOfHot, 4))
	daemon := v.sail("", "")
	v.settled(cutCluster)
	v.rows(cutCluster, `CREATE TABLE doc.pinned (id INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0, "routing.allocation.include._name" = 'data-hot-3')`)
	v.rows(cutCluster, `CREATE TABLE doc.parts (id INT, p TEXT) CLUSTERED INTO 1 SHARDS PARTITIONED BY (p) WITH (number_of_replicas = 0, "routing.allocation.require._name" = 'data-hot-3')`)
	v.rows(cutCluster, "INSERT INTO doc.pinned (id) VALUES (1), (2), (3)")
	v.rows(cutCluster, "INSERT INTO doc.parts (id, p) VALUES (1, 'a'), (2, 'it''s')")
	v.rows(cutCluster, "REFRESH TABLE doc.pinned, doc.parts")
	where := func() [][]string {
		return v.rows(cutCluster, "SELECT DISTINCT node['name'] FROM sys.shards WHERE table_name IN ('pinned', 'parts')")
	}
	filters := func() [][]string {
		return append(v.rows(cutCluster, "SELECT table_name, settings['routing']['allocation']['include'], settings['routing']['allocation']['require'] FROM information_schema.tables WHERE table_name IN ('pinned', 'parts') ORDER BY table_name"),
			v.rows(cutCluster, "SELECT partition_ident, settings['routing']['allocation']['include'], settings['routing']['allocation']['require'] FROM information_schema.table_partitions ORDER BY partition_ident")...)
	}
	require.Equal(t, [][]string{{"data-hot-3"}}, where())
	before := filters()
	require.Len(t, before, 4)

	v.define(with(replicasOfHot, 3))
	v.refusedFor(cutCluster, "table-filter-decides-alone", "replicas-do-not-fit", "disk-does-not-fit")
	v.define(with(replicasOfHot, 3), scaling("extend-table-filters"))
	v.eventually("the node has left", restartPatience, func() bool { return v.scaled("crate-data-hot-orders", 3) })
	v.shrunk(3)
	assert.Equal(t, before, filters())
	assert.NotContains(t, where(), []string{"data-hot-3"})
	assert.Equal(t, [][]string{{"3"}}, v.rows(cutCluster, "SELECT count(*) FROM doc.pinned"))
	assert.Equal(t, [][]string{{"2"}}, v.rows(cutCluster, "SELECT count(*) FROM doc.parts"))
	t.Logf("filters before and after: %v; shards on %v", before, where())
	v.stop(daemon)
}
