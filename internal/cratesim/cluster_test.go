package cratesim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/cratesim/model"
	"stevedore.dev/stevedore/internal/loopback"
)

// world is a hub and the nodes of a test, each with an address of its own.
type world struct {
	t      *testing.T
	hub    *Hub
	socket string
	prefix string
	seeds  string
	dir    string
}

func newWorld(t *testing.T, o HubOptions) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "cratesim") // short: unix sockets have short names
	require.NoError(t, err)
	prefix, err := loopback.Subnet()
	require.NoError(t, err)
	w := &world{t: t, hub: NewHub(o), socket: filepath.Join(dir, "hub"), prefix: prefix, seeds: filepath.Join(dir, "seeds"), dir: dir}
	l, err := net.Listen("unix", w.socket)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.hub.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		_ = os.RemoveAll(dir)
	})
	return w
}

func (w *world) address(i int) string {
	return fmt.Sprintf("%s%d", w.prefix, 10+i)
}

type process struct {
	address string
	cancel  context.CancelFunc
	done    chan error
}

// start runs node i of version with crate-operator's settings and what is given besides.
func (w *world) start(i int, version string, expected int, initial string, more ...string) *process {
	w.t.Helper()
	addr := w.address(i)
	f, err := os.OpenFile(w.seeds, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(w.t, err)
	_, err = fmt.Fprintln(f, addr)
	require.NoError(w.t, err)
	require.NoError(w.t, f.Close())
	suffix := "_data_nodes"
	if v, _ := model.ParseVersion(version); !v.AtLeast(4, 7) {
		suffix = "_nodes"
	}
	args := []string{
		"-Cstats.enabled=true", "-Ccluster.name=crate-dev", fmt.Sprintf("-Cnode.name=data-hot-%d", i),
		"-Cdiscovery.seed_providers=srv", "-Cdiscovery.srv.query=_cluster._tcp.crate-discovery-c.ns.svc.cluster.local",
		fmt.Sprintf("-Cgateway.recover_after%s=%d", suffix, expected/2+1), fmt.Sprintf("-Cgateway.expected%s=%d", suffix, expected),
		"-Cauth.host_based.enabled=true", "-Cauth.host_based.config.0.user=crate", "-Cauth.host_based.config.0.address=_local_",
		"-Cauth.host_based.config.0.method=trust", "-Cauth.host_based.config.99.method=password",
		"-Cpath.data=/data/data0", "-Cblobs.path=/data/data0/blobs", "-Cprocessors=4", "-Cnode.master=true", "-Cnode.data=true", "-Cnode.attr.node_name=hot",
	}
	if initial != "" {
		args = append(args, "-Ccluster.initial_master_nodes="+initial)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{address: addr, cancel: cancel, done: make(chan error, 1)}
	cfg := NodeConfig{Hub: w.socket, Address: addr, Args: append(args, more...), Version: version, SeedFile: w.seeds,
		DataDir: filepath.Join(w.dir, fmt.Sprintf("data%d", i)), Volumes: w.dir, Env: []string{"CRATE_HEAP_SIZE=512m"}}
	go func() {
		err := RunNode(ctx, cfg)
		if err != nil {
			w.t.Logf("node %d: %v", i, err)
		}
		p.done <- err
	}()
	w.t.Cleanup(func() { cancel(); <-p.done; p.done <- nil })
	return p
}

// stop ends a node and waits for it.
func (p *process) stop() { p.cancel(); err := <-p.done; p.done <- err }

// patience ends what hangs.
const patience = 10 * time.Minute

// from is an HTTP client with a source address: the node's own is _local_.
func from(source string) *http.Client {
	d := &net.Dialer{}
	if source != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
	}
	return &http.Client{Timeout: patience, Transport: &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true}}
}

type answer struct {
	status int
	Cols   []string
	Rows   [][]any
	Count  int `json:"rowcount"`
	Error  struct {
		Message string
		Code    int
	}
	raw string
}

// post runs a statement over HTTP. user "" sends no credentials.
func post(address, source, user, password, stmt string, args ...any) (answer, error) {
	body, err := json.Marshal(map[string]any{"stmt": stmt, "args": args})
	if err != nil {
		return answer{}, err
	}
	req, err := http.NewRequest(http.MethodPost, "http://"+address+":4200/_sql?error_trace=true", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if user != "" {
		req.SetBasicAuth(user, password)
	}
	res, err := from(source).Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: res.StatusCode, raw: string(b)}
	if strings.HasPrefix(a.raw, "{") {
		err = json.Unmarshal(b, &a)
	}
	return a, err
}

// local runs a statement as crate from the node's own address.
func (w *world) local(p *process, stmt string, args ...any) answer {
	w.t.Helper()
	a, err := post(p.address, p.address, "", "", stmt, args...)
	require.NoError(w.t, err)
	return a
}

func (w *world) eventually(what string, f func() bool) {
	w.t.Helper()
	require.Eventually(w.t, f, patience, 20*time.Millisecond, what)
}

