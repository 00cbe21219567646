package cratedb

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/model"
)

// releases are those that tests of facts run on.
var releases = []string{"6.4.3", "6.3.7"}

// observed is one reading in detail of a test cluster.
func observed(t *testing.T, c *testcluster.Cluster, password string) model.Database {
	t.Helper()
	target := Target{Password: password, Detailed: true}
	for _, n := range c.Nodes {
		if n.Running() {
			target.Pods = append(target.Pods, PodRef{Name: n.Pod, NodeName: n.Name})
		}
	}
	return Client{Dialer: c, Timeout: patience, WriteTimeout: patience}.Observe(t.Context(), target)
}

// A table that `system` may not see is in no view of its shards, its health or its
// settings, and only the privileges say so.
func TestAReadingKnowsWhatSystemIsDenied(t *testing.T) {
	for _, version := range releases {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 1})
			password := c.MakeSystem()
			c.Run(
				"CREATE TABLE secret.t (a INT) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = 0)",
				"CREATE TABLE doc.o (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0)",
				"CREATE ROLE auditor", "CREATE ROLE blinder", "CREATE ROLE reader", "GRANT ALL PRIVILEGES TO reader",
			)
			c.Settled()
			lacks := []model.Denial{}
			for _, p := range []string{"AL", "DDL", "DML", "DQL"} {
				lacks = append(lacks, model.Denial{Grantee: "system", Privilege: p, Class: "CLUSTER", Lacks: true})
			}
			for _, s := range []struct {
				name         string
				before, cure []string
				sees         bool
				denied       []model.Denial
			}{
				{"nothing", nil, nil, true, nil},
				{"a privilege on a schema", []string{"DENY DQL ON SCHEMA secret TO system"}, []string{`REVOKE DQL ON SCHEMA "secret" FROM "system"`}, false,
					[]model.Denial{{Grantee: "system", Privilege: "DQL", Class: "SCHEMA", Ident: "secret"}}},
				{"all on a table", []string{"DENY ALL ON TABLE secret.t TO system"}, []string{`REVOKE AL, DDL, DML, DQL ON TABLE "secret"."t" FROM "system"`}, false, []model.Denial{
					{Grantee: "system", Privilege: "AL", Class: "TABLE", Ident: "secret.t"}, {Grantee: "system", Privilege: "DDL", Class: "TABLE", Ident: "secret.t"},
					{Grantee: "system", Privilege: "DML", Class: "TABLE", Ident: "secret.t"}, {Grantee: "system", Privilege: "DQL", Class: "TABLE", Ident: "secret.t"}}},
				{"one on a table that a grant on another hides", []string{"GRANT DQL ON TABLE secret.t TO system", "DENY DML ON TABLE secret.t TO system"},
					[]string{`REVOKE DML ON TABLE "secret"."t" FROM "system"`, "REVOKE DQL ON TABLE secret.t FROM system"}, false,
					[]model.Denial{{Grantee: "system", Privilege: "DML", Class: "TABLE", Ident: "secret.t"}}},
				// CrateDB asks the user's own privileges first.
				{"by a role of a role, under a grant of its own", []string{"DENY DQL ON SCHEMA secret TO blinder", "GRANT blinder TO auditor", "GRANT auditor TO system"},
					[]string{`REVOKE DQL ON SCHEMA "secret" FROM "blinder"`}, true, []model.Denial{{Grantee: "blinder", Privilege: "DQL", Class: "SCHEMA", Ident: "secret"}}},
				{"by a role, with all that it has from another", []string{"DENY DQL ON SCHEMA secret TO blinder", "GRANT reader TO system", "REVOKE ALL FROM system"},
					[]string{"GRANT ALL PRIVILEGES TO system", `REVOKE DQL ON SCHEMA "secret" FROM "blinder"`}, false,
					[]model.Denial{{Grantee: "blinder", Privilege: "DQL", Class: "SCHEMA", Ident: "secret"}}},
				{"by nobody, and it lacks one", []string{"REVOKE reader, auditor FROM system", "REVOKE DML FROM system"}, []string{`GRANT DML TO "system"`}, true, lacks[2:3]},
				{"one on the cluster", []string{"DENY DML TO system"}, []string{`GRANT DML TO "system"`}, false,
					[]model.Denial{{Grantee: "system", Privilege: "DML", Class: "CLUSTER"}}},
				{"all that is left is well", nil, nil, true, nil},
			} {
				c.Run(s.before...)
				db := observed(t, c, password)
				require.Equal(t, model.Yes, db.Contact, "%s: %s", s.name, db.Error)
				assert.Empty(t, db.Unread, s.name)
				assert.True(t, db.DeniedKnown, s.name)
				assert.Equal(t, s.denied, db.Denied, s.name)
				sees := func(name string) bool {
					for _, table := range db.Tables {
						if table.Name == name {
							return true
						}
					}
					return false
				}
				assert.Equal(t, s.sees, sees("secret.t"), s.name)
				shards := 1
				if s.sees {
					shards = 3
				}
				if s.name == "one on the cluster" {
					shards = 0 // a DENY on the cluster hides all
				}
				assert.Equal(t, shards, db.Nodes[0].Shards, s.name)
				assert.Equal(t, model.Green, db.Health.Colour, "%s: what is seen is green", s.name)
				assert.Equal(t, model.Green, db.ClusterHealth.Colour, s.name)
				c.Run(s.cure...)
			}

			// Without DQL, or denied it on sys, not even the privileges can be read.
			for _, s := range []struct{ blind, cure string }{
				{"DENY DQL TO system", `GRANT DQL TO "system"`},
				{"DENY DQL ON SCHEMA sys TO system", `REVOKE DQL ON SCHEMA "sys" FROM "system"`},
				{"REVOKE ALL FROM system", "GRANT ALL PRIVILEGES TO system"},
			} {
				c.Run(s.blind)
				db := observed(t, c, password)
				assert.Equal(t, model.No, db.Contact, s.blind)
				assert.Equal(t, model.LoginOK, db.SystemLogin, s.blind)
				assert.True(t, db.DeniedKnown, s.blind)
				assert.Equal(t, []model.Denial{{Grantee: "system", Privilege: "DQL", Class: "SCHEMA", Ident: "sys"}}, db.Denied, s.blind)
				c.Run(s.cure)
			}
		})
	}
}

