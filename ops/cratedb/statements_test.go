package cratedb

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// A detailed reading takes from its own rows what a plain one asks in statements of their
// own, and a setting comes with the row that says which cluster this is.
func TestAReadingAsksEachViewOnceAndKnowsTheSameEitherWay(t *testing.T) {
	for _, version := range releases {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 2})
			password := c.MakeSystem()
			c.Run(
				"CREATE TABLE doc.two (a INT) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = 1)",
				"CREATE TABLE doc.lacks (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 2)",
				"CREATE TABLE doc.one (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0)",
				"CREATE TABLE doc.part (a INT, b INT) CLUSTERED INTO 1 SHARDS PARTITIONED BY (b) WITH (number_of_replicas = 1)",
				"INSERT INTO doc.part (a, b) VALUES (1, 1)",
				"ALTER TABLE doc.part PARTITION (b = 1) SET (number_of_replicas = 0)",
				"CREATE ROLE auditor", "GRANT auditor TO system", "DENY DQL ON TABLE doc.one TO system",
				"SET GLOBAL PERSISTENT \"cluster.routing.allocation.enable\" = 'primaries'",
			)
			read := func(detailed bool) (db model.Database, statements int) {
				client := Client{Dialer: c, Timeout: patience, Sent: func() { statements++ }}
				db = client.Observe(t.Context(), Target{
					Password: password, Detailed: detailed, Settings: []string{"stats.enabled", "cluster.graceful_stop.timeout"},
					Pods: []PodRef{{Name: "pod-0", NodeName: "data-hot-0"}},
				})
				require.Empty(t, db.Unread)
				return db, statements
			}
			// What both readings know.
			same := func(db model.Database) map[string]any {
				held := map[string][2]int64{}
				for _, n := range db.Nodes {
					held[n.Name] = [2]int64{int64(n.Shards), n.Bytes}
				}
				return map[string]any{
					"held": held, "on no node": db.Unassigned, "without replicas": db.Unreplicated, "known": db.NodesKnown && db.ShardsKnown && db.UnreplicatedKnown && db.UsersKnown && db.DeniedKnown,
					"users": db.Users, "denied": db.Denied, "allocation": db.Allocation, "settings": db.Settings, "effective": db.Effective,
				}
			}
			// Sizes change while segments are written.
			require.EventuallyWithT(t, func(t *assert.CollectT) {
				plain, _ := read(false)
				detailed, _ := read(true)
				require.Equal(t, same(plain), same(detailed))
			}, patience, 100*time.Millisecond)

			plain, asked := read(false)
			assert.Equal(t, 12, asked)
			assert.Equal(t, []string{"doc.one", "doc.part"}, plain.Unreplicated)
			assert.Positive(t, plain.Unassigned)
			assert.Equal(t, "primaries", plain.Allocation)
			assert.Contains(t, plain.Users, "system")
			assert.Equal(t, "true", plain.Effective["stats.enabled"])
			require.Len(t, plain.Denied, 1)
			detailed, asked := read(true)
			assert.Equal(t, 13+len(gates.Questions), asked)
			assert.True(t, detailed.TablesKnown && detailed.SnapshotsKnown)
			for _, n := range detailed.Nodes {
				assert.NotNil(t, n.Attributes)
			}
		})
	}
}

// A new cluster has no table. That is known, and not unread: a restart of it would wait for
// ever.
func TestADatabaseWithoutAnyTableHasKnownTables(t *testing.T) {
	for _, version := range releases {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 1})
			db := Client{Dialer: c, Timeout: patience}.Observe(t.Context(), Target{
				Password: c.MakeSystem(), Detailed: true, Pods: []PodRef{{Name: "pod-0", NodeName: "data-hot-0"}},
			})
			require.Empty(t, db.Unread)
			assert.True(t, db.ShardsKnown && db.TablesKnown && db.UnreplicatedKnown)
			assert.Empty(t, db.Shards)
			assert.Empty(t, db.Unreplicated)
		})
	}
}