func (w *world) joined(p *process, n int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%d nodes joined", n), func() bool {
		a, err := post(p.address, p.address, "", "", "SELECT count(*) FROM sys.nodes")
		return err == nil && a.status == 200 && a.Rows[0][0] == float64(n)
	})
}

func quick() HubOptions {
	return HubOptions{Model: model.Options{Seed: 1, JoinDelay: 50 * time.Millisecond, ElectionDelay: 20 * time.Millisecond, RecoveryBase: 20 * time.Millisecond}, HoldLimit: 2 * time.Second}
}

const three = "data-hot-0,data-hot-1,data-hot-2"

func (w *world) three(version string) [3]*process {
	w.t.Helper()
	var out [3]*process
	for i := range out {
		out[i] = w.start(i, version, 3, three)
	}
	w.joined(out[0], 3)
	return out
}

func connect(t *testing.T, address, user, password string) (*pgx.Conn, error) {
	t.Helper()
	cfg, err := pgx.ParseConfig(fmt.Sprintf("postgres://%s:5432/doc?sslmode=prefer", address))
	require.NoError(t, err)
	cfg.User, cfg.Password = user, password
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err == nil {
		t.Cleanup(func() { _ = c.Close(context.Background()) })
	}
	return c, err
}

func TestThreeProcessesFormAClusterAndUsersLogIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quick())
	nodes := w.three("6.4.3")
	ctx := context.Background()

	a := w.local(nodes[0], "SELECT current_user")
	require.Equal(t, 200, a.status, a.raw)
	require.Equal(t, "crate", a.Rows[0][0])

	// A client from anywhere else is not local: the password entry asks crate in vain.
	a, err := post(nodes[0].address, "", "", "", "SELECT 1")
	require.NoError(t, err)
	require.Equal(t, 401, a.status, a.raw)
	res, err := from("").Get("http://" + nodes[0].address + ":4200/")
	require.NoError(t, err)
	require.Equal(t, 401, res.StatusCode)
	require.NoError(t, res.Body.Close())
	res, err = from(nodes[0].address).Get("http://" + nodes[0].address + ":4200/")
	require.NoError(t, err)
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Contains(t, string(b), `"ok":true`)
	require.Contains(t, string(b), `"number":"6.4.3"`)

	require.Equal(t, 200, w.local(nodes[0], `CREATE USER "system" WITH (password = 'once')`).status)
	require.Equal(t, 1, w.local(nodes[0], `ALTER USER "system" SET (password = $1)`, "s'ec\"ret").Count)
	a = w.local(nodes[1], `CREATE USER "system"`)
	require.Equal(t, 409, a.status)
	require.Equal(t, 4099, a.Error.Code)
	require.Equal(t, "RoleAlreadyExistsException[Role 'system' already exists]", a.Error.Message)
	require.Equal(t, 4, w.local(nodes[2], `GRANT ALL PRIVILEGES TO "system"`).Count)
	require.Equal(t, 0, w.local(nodes[2], `GRANT ALL PRIVILEGES TO "system"`).Count)

	_, err = connect(t, nodes[1].address, "system", "wrong")
	var pg *pgconn.PgError
	require.True(t, errors.As(err, &pg), "%v", err)
	require.Equal(t, "28000", pg.Code)
	require.Equal(t, `password authentication failed for user "system"`, pg.Message)

	c, err := connect(t, nodes[1].address, "system", "s'ec\"ret")
	require.NoError(t, err)
	require.NoError(t, c.Ping(ctx))
	_, err = c.Exec(ctx, `CREATE USER "anna"`)
	require.NoError(t, err)
	_, err = c.Exec(ctx, `ALTER USER "anna" SET (password = $1)`, "pw")
	require.NoError(t, err)
	tag, err := c.Exec(ctx, `GRANT ALL PRIVILEGES TO "anna"`)
	require.NoError(t, err)
	require.Equal(t, "GRANT 4", tag.String())
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeSimpleProtocol} {
		rows, err := c.Query(ctx, `SELECT name FROM sys.nodes WHERE name = ANY($1) ORDER BY name LIMIT 5`, mode, []string{"data-hot-0", "data-hot-2", "x"})
		require.NoError(t, err)
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err, mode.String())
		require.Equal(t, []string{"data-hot-0", "data-hot-2"}, names, mode.String())
	}
	_, err = connect(t, nodes[2].address, "anna", "pw")
	require.NoError(t, err)

	a = w.local(nodes[0], "SELECT stmt FROM sys.jobs_log WHERE stmt LIKE 'ALTER USER%'")
	require.NotEmpty(t, a.Rows)
	require.NotContains(t, a.raw, "s'ec")
}

// root is the status of GET / from the node's own address, 0 where nobody answers.
func (w *world) root(p *process) int {
	res, err := from(p.address).Get("http://" + p.address + ":4200/")
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}
