package cratesim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

func (w *world) id(p *process, what string) string {
	w.t.Helper()
	a := w.local(p, "SELECT "+what)
	require.Equal(w.t, 200, a.status, a.raw)
	return a.Rows[0][0].(string)
}

func TestAVolumeKeepsItsNodeAndItsTables(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quick())
	nodes := w.three("6.4.3")
	id := w.id(nodes[2], "id FROM sys.nodes WHERE name = 'data-hot-2'")
	cluster := w.id(nodes[2], "id FROM sys.cluster")
	require.Equal(t, 200, w.local(nodes[0], "CREATE TABLE t (id INT) CLUSTERED INTO 6 SHARDS WITH (number_of_replicas = 0)").status)
	require.Equal(t, 1, w.local(nodes[0], "INSERT INTO t (id) VALUES (?)", 7).Count)
	nodes[2].stop()
	w.joined(nodes[0], 2)
	a := w.local(nodes[0], "SELECT id FROM t")
	require.Equal(t, 5002, a.Error.Code, a.raw)
	require.Regexp(t, `^UnavailableShardsException\[\[doc.t\] shard \d is not available\]$`, a.Error.Message)

	again := w.start(2, "6.4.3", 3, "")
	w.joined(again, 3)
	require.Equal(t, id, w.id(again, "id FROM sys.nodes WHERE name = 'data-hot-2'"))
	require.Equal(t, cluster, w.id(again, "id FROM sys.cluster"))
	w.eventually("the table is back", func() bool { return w.local(again, "SELECT id FROM t").status == 200 })

	again.stop()
	require.NoError(t, os.RemoveAll(filepath.Join(w.dir, "data2")))
	fresh := w.start(2, "6.4.3", 3, "")
	w.joined(fresh, 3)
	require.NotEqual(t, id, w.id(fresh, "id FROM sys.nodes WHERE name = 'data-hot-2'"))
	require.Equal(t, "RED", w.id(fresh, "health FROM sys.health"))
}

func TestAFreshVolumeThatNamesOnlyItselfFoundsASecondCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quick())
	nodes := w.three("6.4.3")
	stray := w.start(3, "6.4.3", 1, "data-hot-3")
	w.eventually("it is ready", func() bool { return w.root(stray) == 200 })
	require.NotEqual(t, w.id(nodes[0], "id FROM sys.cluster"), w.id(stray, "id FROM sys.cluster"))
	require.EqualValues(t, 3, w.local(nodes[0], "SELECT count(*) FROM sys.nodes").Rows[0][0])
}

func TestAGrownNodeJoinsAndItsCheckIsAcknowledged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quick())
	nodes := w.three("6.4.3")
	fourth := w.start(3, "6.4.3", 4, "")
	w.joined(nodes[0], 4)
	open := "SELECT count(*) FROM sys.node_checks WHERE id = 1 AND acknowledged = FALSE AND passed = FALSE"
	require.EqualValues(t, 3, w.local(nodes[0], open).Rows[0][0], "the old three still expect three")
	require.Equal(t, 4, w.local(nodes[1], "UPDATE sys.node_checks SET acknowledged = TRUE WHERE id = 1").Count)
	require.EqualValues(t, 0, w.local(nodes[0], open).Rows[0][0])
	fourth.stop()
	w.joined(nodes[0], 3)
}

func TestStatementsThatCrateDBHoldsGoOnWhenTheCauseIsGone(t *testing.T) {
	t.Parallel()
	o := quick()
	o.HoldLimit = 20 * time.Second
	w := newWorld(t, o)
	a := w.start(0, "6.4.3", 5, three)
	w.start(1, "6.4.3", 5, three)
	w.joined(a, 2)
	got := make(chan answer, 1)
	go func() {
		r, err := post(a.address, a.address, "", "", `CREATE USER "system"`)
		if err != nil {
			r.raw = err.Error()
		}
		got <- r
	}()
	select {
	case r := <-got:
		t.Fatalf("answered before recovery: %s", r.raw)
	case <-time.After(300 * time.Millisecond): // long enough to be wrong, not to be right
	}
	for i := 2; i < 5; i++ {
		w.start(i, "6.4.3", 5, three)
	}
	r := <-got
	require.Equal(t, 200, r.status, r.raw)
}

func TestWhatCrateDBRefusesAtItsStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quick())
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an unknown setting":      {[]string{"-Ccluster.nane=x"}, "unknown setting [cluster.nane]"},
		"TLS between nodes":       {[]string{"-Cssl.transport.mode=on"}, "know no TLS between them"},
		"TLS without a keystore":  {[]string{"-Cssl.http.enabled=true"}, "Failed to build SSL configuration"},
		"a variable not there":    {[]string{"-Cssl.keystore_password=${NOBODY_SET_THIS}"}, "Could not resolve placeholder"},
		"a value of a wrong type": {[]string{"-Cgateway.expected_data_nodes=many"}, "Failed to parse value [many]"},
		"an empty value":          {[]string{"-Cnode.name="}, "setting [node.name] must not be empty"},
		"an option":               {[]string{"--force"}, "is not a recognized option"},
	} {
		t.Run(name, func(t *testing.T) {
			err := RunNode(context.Background(), NodeConfig{Hub: w.socket, Address: w.address(9), Version: "6.4.3", Args: c.args, DataDir: t.TempDir()})
			require.ErrorIs(t, err, ErrRefused)
			require.ErrorContains(t, err, c.want)
		})
	}
	t.Run("a downgrade across a minor", func(t *testing.T) {
		p := w.start(0, "6.4.3", 1, "data-hot-0")
		w.joined(p, 1)
		p.stop()
		back := w.start(0, "6.3.7", 1, "data-hot-0")
		err := <-back.done
		back.done <- err
		require.ErrorContains(t, err, "cannot downgrade a node from version [6.4.3] to version [6.3.7]")
	})
}

func TestSessionsOverThePostgreSQLProtocol(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quick())
	nodes := w.three("6.4.3")
	ctx := context.Background()
	for _, stmt := range []string{"CREATE USER u1 WITH (password = 'p')", "GRANT ALL PRIVILEGES TO u1", "CREATE USER u2 WITH (password = 'p')",
		"CREATE TABLE kinds (i INT, b BIGINT, d DOUBLE PRECISION, t TEXT, f BOOLEAN, ts TIMESTAMP WITH TIME ZONE, a ARRAY(TEXT), o OBJECT) WITH (number_of_replicas = 0)"} {
		require.Equal(t, 200, w.local(nodes[0], stmt).status, stmt)
	}
	c, err := connect(t, nodes[0].address, "u1", "p")
	require.NoError(t, err)

	now := time.UnixMilli(1700000000123).UTC()
	_, err = c.Exec(ctx, "INSERT INTO kinds (i, b, d, t, f, ts, a, o) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		int32(1), int64(1)<<60, 2.5, "x'y", true, now, []string{"a", "b c", `q"`}, map[string]any{"k": "v"})
	require.NoError(t, err)
	var (
		i   int32
		b   int64
		d   float64
		s   string
		f   bool
		ts  time.Time
		arr []string
		o   map[string]any
	)
	require.NoError(t, c.QueryRow(ctx, "SELECT i, b, d, t, f, ts, a, o FROM kinds").Scan(&i, &b, &d, &s, &f, &ts, &arr, &o))
	require.Equal(t, []any{int32(1), int64(1) << 60, 2.5, "x'y", true, now, []string{"a", "b c", `q"`}, map[string]any{"k": "v"}}, []any{i, b, d, s, f, ts.UTC(), arr, o})

	// An error of the extended protocol leaves the transaction status E behind.
	_, err = c.Exec(ctx, "SELECT nope FROM sys.nodes WHERE name = $1", "x")
	var pg *pgconn.PgError
	require.True(t, errors.As(err, &pg))
	require.Equal(t, "42703", pg.Code)
	require.EqualValues(t, 'E', c.PgConn().TxStatus())
	require.NoError(t, c.QueryRow(ctx, "SELECT 1").Scan(&i), "and the connection goes on")

	// A password change leaves open sessions alone, DROP USER does not.
	require.Equal(t, 1, w.local(nodes[0], "ALTER USER u1 SET (password = 'q')").Count)
	require.NoError(t, c.QueryRow(ctx, "SELECT 1").Scan(&i))
	require.Equal(t, 1, w.local(nodes[0], "DROP USER u1").Count)
	_, err = c.Exec(ctx, "SELECT 1")
	require.ErrorContains(t, err, `User "u1" was dropped`)

	// What a user has no privilege on is hidden.
	weak, err := connect(t, nodes[0].address, "u2", "p")
	require.NoError(t, err)
	_, err = weak.Exec(ctx, "SELECT count(*) FROM sys.health")
	require.ErrorContains(t, err, "Schema 'sys' unknown")
	require.Equal(t, 1, w.local(nodes[0], "GRANT DQL ON SCHEMA sys TO u2").Count)
	var n int64
	require.NoError(t, weak.QueryRow(ctx, "SELECT count(*) FROM sys.health").Scan(&n))
	require.Zero(t, n)
	require.NoError(t, weak.QueryRow(ctx, "SELECT count(*) FROM sys.shards").Scan(&n))
	require.Zero(t, n)

	// The process ends, and with it its connections.
	nodes[0].stop()
	_, err = weak.Exec(ctx, "SELECT 1")
	require.Error(t, err)
}

