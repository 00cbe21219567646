package cratedb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/cratesim"
	cratemodel "stevedore.dev/stevedore/internal/cratesim/model"
	"stevedore.dev/stevedore/internal/loopback"
	"stevedore.dev/stevedore/ops/execute"

	"stevedore.dev/stevedore/ops/model"
)

// patience ends what hangs.
const patience = 10 * time.Minute

// seeds gives each simulated cluster a seed of its own.
var seeds atomic.Uint64

// simulated is a cluster of simulated nodes and the ways to them: a dialer, an
// executor with a `crash` of its own, and Secrets.
type simulated struct {
	t       testing.TB
	dir     string
	hub     string
	net     string
	secrets map[string]string
	// commands that were run in pods, with their arguments.
	commands [][]string
	public   bool
	objects  execute.Objects
}

func simulate(t testing.TB, version string, nodes int) *simulated {
	t.Helper()
	dir, err := os.MkdirTemp("", "sim") // unix sockets have short names
	require.NoError(t, err)
	prefix, err := loopback.Subnet()
	require.NoError(t, err)
	s := &simulated{t: t, dir: dir, hub: filepath.Join(dir, "hub"), secrets: map[string]string{}, net: prefix}
	l, err := net.Listen("unix", s.hub)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	hub := cratesim.NewHub(cratesim.HubOptions{Model: cratemodel.Options{Seed: seeds.Add(1)}, HoldLimit: 500 * time.Millisecond})
	go func() { done <- hub.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = os.RemoveAll(dir)
	})
	for i := range nodes {
		s.start(i, version, nodes, nodes)
	}
	return s
}

func (s *simulated) start(i int, version string, expected, initial int, own ...string) {
	suffix := "_data_nodes"
	if strings.HasPrefix(version, "4.4") {
		suffix = "_nodes"
	}
	names := make([]string, initial)
	for n := range names {
		names[n] = "data-hot-" + strconv.Itoa(n)
	}
	args := []string{
		"-Ccluster.name=crate-dev", "-Cnode.name=data-hot-" + strconv.Itoa(i),
		"-Cgateway.recover_after" + suffix + "=" + strconv.Itoa(expected/2+1), "-Cgateway.expected" + suffix + "=" + strconv.Itoa(expected),
		"-Cauth.host_based.enabled=true", "-Cauth.host_based.config.0.user=crate", "-Cauth.host_based.config.0.address=_local_",
		"-Cauth.host_based.config.0.method=trust", "-Cauth.host_based.config.99.method=password",
		"-Cpath.data=/data/data0", "-Cnode.master=true", "-Cnode.data=true", "-Cnode.attr.zone=z" + strconv.Itoa(i%3),
		"-Ccluster.initial_master_nodes=" + strings.Join(names, ","),
	}
	args = append(args, own...)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := cratesim.RunNode(ctx, cratesim.NodeConfig{
			Hub: s.hub, Address: s.address(i), Args: args, Version: version, Env: []string{"CRATE_HEAP_SIZE=512m"},
			DataDir: filepath.Join(s.dir, "data"+strconv.Itoa(i)),
		})
		if err != nil && ctx.Err() == nil {
			s.t.Errorf("node %d: %v", i, err)
		}
	}()
	s.t.Cleanup(func() { cancel(); <-done })
	require.Eventually(s.t, func() bool {
		c, err := net.Dial("tcp", s.address(i)+":5432")
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, patience, 10*time.Millisecond)
}

func (s *simulated) address(i int) string { return s.net + strconv.Itoa(10+i) }

func (s *simulated) podAddress(pod string) string {
	i, err := strconv.Atoi(pod[strings.LastIndexByte(pod, '-')+1:])
	require.NoError(s.t, err)
	return s.address(i)
}

func (s *simulated) Private() bool { return !s.public }

// DialPod comes from an address that is no node's, as the daemon does.
func (s *simulated) DialPod(ctx context.Context, pod string, port int) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(s.net + "200")}}
	return d.DialContext(ctx, "tcp", s.podAddress(pod)+":"+strconv.Itoa(port))
}

// Exec is `crash` in a pod: it comes from the node's own address.
func (s *simulated) Exec(ctx context.Context, pod, container string, command []string, stdin io.Reader) (string, string, int, error) {
	s.commands = append(s.commands, command)
	if container != "crate" || command[0] != "crash" {
		return "", "no such command", 127, nil
	}
	statement, err := io.ReadAll(stdin)
	if err != nil {
		return "", "", 0, err
	}
	own := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(s.podAddress(pod))}}
	client := http.Client{Transport: &http.Transport{DialContext: own.DialContext, DisableKeepAlives: true}}
	body, err := json.Marshal(map[string]string{"stmt": strings.TrimSuffix(strings.TrimSpace(string(statement)), ";")})
	if err != nil {
		return "", "", 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.podAddress(pod)+":4200/_sql", bytes.NewReader(body))
	if err != nil {
		return "", "", 0, err
	}
	request.Header.Set("X-User", "crate")
	answer, err := client.Do(request)
	if err != nil {
		return "", "", 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	var out struct {
		Error struct{ Message string }
		Cols  []string
		Rows  [][]any
	}
	if err := json.NewDecoder(answer.Body).Decode(&out); err != nil {
		return "", "", 0, err
	}
	if out.Error.Message != "" {
		return "CONNECT OK\n", out.Error.Message + "\n", 1, nil
	}
	printed := make([]map[string]any, len(out.Rows))
	for i, row := range out.Rows {
		printed[i] = map[string]any{}
		for j, name := range out.Cols {
			printed[i][name] = row[j]
		}
	}
	text, err := json.MarshalIndent(printed, "", "  ")
	return "CONNECT OK\n" + string(text) + "\n", "", 0, err
}

func (s *simulated) Get(_ context.Context, name string) (map[string][]byte, model.SecretVersion, error) {
	value, ok := s.secrets[name]
	if !ok {
		return nil, model.SecretVersion{}, execute.ErrNotFound
	}
	return map[string][]byte{"password": []byte(value)}, model.SecretVersion{UID: name, ResourceVersion: "1"}, nil
}

func (s *simulated) tools() execute.Tools {
	n := 0
	return execute.Tools{
		Objects: s.objects, Secrets: s, Database: Client{Dialer: s, Timeout: patience, WriteTimeout: patience}, Crash: Crash{Executor: s},
		Password: func() (string, error) { n++; return fmt.Sprintf("one-time-%d", n), nil },
	}
}

func (s *simulated) run(a model.Action) (model.Result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if a.Pod == "" {
		a.Pod = "pod-0"
	}
	a.SystemSecret = "system"
	a.Secret.Key = "password"
	return execute.Run(ctx, a, s.tools())
}

func (s *simulated) observe(pods int) model.Database {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	target := Target{Password: s.secrets["system"]}
	for i := range pods {
		target.Pods = append(target.Pods, PodRef{Name: "pod-" + strconv.Itoa(i), NodeName: "data-hot-" + strconv.Itoa(i)})
	}
	return Client{Dialer: s, Timeout: patience, WriteTimeout: patience}.Observe(ctx, target)
}
