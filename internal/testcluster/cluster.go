// Package testcluster starts CrateDB nodes on loopback addresses for tests of
// facts about CrateDB: real ones where CRATEDB_HOME names a release or a folder
// of releases, else simulated ones. A test that passes on both says that the
// simulator tells the truth.
package testcluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/cratesim"
	"stevedore.dev/stevedore/internal/cratesim/model"
	"stevedore.dev/stevedore/internal/loopback"
)

// homeVariable names a release of CrateDB, or a folder with one for each version.
const homeVariable = "CRATEDB_HOME"

// most nodes of a cluster: so many addresses are seeds.
const most = 9

// Options describe a cluster. The zero value is three nodes of 6.4.3.
type Options struct {
	// Version is a release; "" is 6.4.3. A test whose release is not there is skipped
	// where CRATEDB_HOME is set.
	Version string
	// Nodes are how many start at once; 0: 3.
	Nodes int
	// Arguments are those of node i, without its name and addresses:
	// "-Cnode.attr.zone=a". nil: none.
	Arguments func(i int) []string
	// Simulator are the options of the simulator, where the nodes are simulated.
	Simulator cratesim.HubOptions
}

// Cluster is a running cluster. Its nodes are called data-hot-0 and so on, in pods
// pod-0 and so on.
type Cluster struct {
	// Real is true where the nodes are real ones.
	Real bool
	// Hub is the simulator's; nil where the nodes are real.
	Hub *cratesim.Hub
	// Nodes in the order in which they were added.
	Nodes []*Node
	// Version that nodes are started with from now on.
	Version string

	t      testing.TB
	o      Options
	home   string
	dir    string
	socket string
	prefix string
}

// IsReal says whether CRATEDB_HOME asks for real nodes.
func IsReal() bool { return os.Getenv(homeVariable) != "" }

// Start starts a cluster, waits until its gateway has recovered and every node has
// joined, and ends it with the test.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	if o.Version == "" {
		o.Version = "6.4.3"
	}
	if o.Nodes == 0 {
		o.Nodes = 3
	}
	c := &Cluster{t: t, o: o, Real: IsReal(), Version: o.Version}
	if c.Real {
		c.home = release(t, os.Getenv(homeVariable), o.Version)
	}
	var err error
	c.prefix, err = loopback.Subnet()
	require.NoError(t, err)
	c.dir, err = os.MkdirTemp("", "tc") // unix sockets have short names
	require.NoError(t, err)
	require.NoError(t, os.Chmod(c.dir, 0o711)) // real nodes run as somebody else
	t.Cleanup(func() { _ = os.RemoveAll(c.dir) })
	if !c.Real {
		c.serveHub()
	}
	for i := range o.Nodes {
		c.Nodes = append(c.Nodes, &Node{Name: fmt.Sprintf("data-hot-%d", i), Pod: fmt.Sprintf("pod-%d", i), Address: c.address(i), cluster: c, index: i, founder: true})
	}
	for _, n := range c.Nodes {
		n.Start()
	}
	c.Joined(o.Nodes)
	return c
}

// serveHub starts the simulator's hub.
func (c *Cluster) serveHub() {
	c.socket = filepath.Join(c.dir, "hub")
	l, err := net.Listen("unix", c.socket)
	require.NoError(c.t, err)
	o := c.o.Simulator
	if o.Model == (model.Options{}) {
		o.Model = model.Options{Seed: 1, JoinDelay: 50 * time.Millisecond, ElectionDelay: 20 * time.Millisecond, RecoveryBase: 20 * time.Millisecond}
	}
	c.Hub = cratesim.NewHub(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Hub.Serve(ctx, l) }()
	c.t.Cleanup(func() { cancel(); <-done })
}

func (c *Cluster) address(i int) string { return fmt.Sprintf("%s%d", c.prefix, 10+i) }

// Add starts one more node, with an empty volume, and does not wait until it has joined.
func (c *Cluster) Add(arguments ...string) *Node {
	c.t.Helper()
	return c.AddNamed(fmt.Sprintf("data-hot-%d", len(c.Nodes)), arguments...)
}

