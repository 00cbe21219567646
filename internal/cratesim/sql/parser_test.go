package sql

import (
	"testing"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

func TestWhatParses(t *testing.T) {
	v6, v52, v53, v62 := model.Version{Major: 6, Minor: 4, Hotfix: 3}, model.Version{Major: 5, Minor: 2}, model.Version{Major: 5, Minor: 3}, model.Version{Major: 6, Minor: 2}
	for _, c := range []struct {
		stmt    string
		version model.Version
		want    string // of the error; "" parses
	}{
		{"SELECT 1;", v6, ""},
		{"select /* c */ a.b['c'], \"Q\" from doc.t as a -- end", v6, ""},
		{"SELECT a FROM t WHERE x IS NOT NULL AND NOT y IN (1,2) OR z BETWEEN 1 AND 2 GROUP BY 1 HAVING count(*) > 1 ORDER BY a DESC NULLS LAST LIMIT 3 OFFSET 1", v6, ""},
		{"SELECT CASE WHEN a THEN 1 ELSE 2 END FROM t", v6, ""},
		{"-- ping", v62, "mismatched input '<EOF>'"},
		{"-- ping", v6, ""},
		{"SET LICENSE 'k'", v52, ""},
		{"SET LICENSE 'k'", v53, "line 1:13: missing {'TO', '='} at ''k''"},
		{"VACUUM", v6, "mismatched input 'VACUUM'"},
		{"SELECT 'a", v6, "mismatched input"},
		{"SELECT 1 1", v6, "mismatched input '1'"},
		{"SELECT a FROM (SELECT 1)", v6, "mismatched input"},
		{"SELECT a FROM t, u", v6, "joins are not supported"},
		{"ROLLBACK", v6, "mismatched input 'ROLLBACK'"},
		{"SET GLOBAL indices.breaker.query.limit = '1%'", v6, "mismatched input 'limit'"},
		{"SET GLOBAL PERSISTENT \"indices.breaker.query.limit\" = '1%', x.y = 1", v6, ""},
		{"CREATE TABLE IF NOT EXISTS a.b (id INT PRIMARY KEY, o OBJECT(DYNAMIC), l ARRAY(TEXT), PRIMARY KEY (id)) CLUSTERED BY (id) INTO 3 SHARDS PARTITIONED BY (id) WITH (number_of_replicas = '0-1', \"routing.allocation.exclude._name\" = 'x')", v6, ""},
		{"ALTER TABLE t PARTITION (p = 'a') SET (number_of_replicas = 1)", v6, ""},
		{"ALTER TABLE t REROUTE MOVE SHARD 0 FROM 'a' TO 'b'", v6, ""},
		{"GRANT DQL, DML ON SCHEMA doc, sys TO a, \"b c\"", v6, ""},
		{"GRANT somerole TO a", v6, ""},
	} {
		t.Run(c.stmt, func(t *testing.T) {
			_, _, err := parse(c.stmt, c.version)
			if c.want == "" {
				require.Nil(t, err)
				return
			}
			require.NotNil(t, err)
			require.Contains(t, err.Message, c.want)
			require.Equal(t, 400, err.HTTP)
		})
	}
}

func TestSplit(t *testing.T) {
	require.Equal(t, []string{"SELECT ';'", " SELECT 2"}, Split("SELECT ';'; SELECT 2;"))
	require.Equal(t, []string{""}, Split(""))
}

func TestArrays(t *testing.T) {
	for in, want := range map[string][]any{
		`{}`: {}, `{a,b}`: {"a", "b"}, `{"a,b",NULL,"q\"x"}`: {"a,b", nil, `q"x`}, `["a"]`: {"a"},
	} {
		got, ok := ParseArray(in)
		require.True(t, ok, in)
		require.Equal(t, want, got, in)
	}
	_, ok := ParseArray("a,b")
	require.False(t, ok)
}