func TestPingIsAParseErrorBefore63(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{"6.2.6": false, "6.3.7": true} {
		w := newWorld(t, quick())
		p := w.start(0, version, 1, "data-hot-0")
		w.joined(p, 1)
		require.Equal(t, 200, w.local(p, "CREATE USER u WITH (password = 'p')").status)
		c, err := connect(t, p.address, "u", "p")
		require.NoError(t, err)
		if err := c.Ping(context.Background()); ok {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "mismatched input '<EOF>'")
		}
	}
}

func TestPsqlLogsInAndSelects(t *testing.T) {
	t.Parallel()
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("psql is not installed: it runs where Debian's postgresql-client is; pgx logs in over the same protocol in every run")
	}
	w := newWorld(t, quick())
	p := w.start(0, "6.4.3", 1, "data-hot-0")
	w.joined(p, 1)
	for _, stmt := range []string{"CREATE USER u WITH (password = 'p')", "GRANT ALL PRIVILEGES TO u"} {
		require.Equal(t, 200, w.local(p, stmt).status)
	}
	cmd := exec.Command(psql, "-X", "-At", "-h", p.address, "-U", "u", "-d", "doc", "-c", "SELECT name, current_user FROM sys.nodes")
	cmd.Env = append(os.Environ(), "PGPASSWORD=p")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "data-hot-0|u", strings.TrimSpace(string(out)))
}

func TestDecommissionEndsTheProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quick())
	nodes := w.three("6.4.3")
	require.Equal(t, 1, w.local(nodes[0], "ALTER CLUSTER DECOMMISSION 'data-hot-2'").Count)
	err := <-nodes[2].done
	nodes[2].done <- err
	require.NoError(t, err)
	w.joined(nodes[0], 2)
}

func TestADiskFillsByInjection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quick())
	p := w.start(0, "6.4.3", 1, "data-hot-0")
	w.joined(p, 1)
	w.hub.Do(func(m *model.Model) {
		size, _ := m.Nodes()[0].Disk()
		m.SetDiskUsed(m.Nodes()[0], size/100*87)
	})
	require.EqualValues(t, 0, w.local(p, "SELECT count(*) FROM sys.node_checks WHERE id = 6 AND passed").Rows[0][0])
}