// AddNamed is Add of a node whose name is not that of its place.
func (c *Cluster) AddNamed(name string, arguments ...string) *Node {
	c.t.Helper()
	i := len(c.Nodes)
	require.Less(c.t, i, most, "more nodes than have addresses")
	n := &Node{Name: name, Pod: fmt.Sprintf("pod-%d", i), Address: c.address(i), cluster: c, index: i, own: arguments}
	c.Nodes = append(c.Nodes, n)
	n.Start()
	return n
}

// Joined waits until the first node that runs sees so many nodes, and a master.
func (c *Cluster) Joined(nodes int) {
	c.t.Helper()
	c.Eventually(fmt.Sprintf("%d nodes have joined", nodes), func() bool {
		first := c.running()
		if first == nil {
			return false
		}
		a, err := first.post("", "", "SELECT count(*) FROM sys.nodes")
		if err != nil || a.Status != 200 || a.Rows[0][0] != float64(nodes) {
			return false
		}
		a, err = first.post("", "", "SELECT master_node FROM sys.cluster")
		if err != nil || a.Status != 200 || a.Rows[0][0] == nil {
			return false
		}
		// Before the gateway has recovered statements of users wait.
		a, err = first.post("", "", "SELECT count(*) FROM sys.users")
		return err == nil && a.Status == 200 && recovered(first)
	})
}

// recovered: from 6.0 on CrateDB says so itself; before, nothing better is known.
func recovered(n *Node) bool {
	a, err := n.post("", "", "SELECT description FROM sys.cluster_health")
	return err == nil && (a.Status != 200 || len(a.Rows) == 1 && !strings.Contains(strings.ToLower(fmt.Sprint(a.Rows[0][0])), "not recovered"))
}

func (c *Cluster) running() *Node {
	for _, n := range c.Nodes {
		if n.Running() {
			return n
		}
	}
	return nil
}

// patience ends what hangs.
const patience = 10 * time.Minute

// Eventually waits for a condition.
func (c *Cluster) Eventually(what string, is func() bool) {
	c.t.Helper()
	require.Eventually(c.t, is, patience, 50*time.Millisecond, what)
}

// MakeSystem makes the user system with all privileges, and returns its password.
func (c *Cluster) MakeSystem() string {
	c.t.Helper()
	const password = "pw-system"
	c.Run("CREATE USER system WITH (password = '" + password + "')")
	c.Run("GRANT ALL PRIVILEGES TO system")
	return password
}

// Run runs statements as the superuser on the first node that runs; each has to succeed.
func (c *Cluster) Run(statements ...string) {
	c.t.Helper()
	for _, s := range statements {
		c.Rows(s)
	}
}

// Rows are the rows of one statement of the superuser on the first node that runs.
func (c *Cluster) Rows(statement string, arguments ...any) [][]any {
	c.t.Helper()
	n := c.running()
	require.NotNil(c.t, n, "no node runs")
	return n.Rows(statement, arguments...)
}

// Settled waits until no shard is anywhere but where it is to be, as far as CrateDB
// itself says so to the superuser, and until all tables are green.
func (c *Cluster) Settled() {
	c.t.Helper()
	c.Eventually("all tables are green and nothing moves", func() bool {
		n := c.running()
		a, err := n.post("", "", "SELECT count(*) FROM sys.shards WHERE routing_state <> 'STARTED'")
		if err != nil || a.Status != 200 || a.Rows[0][0] != float64(0) {
			return false
		}
		a, err = n.post("", "", "SELECT count(*) FROM sys.health WHERE health <> 'GREEN'")
		return err == nil && a.Status == 200 && a.Rows[0][0] == float64(0)
	})
}

// ID is a node's id, as the cluster has it; "" for one that is no member.
func (c *Cluster) ID(name string) string {
	c.t.Helper()
	rows := c.Rows("SELECT id FROM sys.nodes WHERE name = ?", name)
	if len(rows) == 0 {
		return ""
	}
	return rows[0][0].(string)
}
