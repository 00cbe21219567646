package testcluster

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
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/cratehome"
	"stevedore.dev/stevedore/internal/cratesim"
	"stevedore.dev/stevedore/internal/cratesim/model"
)

// Node is one CrateDB process and its volume.
type Node struct {
	// Name is CrateDB's, Pod the name under which a dialer knows it.
	Name, Pod, Address string

	cluster *Cluster
	index   int
	founder bool
	own     []string
	stop    func(kill bool)
	// process is the process group of a real node; 0 for none.
	process int
}

// Folder is the node's volume on this machine: what a container sees as /data.
func (n *Node) Folder() string {
	return filepath.Join(n.cluster.dir, fmt.Sprintf("volume%d", n.index))
}

// Running says whether the process runs.
func (n *Node) Running() bool { return n.stop != nil }

// Start starts the process on its volume, with the cluster's Version.
func (n *Node) Start(arguments ...string) {
	t := n.cluster.t
	t.Helper()
	require.Nil(t, n.stop, "%s runs already", n.Name)
	args := append(n.arguments(), arguments...)
	if n.cluster.Real {
		n.startReal(args)
	} else {
		n.startSimulated(args)
	}
}

// Stop ends the process by TERM and waits for its end. The volume stays.
func (n *Node) Stop() { n.end(false) }

// Kill ends the process by KILL and waits for its end. The volume stays.
func (n *Node) Kill() { n.end(true) }

func (n *Node) end(kill bool) {
	if n.stop == nil {
		return
	}
	stop := n.stop
	n.stop = nil
	stop(kill)
}

// Freeze stops the process where it stands: it answers nobody, and its connections stay open,
// as on a machine that hangs. Real nodes only: a simulated one has no process of its own.
func (n *Node) Freeze() { n.signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (n *Node) Thaw() { n.signal(syscall.SIGCONT) }

func (n *Node) signal(s syscall.Signal) {
	t := n.cluster.t
	t.Helper()
	require.NotZero(t, n.process, "%s has no process", n.Name)
	require.NoError(t, syscall.Kill(-n.process, s))
}

// arguments are crate-operator's, as far as they matter here.
func (n *Node) arguments() []string {
	c := n.cluster
	expected := c.o.Nodes
	suffix := "_data_nodes"
	if v, _ := model.ParseVersion(c.Version); !v.AtLeast(4, 7) {
		suffix = "_nodes"
	}
	args := []string{
		"-Ccluster.name=crate-dev", "-Cnode.name=" + n.Name,
		fmt.Sprintf("-Cgateway.recover_after%s=%d", suffix, expected/2+1), fmt.Sprintf("-Cgateway.expected%s=%d", suffix, expected),
		"-Cauth.host_based.enabled=true", "-Cauth.host_based.config.0.user=crate", "-Cauth.host_based.config.0.address=" + n.local(),
		"-Cauth.host_based.config.0.method=trust", "-Cauth.host_based.config.99.method=password",
		"-Cnode.master=true", "-Cnode.data=true", "-Cdiscovery.seed_hosts=" + strings.Join(n.seeds(), ","),
	}
	if n.founder {
		var names []string
		for i := range c.o.Nodes {
			names = append(names, fmt.Sprintf("data-hot-%d", i))
		}
		args = append(args, "-Ccluster.initial_master_nodes="+strings.Join(names, ","))
	}
	if c.o.Arguments != nil {
		args = append(args, c.o.Arguments(n.index)...)
	}
	return append(args, n.own...)
}

// seeds are the addresses of all nodes that the cluster may have. A node without any would
// found a cluster of its own.
func (n *Node) seeds() []string {
	var all []string
	for i := range most {
		all = append(all, n.cluster.address(i)+":4300")
	}
	return all
}

// local is who counts as in the pod: with real nodes the node's own address, since
// _local_ is everybody on this machine; the simulator knows that by itself.
func (n *Node) local() string {
	if n.cluster.Real {
		return n.Address
	}
	return "_local_"
}

func (n *Node) startSimulated(args []string) {
	c := n.cluster
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := cratesim.RunNode(ctx, cratesim.NodeConfig{
			Hub: c.socket, Address: n.Address, Args: append(args, "-Cpath.data=/data/data0", "-Cpath.repo="+c.Repositories()), Version: c.Version,
			Env: []string{"CRATE_HEAP_SIZE=384m"}, DataDir: filepath.Join(n.Folder(), "data0"),
		})
		if err != nil && ctx.Err() == nil {
			c.t.Logf("%s: %v", n.Name, err)
		}
	}()
	n.stop = func(bool) { cancel(); <-done }
	c.t.Cleanup(func() { n.end(true) })
}