// sys.cluster_health counts what all tables lack, whoever asks.
func TestAReadingKnowsTheHealthOfTablesThatItDoesNotSee(t *testing.T) {
	for _, version := range releases {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 1})
			password := c.MakeSystem()
			c.Run(
				"CREATE TABLE secret.t (a INT) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = 1)",
				"CREATE TABLE doc.o (a INT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 1)",
			)
			c.Eventually("primaries are started", func() bool {
				return c.Rows("SELECT count(*) FROM sys.shards WHERE routing_state = 'STARTED'")[0][0] == float64(5)
			})
			db := observed(t, c, password)
			assert.Equal(t, model.Health{Colour: model.Yellow, Underreplicated: 5}, db.ClusterHealth)
			assert.Equal(t, int64(5), db.Health.Underreplicated, "all is seen")

			c.Run("DENY ALL ON SCHEMA secret TO system")
			db = observed(t, c, password)
			assert.Equal(t, model.Health{Colour: model.Yellow, Underreplicated: 5}, db.ClusterHealth)
			assert.Equal(t, int64(3), db.Health.Underreplicated)

			c.Run("ALTER TABLE doc.o SET (number_of_replicas = 0)")
			c.Eventually("what is seen is green", func() bool { db = observed(t, c, password); return db.Health.Colour == model.Green })
			assert.Equal(t, model.Health{Colour: model.Yellow, Underreplicated: 2}, db.ClusterHealth)
		})
	}
}
