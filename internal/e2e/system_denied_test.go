package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A DENY on a schema made its tables vanish from what `system` reads: the node with their only
// copies was empty, was removed, and success was reported.
func TestNoNodeLeavesWhileSystemIsDeniedASchema(t *testing.T) {
	t.Parallel()
	v := departShrink(t, "denied", with(replicasOfHot, 4))
	app := func(statement string) [][]string {
		t.Helper()
		rows, err := v.query(cutCluster, "app", appPassword, statement)
		require.NoError(t, err, statement)
		return rows
	}
	app("CREATE TABLE secret.t (a INT) CLUSTERED INTO 8 SHARDS WITH (number_of_replicas = 0)")
	app("INSERT INTO secret.t (a) VALUES (1), (2), (3), (4), (5), (6), (7), (8)")
	app("REFRESH TABLE secret.t")
	app("DENY ALL ON SCHEMA secret TO system")
	require.Equal(t, [][]string{{"0"}}, v.rows(cutCluster, "SELECT count(*) FROM sys.shards WHERE schema_name = 'secret'"), "system sees none of it")

	v.define(with(replicasOfHot, 3))
	daemon := v.sail("", "")
	v.refusedFor(cutCluster, "system-denied")
	assert.EqualValues(t, 4, *v.set("crate-data-hot-orders").Spec.Replicas)

	app("REVOKE ALL ON SCHEMA secret FROM system")
	v.eventually("the node has left", restartPatience, func() bool { return v.scaled("crate-data-hot-orders", 3) })
	v.shrunk(3)
	app("REFRESH TABLE secret.t")
	assert.Equal(t, [][]string{{"8"}}, app("SELECT count(*) FROM secret.t"), "all of its rows are there")
	v.stop(daemon)
}