func (n *Node) startReal(args []string) {
	c, t := n.cluster, n.cluster.t
	home := release(t, os.Getenv(homeVariable), c.Version)
	logs := filepath.Join(c.dir, fmt.Sprintf("logs%d", n.index))
	args = append(args,
		"-Cnetwork.host="+n.Address, "-Chttp.port=4200", "-Ctransport.tcp.port=4300", "-Cpsql.port=5432",
		"-Cpath.data="+filepath.Join(n.Folder(), "data0"), "-Cpath.logs="+logs, "-Cpath.repo="+c.Repositories(),
	)
	owner, err := cratehome.Unprivileged()
	require.NoError(t, err)
	for _, folder := range []string{n.Folder(), logs, c.Repositories()} {
		require.NoError(t, os.MkdirAll(folder, 0o755))
		if owner != nil {
			require.NoError(t, os.Chown(folder, int(owner.ID), int(owner.Group)))
		}
	}
	output, err := os.OpenFile(filepath.Join(logs, "out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	cmd := exec.Command(filepath.Join(home, "bin", "crate"), args...)
	cmd.Dir = n.Folder()
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "CRATE_HEAP_SIZE=384m", "CRATE_DISABLE_GC_LOGGING=1", "HOME=" + n.Folder(),
		// Java's second compiler pays off after minutes, and no node here lives that long.
		"CRATE_JAVA_OPTS=-XX:TieredStopAtLevel=1 -Djava.io.tmpdir=" + logs,
	}
	if java := filepath.Join(home, "jdk"); isFolder(java) {
		cmd.Env = append(cmd.Env, "JAVA_HOME="+java)
	} else {
		cmd.Env = append(cmd.Env, "JAVA_HOME="+os.Getenv("JAVA_HOME"))
	}
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if owner != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: owner.ID, Gid: owner.Group}
	}
	require.NoError(t, cmd.Start())
	n.process = cmd.Process.Pid
	done := make(chan error, 1)
	go func() { done <- cmd.Wait(); _ = output.Close() }()
	n.stop = func(kill bool) {
		signal := syscall.SIGTERM
		if kill {
			signal = syscall.SIGKILL
		}
		_ = syscall.Kill(-cmd.Process.Pid, signal)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT) // one that is frozen takes no TERM
		n.process = 0
		select {
		case <-done:
		case <-time.After(time.Minute):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-done
			t.Errorf("%s did not end within a minute after %s", n.Name, signal)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(filepath.Join(logs, "out"))
			t.Logf("%s: %s", n.Name, text[max(0, len(text)-1500):])
		}
		n.end(true)
	})
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Repositories is a folder in which fs repositories may be; all nodes see it.
func (c *Cluster) Repositories() string { return filepath.Join(c.dir, "repositories") }

// Answer is what CrateDB answers over HTTP.
type Answer struct {
	Status   int
	Cols     []string
	Rows     [][]any
	RowCount int64 `json:"rowcount"`
	// Error is the zero value where there is none.
	Error struct {
		Message string
		Code    int
	}
}

// Rows are the rows of one statement of the superuser, run in the pod.
func (n *Node) Rows(statement string, arguments ...any) [][]any {
	t := n.cluster.t
	t.Helper()
	a, err := n.post("", "", statement, arguments...)
	require.NoError(t, err, statement)
	require.Equal(t, 200, a.Status, "%s: %s", statement, a.Error.Message)
	return a.Rows
}

// Ask runs one statement of the superuser in the pod, which may fail.
func (n *Node) Ask(statement string, arguments ...any) Answer {
	t := n.cluster.t
	t.Helper()
	a, err := n.post("", "", statement, arguments...)
	require.NoError(t, err, statement)
	return a
}

// As runs one statement of a user that comes from outside of the pod.
func (n *Node) As(user, password, statement string, arguments ...any) Answer {
	t := n.cluster.t
	t.Helper()
	a, err := n.post(user, password, statement, arguments...)
	require.NoError(t, err, statement)
	return a
}

// Try is As for a node that may not answer: the error is of the network.
func (n *Node) Try(user, password, statement string, arguments ...any) (Answer, error) {
	return n.post(user, password, statement, arguments...)
}

// post sends a statement; user "" is the superuser, who comes from the node's own address.
func (n *Node) post(user, password, statement string, arguments ...any) (Answer, error) {
	if arguments == nil {
		arguments = []any{}
	}
	body, err := json.Marshal(map[string]any{"stmt": statement, "args": arguments})
	if err != nil {
		return Answer{}, err
	}
	source := n.Address
	if user != "" {
		source = n.cluster.prefix + "200"
	}
	request, err := http.NewRequest(http.MethodPost, "http://"+n.Address+":4200/_sql", bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	if user == "" {
		user = "crate"
	}
	request.SetBasicAuth(user, password)
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	client := http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Status: response.StatusCode}
	if bytes.HasPrefix(text, []byte("{")) {
		err = json.Unmarshal(text, &a)
	} else if a.Status != 200 {
		a.Error.Message = string(text)
	} else {
		err = errors.New("the answer is no JSON")
	}
	a.Status = response.StatusCode
	return a, err
}
