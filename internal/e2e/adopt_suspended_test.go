package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A suspended cluster has nobody who says which cluster it is. Its nodes are started without
// crate-operator, and after the adoption the daemon suspends it again, as the definition says.
func TestAnAdoptionOfASuspendedClusterStartsItsNodesFirst(t *testing.T) {
	t.Parallel()
	o := operate(t, "adopt-suspended")
	o.rows(cutCluster, "INSERT INTO doc."+replicaTables[0]+" (id) VALUES ('before')")
	scaled := func(replicas, ready string) {
		t.Helper()
		o.patch("statefulsets", hotSet, `{"spec":{"replicas":`+replicas+`}}`)
		o.eventually(ready+" nodes", restartPatience, func() bool {
			set := o.set(hotSet)
			return len(o.clusterPods(cutCluster)) == int(*set.Spec.Replicas) && o.ready(cutCluster) == int(*set.Spec.Replicas)
		})
	}
	scaled("0", "no")
	// The pace is that of the tests; what is asked for is what import writes.
	asleep := with("spec.operations", map[string]any{"adoption": "always", "stableFor": "1s", "masterStableFor": "1s", "consent": []string{"suspend"},
		"debugVolume": map[string]any{"size": "128Gi", "storageClass": "default"}})
	daemon := o.expected(with(replicasOfHot, 0), asleep)
	_, errs, code := o.verb("adopt", o.ns+"/"+cutCluster)
	require.Equal(t, 1, code)
	assert.Contains(t, errs, "suspended: ")
	assert.Contains(t, errs, "kubectl -n adopt-suspended scale statefulset crate-data-hot-orders --replicas=N")

	scaled("3", "three")
	o.eventually("the cluster is green", restartPatience, func() bool {
		rows, err := o.query(cutCluster, "system", "system-password", "SELECT count(*) FROM sys.health WHERE health <> 'GREEN'")
		return err == nil && rows[0][0] == "0"
	})
	claims := o.claimsOf()
	o.adopt()
	o.eventually("it is suspended again", restartPatience, func() bool {
		rec := o.record(cutCluster)
		return len(rec.Suspended) > 0 && rec.Operation == nil && len(o.clusterPods(cutCluster)) == 0
	})
	o.write(map[string]string{"orders.yaml": o.definition()})
	o.eventually("it runs", restartPatience, func() bool { return o.ready(cutCluster) == 3 && o.isSettled(cutCluster) })
	assert.Equal(t, [][]string{{"before"}}, o.rows(cutCluster, "SELECT id FROM doc."+replicaTables[0]))
	for name, now := range o.claimsOf() {
		assert.Equal(t, claims[name].UID, now.UID, name)
	}
	o.stop(daemon)
}
