package cratedb

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

var onePod = []PodRef{{Name: "pod-0", NodeName: "data-hot-0"}}

// What is said to be in no snapshot is refused by CrateDB, and the rest is not.
func TestTheTablesThatASnapshotCannotHaveAreThoseThatCrateDBRefuses(t *testing.T) {
	for _, version := range releases {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 1})
			client := Client{Dialer: c, Listings: &Listings{}, Timeout: patience, WriteTimeout: patience}
			password := c.MakeSystem()
			const one = " CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0)"
			c.Run("CREATE REPOSITORY r TYPE fs WITH (location = 'r')",
				"CREATE TABLE doc.fine (a INT)"+one, "CREATE TABLE doc.shut (a INT)"+one, "CREATE TABLE doc.blocked (a INT)"+one,
				"CREATE TABLE doc.parts (a INT, p INT) CLUSTERED INTO 1 SHARDS PARTITIONED BY (p) WITH (number_of_replicas = 0)",
				"INSERT INTO doc.parts (a, p) VALUES (1, 1)", "INSERT INTO doc.parts (a, p) VALUES (2, 2)",
				"CREATE BLOB TABLE pictures CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0)")
			c.Settled()
			read := func() model.Database {
				db := client.Observe(t.Context(), Target{Password: password, Readable: true, Pods: onePod})
				require.True(t, db.UnreadableKnown, "%v", db.Unread)
				return db
			}
			taken := 0
			takes := func(what string) bool {
				taken++
				s, err := client.Login(t.Context(), "pod-0", "system", password)
				require.NoError(t, err)
				defer s.Close()
				_, err = s.Exec(t.Context(), "CREATE SNAPSHOT r.s"+string(rune('a'+taken))+" "+what+" WITH (wait_for_completion = true)")
				return err == nil
			}
			db := read()
			assert.Empty(t, db.Unreadable)
			assert.Equal(t, []string{"doc.blocked", "doc.fine", "doc.parts", "doc.shut"}, db.Readable, "BLOB tables are in no snapshot")
			assert.Equal(t, []string{"pictures"}, db.Blobs)
			assert.True(t, takes("ALL"))

			c.Run("ALTER TABLE doc.parts PARTITION (p = 1) CLOSE")
			db = read()
			assert.Equal(t, []model.UnreadableTable{{Name: "doc.parts", Why: "closed", Partition: true}}, db.Unreadable)
			assert.True(t, takes("ALL"), "a closed partition is no matter for all tables")
			assert.False(t, takes("TABLE doc.parts"), "but for the table that is named")

			c.Run("ALTER TABLE doc.parts PARTITION (p = 1) OPEN")
			c.Settled() // OPEN does not wait for the shards that start again
			c.Run("ALTER TABLE doc.blocked SET (\"blocks.read\" = true)")
			assert.Equal(t, []model.UnreadableTable{{Name: "doc.blocked", Why: "blocks.read"}}, read().Unreadable)
			assert.False(t, takes("ALL"))
			c.Run("ALTER TABLE doc.blocked SET (\"blocks.read\" = false)", "ALTER TABLE doc.shut CLOSE")
			db = read()
			assert.Equal(t, []model.UnreadableTable{{Name: "doc.shut", Why: "closed"}}, db.Unreadable)
			assert.False(t, takes("ALL"))
			assert.True(t, takes("TABLE doc.fine, doc.parts, doc.blocked"), "without it one is taken")
		})
	}
}

// A listing that an executor asks for began after it was asked, and there is one at most.
func TestAnExecutorsListingIsNewAndTheOnlyOne(t *testing.T) {
	for _, version := range releases {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 1})
			client := Client{Dialer: c, Listings: &Listings{}, Timeout: patience, WriteTimeout: patience}
			short := client
			short.WriteTimeout = 3 * time.Second
			password := c.MakeSystem()
			c.Run("CREATE TABLE doc.t (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0)",
				"CREATE REPOSITORY r TYPE fs WITH (location = 'r')", "CREATE SNAPSHOT r.one ALL WITH (wait_for_completion = true)")
			names := func() (all []string) {
				rows, err := client.List(t.Context(), "pod-0", password)
				require.NoError(t, err)
				for _, r := range rows {
					assert.Equal(t, []string{"doc.t"}, r.Names)
					assert.Equal(t, model.SnapshotSuccess, r.State)
					assert.False(t, r.Unread())
					all = append(all, r.Name)
				}
				return all
			}
			assert.Equal(t, []string{"one"}, names())
			c.Run("CREATE SNAPSHOT r.two ALL WITH (wait_for_completion = true)")
			assert.ElementsMatch(t, []string{"one", "two"}, names(), "though a listing a moment ago had one")

			again := hang(t, c, "r")
			for range 3 {
				// A busy machine may use up the 3 s before it comes to the listing.
				require.Eventually(t, func() bool {
					_, err := short.List(t.Context(), "pod-0", password)
					return assert.Error(t, err) && errors.Is(err, errListing)
				}, patience, time.Millisecond)
				_, err := Client{Dialer: c, Timeout: patience, WriteTimeout: patience}.List(t.Context(), "pod-0", password)
				require.ErrorIs(t, err, errListing, "another process finds it")
			}
			assert.Equal(t, float64(1), c.Rows("SELECT count(*) FROM sys.jobs WHERE stmt = ?", snapshotsQuery)[0][0])
			again()
			require.Eventually(t, func() bool {
				rows, err := client.List(context.Background(), "pod-0", password)
				return err == nil && len(rows) == 2
			}, patience, 100*time.Millisecond)
		})
	}
}

