package sql

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// session is crate's on a cluster of one node with a table.
func session(tb testing.TB) *Session {
	tb.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := model.New(now, model.Options{})
	n, err := m.NodeStarted(model.NodeSpec{Name: "n0", ClusterName: "c", Address: "10.0.0.1", DataID: "v", Version: model.Version{Major: 6, Minor: 4, Hotfix: 3}, Master: true, Data: true})
	require.NoError(tb, err)
	m.Advance(now.Add(time.Minute))
	s := &Session{Engine: &Engine{Model: m}, Node: n, User: n.User("crate")}
	for _, stmt := range []string{"CREATE TABLE t (id INT PRIMARY KEY, s TEXT, o OBJECT, a ARRAY(TEXT), p TEXT) PARTITIONED BY (p)"} {
		_, err := s.Execute(stmt, nil)
		require.Nil(tb, err)
	}
	m.Advance(now.Add(2 * time.Minute))
	_, failed := s.Execute("INSERT INTO t (id, s, o, a, p) VALUES (1, 'x', {k = 'v'}, ['a'], 'p')", nil)
	if failed != nil { // the partition's shard is still on its way
		m.Advance(now.Add(3 * time.Minute))
		_, failed = s.Execute("INSERT INTO t (id, s, o, a, p) VALUES (1, 'x', {k = 'v'}, ['a'], 'p')", nil)
	}
	require.Nil(tb, failed)
	return s
}

// FuzzExecute holds that no statement makes the hub panic: one would end every node.
func FuzzExecute(f *testing.F) {
	for _, s := range []string{
		"SELECT id, o['k'], a[1], count(*), max(id) + 1 FROM t WHERE s LIKE 'x%' AND id = ANY($1) GROUP BY 1, 2, 3 ORDER BY 1 DESC LIMIT $2",
		"SELECT settings['cluster']['routing'], license FROM sys.cluster", "SELECT decisions['node_id'] FROM sys.allocations",
		"SELECT CASE a WHEN 1 THEN 2 END, -id, NOT true, '1'::int, id / 0, 5 % 2, [1][1], coalesce(NULL, 'a') FROM t",
		"UPDATE sys.node_checks SET acknowledged = true WHERE id = 1", "UPDATE t SET s = 'y' WHERE id = 1", "DELETE FROM t",
		"SET GLOBAL PERSISTENT cluster.routing.allocation.exclude._id = 'a', stats.enabled = false", "RESET GLOBAL stats",
		"CREATE TABLE u (a INT) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = '0-all')", "ALTER TABLE t PARTITION (p = 'p') SET (number_of_replicas = 2)",
		"CREATE USER x WITH (password = $1)", "GRANT DQL ON TABLE t TO x", "DROP USER IF EXISTS x", "ALTER TABLE t REROUTE MOVE SHARD 0 FROM 'n0' TO 'n0'",
		"SELECT a.b.c, \"Q\" FROM doc.t LIMIT -1 OFFSET 9", "INSERT INTO t VALUES (1, 2, 3, 4, 5)", "SHOW x", "SELECT sum(s), avg(id) FROM t",
	} {
		f.Add(s)
	}
	s := session(f)
	f.Fuzz(func(t *testing.T, stmt string) {
		for _, args := range [][]any{nil, {[]any{"a", int64(1)}, int64(1)}} {
			_, _ = s.Describe(stmt, nil)
			if s.User.Alive() != nil {
				s.User = s.Node.User("crate")
			}
			_, _ = s.Execute(stmt, args)
		}
	})
}
