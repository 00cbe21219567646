package cratedb

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/model"
)

// A reading takes over what a whole one has said while the cluster state is the same, and
// each fact that it takes over changes that state: none of these changes goes unseen.
func TestAReadingTakesOverAWholeOneOnlyWhileTheClusterStateIsTheSame(t *testing.T) {
	for _, version := range releases {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 3})
			password := c.MakeSystem()
			c.Run("CREATE TABLE doc.t (a INT) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = 1)", "INSERT INTO doc.t (a) VALUES (1), (2), (3)")
			c.Settled()
			read := func(unless *model.Database) (db model.Database, statements int) {
				var sent atomic.Int32 // each pod is asked beside the others
				client := Client{Dialer: c, Timeout: patience, Sent: func() { sent.Add(1) }}
				target := Target{Password: password, Detailed: true, Settings: []string{"stats.enabled"}, Unless: unless}
				for _, n := range c.Nodes {
					if n.Running() {
						target.Pods = append(target.Pods, PodRef{Name: n.Pod, NodeName: n.Name})
					}
				}
				db = client.Observe(t.Context(), target)
				return db, int(sent.Load())
			}
			// settled is a whole reading after which nothing changes any more by itself.
			settled := func() model.Database {
				var whole model.Database
				require.EventuallyWithT(t, func(t *assert.CollectT) {
					whole, _ = read(nil)
					require.Empty(t, whole.Unread)
					short, statements := read(&whole)
					require.True(t, short.Whole.Equal(whole.Whole), "the cluster state changes still")
					require.Equal(t, len(short.Pods)+1, statements)
				}, patience, 200*time.Millisecond)
				return whole
			}
			whole := settled()
			short, _ := read(&whole)
			again, _ := read(nil)
			assert.True(t, short.At.After(whole.At))
			for _, db := range []*model.Database{&short, &again} {
				db.At, db.Whole, db.Listed = time.Time{}, time.Time{}, time.Time{}
				for i := range db.Nodes {
					db.Nodes[i].DiskUsed, db.Nodes[i].Disks = 0, nil // others write to the disk, too
					assert.Positive(t, db.Nodes[i].Heap.Max)
					db.Nodes[i].Heap = model.Heap{} // of the moment
				}
			}
			assert.Equal(t, again, short, "what is taken over is what a whole reading says")

			for _, change := range []string{
				"CREATE USER auditor", "CREATE ROLE blinder", "GRANT blinder TO auditor", "DENY DQL ON TABLE doc.t TO blinder", "REVOKE blinder FROM auditor",
				"SET GLOBAL PERSISTENT \"cluster.routing.allocation.enable\" = 'primaries'", "RESET GLOBAL \"cluster.routing.allocation.enable\"",
				"SET GLOBAL TRANSIENT \"cluster.routing.allocation.exclude._name\" = 'somebody'", "SET GLOBAL PERSISTENT \"stats.enabled\" = FALSE",
				"ALTER TABLE doc.t SET (number_of_replicas = 0)", "ALTER TABLE doc.t SET (number_of_replicas = 2)", "ALTER TABLE doc.t SET (\"routing.allocation.exclude._name\" = 'x')",
				"CREATE TABLE doc.p (a INT, b INT) PARTITIONED BY (b) CLUSTERED INTO 1 SHARDS", "INSERT INTO doc.p (a, b) VALUES (1, 1)", "DROP TABLE doc.p",
				"ALTER TABLE doc.t CLOSE", "ALTER TABLE doc.t OPEN", "CREATE BLOB TABLE files CLUSTERED INTO 1 SHARDS",
				"DENY DQL ON SCHEMA doc TO system", "REVOKE DQL ON SCHEMA doc FROM system",
				"CREATE REPOSITORY backup TYPE fs WITH (location = 'backup')",
				"CREATE SNAPSHOT backup.one ALL WITH (wait_for_completion = TRUE)", "DROP REPOSITORY backup",
			} {
				before := settled()
				c.Run(change)
				db, _ := read(&before)
				assert.False(t, db.Whole.Equal(before.Whole), "after %s what was read before is taken over", change)
			}

			before := settled()
			c.Nodes[2].Kill()
			c.Joined(2) // the master has missed it
			db, _ := read(&before)
			assert.False(t, db.Whole.Equal(before.Whole), "a node was killed")
		})
	}
}