// What a restore has come to, while it runs and when it has ended.
func TestAReadingSaysWhatARestoreHasComeTo(t *testing.T) {
	for _, version := range releases {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 1})
			client := Client{Dialer: c, Listings: &Listings{}, Timeout: patience, WriteTimeout: patience}
			password := c.MakeSystem()
			read := func() model.RestoreReading {
				db := client.Observe(t.Context(), Target{Password: password, Restore: true, Pods: onePod})
				require.True(t, db.Restore.Known, "%v", db.Unread)
				return db.Restore
			}
			assert.Empty(t, read().Tables)
			const one = " CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0)"
			c.Run("CREATE TABLE doc.a (a INT)"+one, "CREATE TABLE doc.b (a INT)"+one, "CREATE REPOSITORY r TYPE fs WITH (location = 'r')",
				"CREATE SNAPSHOT r.one ALL WITH (wait_for_completion = true)", "DROP TABLE doc.a", "DROP TABLE doc.b")
			assert.Empty(t, read().Tables)
			restore := func(tables string) model.Result {
				result, err := execute.Run(t.Context(), model.Action{
					Kind: model.ActionRestoreTables, Pod: "pod-0", SystemSecret: "system", Repository: "r", Snapshot: "one", SnapshotTables: tables, New: tables == "doc.a,doc.b",
				}, execute.Tools{Database: client, Snapshots: client, Secrets: oneSecret{"system": password}})
				require.NoError(t, err)
				return result
			}
			assert.Equal(t, model.ResultDone, restore("doc.a,doc.b").Code)
			c.Settled()
			assert.Equal(t, "the tables are being fetched already", restore("doc.a,doc.b").Message, "where the answer was lost")
			r := read()
			assert.ElementsMatch(t, []string{"doc.a", "doc.b"}, r.Tables)
			assert.Empty(t, r.Missing)
			assert.Empty(t, r.Running)
			c.Run("DROP TABLE doc.a", "CREATE TABLE doc.a (mine INT)"+one)
			c.Settled()
			assert.Equal(t, model.ResultRefused, restore("doc.a").Code, "somebody else's table of that name")
		})
	}
}

// What an executor looks at before CREATE SNAPSHOT: each node lists what runs, from the cluster state, and sys.jobs
// has nothing of a statement that does not wait.
func TestEachNodeListsASnapshotThatRuns(t *testing.T) {
	for _, version := range releases {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 3})
			client := Client{Dialer: c, Listings: &Listings{}, Timeout: patience, WriteTimeout: patience}
			password := c.MakeSystem()
			const name = "stevedore-daily-20260101t030000z"
			c.Run("CREATE TABLE doc.t (a TEXT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 0)",
				"INSERT INTO doc.t (a) VALUES ('"+strings.Join(strings.Split(strings.Repeat("a text of some length,", 2000), ","), "'), ('")+"')",
				"REFRESH TABLE doc.t", "CREATE REPOSITORY r TYPE fs WITH (location = 'r', max_snapshot_bytes_per_sec = '1kb')")
			c.Settled()
			s, err := client.Login(t.Context(), "pod-0", "system", password)
			require.NoError(t, err)
			defer s.Close()
			_, err = s.Exec(t.Context(), `CREATE SNAPSHOT r."`+name+`" ALL WITH (wait_for_completion = false)`)
			require.NoError(t, err)
			for _, n := range c.Nodes {
				c.Eventually("node "+n.Name+" lists it", func() bool {
					rows, err := client.List(t.Context(), n.Pod, password)
					return err == nil && len(rows) == 1 && rows[0].RunsOfOurs() && rows[0].Repository == "r"
				})
			}
			assert.Equal(t, float64(0), c.Rows("SELECT count(*) FROM sys.jobs WHERE lower(stmt) LIKE 'create snapshot%'")[0][0])
			c.Run(`DROP SNAPSHOT r."` + name + `"`)
		})
	}
}
