package e2e

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/ops/model"
)

// replaceWrites are those of a daemon that replaces a table, counted in a run.
const replaceWrites = 28

// A table becomes what it was in a snapshot, wherever the daemon dies on the way: it keeps its privileges, views read it, the
// one before is kept until somebody drops it, and a person may exchange the two again.
func TestATableIsReplacedByItsStateInASnapshot(t *testing.T) {
	t.Parallel()
	v := embark(t, "replaced")
	v.edits = append(v.edits, v.sharedFolder()...)
	v.define(v.backups())
	v.depart()
	cluster := v.ns + "/" + cutCluster
	for _, statement := range []string{
		"CREATE TABLE shop.parts (id INT, k INT) CLUSTERED INTO 2 SHARDS PARTITIONED BY (k) WITH (number_of_replicas = 1)",
		"INSERT INTO shop.parts (id, k) VALUES (1, 1), (2, 2), (3, 1)",
		"CREATE VIEW shop.ones AS SELECT id FROM shop.parts WHERE k = 1",
		"CREATE USER guest WITH (password = 'guest-password')",
		"GRANT DQL ON TABLE shop.parts TO guest",
		"REFRESH TABLE shop.parts",
	} {
		v.rows(cutCluster, statement)
	}
	daemon := v.sail("", "")
	v.asked(&daemon, "a snapshot was taken", "backup", "now", cluster, "--wait")
	v.rows(cutCluster, "INSERT INTO shop.parts (id, k) VALUES (4, 1), (5, 3)")
	v.rows(cutCluster, "REFRESH TABLE shop.parts")
	out := v.asked(&daemon, "what it would do is known", "restore", cluster, "--table", "shop.parts", "--replace", "shop.parts", "--dry-run")
	assert.Contains(t, out, "nothing was done. shop.parts had 5 row(s)")
	assert.Contains(t, out, "2 operation(s) (inserts, updates and deletes of rows) were done on it since the snapshot began")
	v.stop(daemon)

	kept := model.KeptSchema(v.record(cutCluster).ClusterID)
	kept = kept[:len(kept)-2] + "shop.parts"
	rows := func(table string) [][]string {
		v.rows(cutCluster, "REFRESH TABLE "+table)
		return v.rows(cutCluster, "SELECT count(*) FROM "+table)
	}
	real := os.Getenv("CRATEDB_HOME") != ""
	for _, die := range cuts(replaceWrites, "before:19", "after:19") {
		daemon = v.sail(die, "")
		out := v.asked(&daemon, "the table was replaced", "restore", cluster, "--table", "shop.parts", "--replace", "shop.parts", "--wait")
		require.Contains(t, out, "shop.parts had 5 row(s), and in snapshot ", die)
		require.Equal(t, [][]string{{"3"}}, rows("shop.parts"), die)
		require.Equal(t, [][]string{{"5"}}, rows(kept), "what was there before is kept: %s", die)
		if real { // the simulator reads no view
			require.Equal(t, [][]string{{"2"}}, v.rows(cutCluster, "SELECT count(*) FROM shop.ones"), "the view reads it")
		}
		guest, err := v.query(cutCluster, "guest", "guest-password", "SELECT count(*) FROM shop.parts")
		require.NoError(t, err, "who may read it, may: %s", die)
		require.Equal(t, [][]string{{"3"}}, guest)
		require.Equal(t, [][]string{{"1"}}, v.rows(cutCluster, "SELECT number_of_replicas FROM information_schema.tables WHERE table_schema = 'shop' AND table_name = 'parts'"))
		v.stopOrDead(daemon, die)

		daemon = v.sail(die, "")
		v.asked(&daemon, "it was taken back", "restore", cluster, "--undo", "shop.parts", "--wait")
		require.Equal(t, [][]string{{"5"}}, rows("shop.parts"), die)
		require.Equal(t, [][]string{{"3"}}, rows(kept), die)
		v.stopOrDead(daemon, die)
		daemon = v.sail(die, "")
		v.asked(&daemon, "what is kept was dropped", "restore", cluster, "--drop-kept", "shop.parts", "--wait")
		require.Empty(t, v.rows(cutCluster, "SELECT table_name FROM information_schema.tables WHERE table_schema LIKE 'stevedore%'"), die)
		require.Equal(t, [][]string{{"5"}}, rows("shop.parts"), die)
		v.stopOrDead(daemon, die)
	}
	assert.Empty(t, v.record(cutCluster).Backups.Kept)
	assert.True(t, v.told("TableReplaced") || v.told("is as in snapshot"), "it was reported")
	v.end()
	v.noRowLost()
}

// The record is lost while a table is replaced. What CrateDB says of the shards tells a copy, which is dropped, from the table
// that was there before, which stays.
func TestALostRecordOfAReplacementLosesNoTable(t *testing.T) {
	t.Parallel()
	v := embark(t, "replaced-lost")
	v.edits = append(v.edits, v.sharedFolder()...)
	v.define(v.backups())
	v.depart()
	cluster := v.ns + "/" + cutCluster
	v.rows(cutCluster, "CREATE TABLE shop.parts (id INT) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = 1)")
	v.rows(cutCluster, "INSERT INTO shop.parts (id) VALUES (1), (2), (3)")
	v.rows(cutCluster, "REFRESH TABLE shop.parts")
	daemon := v.sail("", "")
	v.asked(&daemon, "a snapshot was taken", "backup", "now", cluster, "--wait")
	schema := model.KeptSchema(v.record(cutCluster).ClusterID)
	schema = schema[:len(schema)-2] + "shop"
	kept := schema + ".parts"
	snapshot, repository := v.taken()[0], v.record(cutCluster).Backups.Repository.Name
	v.stop(daemon)
	restore := `RESTORE SNAPSHOT "` + repository + `"."` + snapshot + `" TABLE shop.parts WITH (wait_for_completion = true, schema_rename_pattern = '(.+)', schema_rename_replacement = '` + schema + `')`

	v.rows(cutCluster, restore)
	require.NoError(t, bed.Admin.CoreV1().ConfigMaps(v.ns).Delete(v.ctx, "stevedore-"+cutCluster+"-operation", metav1.DeleteOptions{}))
	daemon = v.sail("", "")
	v.until("the copy is dropped", func() bool {
		return len(v.rows(cutCluster, "SELECT table_name FROM information_schema.tables WHERE table_schema LIKE 'stevedore%'")) == 0
	})
	v.stop(daemon)

	v.rows(cutCluster, restore)
	v.rows(cutCluster, "INSERT INTO shop.parts (id) VALUES (4)")
	v.rows(cutCluster, "ALTER CLUSTER SWAP TABLE "+kept+" TO shop.parts")
	require.NoError(t, bed.Admin.CoreV1().ConfigMaps(v.ns).Delete(v.ctx, "stevedore-"+cutCluster+"-operation", metav1.DeleteOptions{}))
	daemon = v.sail("", "")
	v.until("it is known", func() bool { b := v.record(cutCluster).Backups; return b != nil && len(b.Kept) == 1 })
	assert.Equal(t, kept, v.record(cutCluster).Backups.Kept[0].Name)
	v.rows(cutCluster, "REFRESH TABLE "+kept)
	assert.Equal(t, [][]string{{"4"}}, v.rows(cutCluster, "SELECT count(*) FROM "+kept), "what was there before stays")
	v.asked(&daemon, "it was taken back", "restore", cluster, "--undo", "shop.parts", "--wait")
	assert.Equal(t, [][]string{{"4"}}, v.rows(cutCluster, "SELECT count(*) FROM shop.parts"))
	v.stop(daemon)
	v.end()
}
