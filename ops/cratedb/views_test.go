package cratedb

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testcluster"
)

// docs/views.md says of each view that is read whether a privilege filters it. Here each
// row is asked before and after `system` was denied a schema.
func TestWhichViewsAPrivilegeFilters(t *testing.T) {
	page, err := os.ReadFile("../../docs/views.md")
	require.NoError(t, err)
	views := []struct {
		name, query, filtered string
	}{
		{"sys.cluster", `SELECT count(*) FROM sys.cluster`, "no"},
		{"sys.nodes", `SELECT count(*) FROM sys.nodes`, "no"},
		{"sys.shards", `SELECT count(*) FROM sys.shards`, "yes"},
		{"sys.allocations", `SELECT count(*) FROM sys.allocations`, "yes"},
		{"sys.health", `SELECT count(*) FROM sys.health`, "yes"},
		{"sys.cluster_health", `SELECT underreplicated_shards FROM sys.cluster_health`, "no"},
		{"sys.node_checks", `SELECT count(*) FROM sys.node_checks`, "no"},
		{"sys.users", `SELECT count(*) FROM sys.users`, "no"},
		{"sys.roles", `SELECT count(*) FROM sys.roles`, "no"},
		{"sys.privileges", `SELECT count(*) FROM sys.privileges WHERE grantee = 'ada'`, "no"},
		{"sys.jobs", `SELECT count(*) FROM sys.jobs WHERE stmt LIKE '%FROM sys.jobs%'`, "no, with AL"},
		{"sys.repositories", `SELECT count(*) FROM sys.repositories`, "no"},
		{"sys.snapshots", `SELECT count(*) FROM sys.snapshots`, "no"},
		{"information_schema.tables", `SELECT count(*) FROM information_schema.tables WHERE table_schema IN ('doc', 'secret')`, "yes"},
		{"information_schema.table_partitions", `SELECT count(*) FROM information_schema.table_partitions`, "yes"},
	}
	for _, version := range releases {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 1})
			password := c.MakeSystem()
			c.Run(
				"CREATE TABLE doc.t (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 1)",
				"CREATE TABLE secret.t (a INT) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = 1)",
				"CREATE TABLE secret.p (a INT, b INT) CLUSTERED INTO 1 SHARDS PARTITIONED BY (b) WITH (number_of_replicas = 0)",
				"INSERT INTO secret.p (a, b) VALUES (1, 1)",
				"CREATE USER ada", "GRANT DQL TO ada", "CREATE ROLE auditor",
				"CREATE REPOSITORY nightly TYPE fs WITH (location = 'nightly')", "CREATE SNAPSHOT nightly.one ALL WITH (wait_for_completion = true)",
			)
			c.Eventually("primaries are started", func() bool {
				return c.Rows("SELECT count(*) FROM sys.shards WHERE routing_state = 'STARTED'")[0][0] == float64(4)
			})
			ask := func() map[string]string {
				s, err := Client{Dialer: c, Timeout: patience, WriteTimeout: patience}.Login(t.Context(), "pod-0", "system", password)
				require.NoError(t, err)
				defer s.Close()
				out := map[string]string{}
				for _, v := range views {
					rows, err := s.Strings(t.Context(), v.query)
					require.NoError(t, err, v.name)
					require.Len(t, rows, 1, v.name)
					out[v.name] = rows[0][0]
				}
				if c.Real {
					rows, err := s.Strings(t.Context(), "SHOW statement_timeout")
					require.NoError(t, err)
					assert.Equal(t, "31.5s", rows[0][0], "CrateDB ends a statement before we give up")
				}
				return out
			}
			before := ask()
			c.Run("DENY ALL ON SCHEMA secret TO system")
			after := ask()
			for _, v := range views {
				assert.NotEqual(t, "0", before[v.name], v.name)
				if v.filtered == "yes" {
					assert.NotEqual(t, before[v.name], after[v.name], v.name)
				} else {
					assert.Equal(t, before[v.name], after[v.name], v.name)
				}
				assert.True(t, strings.Contains(string(page), "| `"+v.name+"` | "+v.filtered+" |"), "docs/views.md says of %s: %s", v.name, v.filtered)
			}
		})
	}
}