func TestBulkArguments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quick())
	p := w.start(0, "6.4.3", 1, "data-hot-0")
	w.joined(p, 1)
	require.Equal(t, 200, w.local(p, "CREATE TABLE t (id INT PRIMARY KEY)").status)
	res, err := from(p.address).Post("http://"+p.address+":4200/_sql?types", "application/json",
		strings.NewReader(`{"stmt":"INSERT INTO t (id) VALUES (?)","bulk_args":[[1],[2],[1]]}`))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.NoError(t, res.Body.Close())
	require.EqualValues(t, 2, w.local(p, "SELECT count(*) FROM t").Rows[0][0])
}

func TestInsertOfWhatASelectFinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quick())
	p := w.start(0, "6.4.3", 1, "data-hot-0")
	w.joined(p, 1)
	require.Equal(t, 200, w.local(p, "CREATE TABLE source (n INT PRIMARY KEY)").status)
	require.Equal(t, 200, w.local(p, "CREATE TABLE t (id TEXT PRIMARY KEY, batch BIGINT)").status)
	require.Equal(t, 3, w.local(p, "INSERT INTO source (n) VALUES (1), (2), (3)").Count)
	require.Equal(t, 1, w.local(p, "INSERT INTO t (id, batch) VALUES ('7-2', 7)").Count)
	into := "INSERT INTO t (id, batch) (SELECT '7-' || n, 7 FROM source) ON CONFLICT DO NOTHING"
	require.Equal(t, 2, w.local(p, into).Count, "what is there already does not count")
	require.Equal(t, 0, w.local(p, into).Count)
	require.EqualValues(t, 3, w.local(p, "SELECT count(*) FROM t WHERE batch = 7").Rows[0][0])
}

// Who counts what was acknowledged by the answer's status counts too much.
func TestAnInsertOfASelectAnswersWithTheRowsThatCouldBeWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quick())
	nodes := w.three("6.4.3")
	require.Equal(t, 200, w.local(nodes[0], "CREATE TABLE source (n INT PRIMARY KEY) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 2)").status)
	require.Equal(t, 200, w.local(nodes[0], "CREATE TABLE t (id TEXT PRIMARY KEY) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 0)").status)
	w.eventually("all is green", func() bool {
		return len(w.local(nodes[0], "SELECT health FROM sys.health WHERE health <> 'GREEN'").Rows) == 0
	})
	for n := range 40 {
		require.Equal(t, 1, w.local(nodes[0], fmt.Sprintf("INSERT INTO source (n) VALUES (%d)", n)).Count)
	}
	nodes[2].stop()
	w.joined(nodes[0], 2)
	a := w.local(nodes[0], "INSERT INTO t (id) (SELECT 'row ' || n FROM source)")
	require.Equal(t, 200, a.status, a.raw)
	require.Greater(t, a.Count, 0)
	require.Less(t, a.Count, 40)
	again := w.start(2, "6.4.3", 3, "")
	w.joined(again, 3)
	w.eventually("the table is back", func() bool { return w.local(again, "SELECT id FROM t").status == 200 })
	require.EqualValues(t, a.Count, w.local(again, "SELECT count(*) FROM t").Rows[0][0])
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quick())
	p := w.start(0, "6.4.3", 1, "data-hot-0")
	w.joined(p, 1)
	require.Equal(t, 200, w.local(p, "CREATE BLOB TABLE files").status)
	const digest = "a9993e364706816aba3e25717850c26c9cd0d89d" // of abc
	send := func(method, path, body string) int {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.address+":4200/_blobs/"+path, strings.NewReader(body))
		require.NoError(t, err)
		response, err := from(p.address).Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.Equal(t, 404, send("HEAD", "files/"+digest, ""))
	require.Equal(t, 400, send("PUT", "files/"+digest, "abd"))
	require.Equal(t, 201, send("PUT", "files/"+digest, "abc"))
	require.Equal(t, 409, send("PUT", "files/"+digest, "abc"))
	require.Equal(t, 200, send("HEAD", "files/"+digest, ""))
	require.Equal(t, 404, send("PUT", "none/"+digest, "abc"))
	require.EqualValues(t, 1, w.local(p, "SELECT count(*) FROM blob.files").Rows[0][0])
}
