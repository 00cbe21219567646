package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testbed"
)

// asked gives a command that waits until it was carried out, while the daemon dies and another one begins.
func (v *restartVoyage) asked(daemon **testbed.Daemon, what string, args ...string) string {
	v.Helper()
	type ending struct {
		out, err string
		code     int
	}
	ended := make(chan ending, 1)
	go func() {
		out, stderr, code := v.verb(args...)
		ended <- ending{out, stderr, code}
	}()
	var end *ending
	v.carriedOut(daemon, what, 4*time.Minute, func() bool {
		select {
		case e := <-ended:
			end = &e
		default:
		}
		return end != nil
	})
	require.Zero(v, end.code, "%s%s", end.out, end.err)
	return end.out
}

// A drill restores each table under a writer, compares it and drops it again, wherever the daemon dies on the way; and
// a table that a person asks for comes back beside the one that is there.
func TestADrillProvesASnapshotAndATableComesBack(t *testing.T) {
	t.Parallel()
	v := embark(t, "drill")
	v.edits = append(v.edits, v.sharedFolder()...)
	v.define(v.backups())
	v.depart()
	cluster := v.ns + "/" + cutCluster
	v.rows(cutCluster, "CREATE TABLE shop.parts (id INT, k INT) CLUSTERED INTO 2 SHARDS PARTITIONED BY (k) WITH (number_of_replicas = 1)")
	v.rows(cutCluster, "INSERT INTO shop.parts (id, k) VALUES (1, 1), (2, 2), (3, 1)")
	v.rows(cutCluster, "CREATE TABLE shop.empty (id INT, k INT) PARTITIONED BY (k)")
	v.rows(cutCluster, "DELETE FROM shop.parts WHERE k = 2")

	daemon := v.sail("after:4", "")
	v.asked(&daemon, "a snapshot was taken", "backup", "now", cluster, "--wait")
	assert.Contains(t, v.asked(&daemon, "it was proven", "backup", "drill", cluster, "--wait"), "the snapshot is proven: each of its ")
	proof := v.record(cutCluster).Backups.Taken[0].Proof
	assert.True(t, proof.Whole(), "%+v", proof)
	assert.Empty(t, v.rows(cutCluster, "SELECT table_schema FROM information_schema.tables WHERE table_schema LIKE 'stevedore%'"), "nothing of it is left")
	assert.Contains(t, v.asked(&daemon, "a table came", "restore", cluster, "--table", "doc.one", "--table", "shop.parts", "--schema", "old", "--wait"), "doc.one, shop.parts restored under schema old")
	assert.False(t, v.told(`"status":"RED"`), "what comes is no loss")

	out, stderr, code := v.verb("restore", cluster, "--table", "doc.one", "--wait")
	assert.Equal(t, 1, code, out)
	assert.Contains(t, stderr, "already exists", "a table that is there is not touched")
	out, _, _ = v.verb("backup", "list", cluster)
	assert.Contains(t, strings.Join(strings.Fields(out), " "), "yes until somebody drops it")
	v.stop(daemon)
	v.end()
	for _, table := range []string{"old.one", "old.parts"} {
		v.rows(cutCluster, "REFRESH TABLE "+table)
	}
	assert.Equal(t, 2, counted(t, v.rows(cutCluster, "SELECT count(*) FROM old.parts")))
	assert.Positive(t, counted(t, v.rows(cutCluster, "SELECT count(*) FROM old.one")))
	v.noRowLost()
}
