package model

import (
	"slices"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

// Cluster is one formed CrateDB cluster: what its voters have agreed on.
type Cluster struct {
	ID   string
	Name string

	m           *Model
	members     []*Node // as the cluster state has them; dead ones stay while there is no master
	master      *Node
	masterSince time.Time
	electionDue time.Time
	voting      []string // node ids
	recovered   bool
	recoverDue  time.Time

	users      []*User
	persistent map[string]string
	transient  map[string]string
	tables     []*Table
	indexes    []*Index // every table without partitions, and every partition
	views      []View
	running    []*Snapshot
	drops      []*Drop
	begun      int // snapshots and drops so far
	restores   []*Restore
	// sizesLost counts the shards whose size in a snapshot the master has asked for in vain,
	// since sizesOf is the master.
	sizesLost int
	sizesOf   *Node
	// held are copies that wanted to leave while a snapshot read them: they do not go on by
	// themselves when it ends, only a reroute wakes them.
	held []*Copy
	// filters are the cluster's own that are set, filtersVersion counts their changes.
	filters, scratchFilters []clusterFilter
	filtersVersion          int
	repos                   []*Repository
	licence                 bool
	rules                   allocation.Settings // the deciders', since takeTally
	question                allocation.Copy     // as asked fills it
	scratch                 []*Node
	shardEvent              bool   // something that allocation looks at has changed
	frozen                  *Error // why each reroute fails: rangeTooFew
	version                 int64  // of the cluster state
}

func (m *Model) newCluster(id, name string) *Cluster {
	c := &Cluster{ID: id, Name: name, m: m, persistent: map[string]string{}, transient: map[string]string{}}
	c.users = []*User{{Name: Superuser, superuser: true}}
	m.clusters = append(m.clusters, c)
	return c
}

func (m *Model) clusterByID(id string) *Cluster {
	for _, c := range m.clusters {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// StateVersion is the version of the cluster state. Also a change that leaves all as it was
// makes a higher one here.
func (c *Cluster) StateVersion() int64 { return c.version }

// Members are the nodes of the cluster state; without a master it is stale and has dead
// nodes in it.
func (c *Cluster) Members() []*Node { return c.members }

// Master is the elected master, or nil.
func (c *Cluster) Master() *Node { return c.master }

// VotingConfiguration is the node ids whose majority elects; no SQL shows it.
func (c *Cluster) VotingConfiguration() []string { return slices.Clone(c.voting) }

// component is every running node that n finds, directly or through others, n included.
// Whoever is found finds back: nodes exchange what they know.
func (m *Model) component(n *Node) []*Node {
	out := []*Node{n}
	for i := 0; i < len(out); i++ {
		for _, o := range m.nodes {
			if o.ClusterName == n.ClusterName && !slices.Contains(out, o) && (out[i].seeds(o) || o.seeds(out[i])) {
				out = append(out, o)
			}
		}
	}
	slices.SortFunc(out, func(a, b *Node) int { return a.seq - b.seq })
	return out
}

func (n *Node) seeds(o *Node) bool {
	return n.Seeds == nil || slices.Contains(n.Seeds, o.Address)
}

// coordinate forms, joins and leaves clusters as far as it needs no time.
func (m *Model) coordinate() {
	for _, c := range m.clusters {
		c.checkQuorum()
	}
	for _, n := range m.nodes {
		if n.cluster == nil && n.joinReady {
			m.find(n)
		}
	}
	for _, c := range m.clusters {
		c.planElection()
		c.reconfigure()
	}
}

// find lets a node that has started look for its place.
func (m *Model) find(n *Node) {
	if n.volume.ClusterID != "" {
		// A volume belongs to one cluster for good; it never joins another.
		if c := m.clusterByID(n.volume.ClusterID); c.master != nil {
			c.join(n)
		}
		return
	}
	initial := n.initialMasters()
	alone := len(initial) == 1 && (initial[0] == n.Name || initial[0] == n.Address) && n.Master ||
		n.Master && n.setting("discovery.type", "") == "single-node" ||
		n.Master && !n.discoveryConfigured()
	if alone {
		// It is its own quorum: it founds a cluster at once, though its peers are alive.
		m.found([]*Node{n})
		return
	}
	peers := m.component(n)
	for _, p := range peers {
		if p.cluster != nil && p.cluster.master != nil && p.volume.ClusterID == p.cluster.ID {
			p.cluster.join(n)
			return
		}
	}
	if !n.Master || !slices.Contains(initial, n.Name) {
		return
	}
	var founders []*Node
	for _, p := range peers {
		if p.Master && p.joinReady && p.cluster == nil && p.volume.ClusterID == "" && slices.Contains(initial, p.Name) {
			founders = append(founders, p)
		}
	}
	if len(founders)*2 > len(initial) {
		m.found(founders)
	}
}

// found makes a new cluster of empty nodes.
func (m *Model) found(founders []*Node) {
	c := m.newCluster(m.newID(), founders[0].ClusterName)
	for _, n := range founders {
		n.volume.ClusterID = c.ID
		c.voting = append(c.voting, n.ID)
	}
	c.elect()
	m.touch()
}

func (c *Cluster) join(n *Node) {
	if n.cluster == c {
		return
	}
	for i, o := range c.members {
		if o.ID == n.ID { // the same volume under a new process
			c.members = slices.Delete(c.members, i, i+1)
			break
		}
	}
	n.cluster, n.volume.ClusterID = c, c.ID
	n.rememberedState = c.recovered
	c.members = append(c.members, n)
	c.shardEvent = true
	if c.recovered {
		c.expandReplicas()
	}
	c.m.touch()
}

// liveVoters counts running processes of the voting configuration.
func (c *Cluster) liveVoters() int {
	live := 0
	for _, id := range c.voting {
		if n := c.m.running(id); n != nil && n.volume.ClusterID == c.ID && n.Master && n.joinReady {
			live++
		}
	}
	return live
}

// running is looked for by each cluster whenever anything changes in any of them.
func (m *Model) running(id string) *Node { return m.byID[id] }

func (c *Cluster) hasQuorum() bool { return c.liveVoters()*2 > len(c.voting) }

// nodeGone is what happens in the moment in which a member ends.
func (c *Cluster) nodeGone(n *Node) {
	if c.master == n {
		c.master = nil
	}
	c.checkQuorum()
	if c.master != nil {
		c.removeMember(n)
	}
	c.shardEvent = true
}

func (c *Cluster) checkQuorum() {
	if c.master != nil && (!c.master.alive || !c.hasQuorum()) {
		c.master = nil
		c.recoverDue = time.Time{}
		c.m.touch()
	}
}

func (c *Cluster) removeMember(n *Node) {
	c.members = slices.DeleteFunc(c.members, func(o *Node) bool { return o == n })
	n.cluster = nil
	if c.recovered {
		c.copiesLost(n)
		c.expandReplicas()
	}
	c.shardEvent = true
}

func (c *Cluster) planElection() {
	if c.master != nil || !c.hasQuorum() {
		c.electionDue = time.Time{}
		return
	}
	if c.electionDue.IsZero() {
		c.electionDue = c.m.now.Add(c.m.opts.ElectionDelay)
	}
}

// elect makes one of the live voters master. Which one is chance, from the seed.
func (c *Cluster) elect() {
	if c.master != nil || !c.hasQuorum() {
		return
	}
	var voters []*Node
	for _, n := range c.m.nodes {
		if n.Master && n.joinReady && n.volume.ClusterID == c.ID && slices.Contains(c.voting, n.ID) {
			voters = append(voters, n)
		}
	}
	remembered := false
	for _, n := range voters {
		remembered = remembered || n.rememberedState
	}
	c.master = voters[c.m.rng.IntN(len(voters))]
	c.masterSince = c.m.now
	if !remembered {
		// A full restart: the state is on disk, not yet in effect.
		c.recovered = false
		c.transient = map[string]string{}
		c.forgetRunning()
		c.unassignAll()
	}
	for _, n := range slices.Clone(c.members) {
		if !n.alive {
			c.removeMember(n)
		}
	}
	for _, n := range voters {
		c.join(n)
	}
	for _, n := range c.m.nodes {
		if n.joinReady && n.cluster == nil && n.volume.ClusterID == c.ID {
			c.join(n)
		}
	}
	c.shardEvent = true
	c.m.touch()
}

// reconfigure grows and shrinks the voting configuration: odd, live nodes first, never
// below three once three have voted.
func (c *Cluster) reconfigure() {
	if c.master == nil || len(c.members) == 1 && len(c.voting) == 1 && c.voting[0] == c.master.ID {
		return
	}
	var order []string
	add := func(id string) {
		if !slices.Contains(order, id) {
			order = append(order, id)
		}
	}
	live := 0
	add(c.master.ID)
	for _, id := range c.voting {
		if n := c.m.running(id); n != nil && n.cluster == c && n.Master {
			add(id)
		}
	}
	for _, n := range c.members {
		if n.alive && n.Master {
			add(n.ID)
		}
	}
	live = len(order)
	for _, id := range c.voting {
		add(id)
	}
	target := live
	if target%2 == 0 {
		target--
	}
	if len(c.voting) >= 3 {
		target = max(target, 3)
	}
	target = min(max(target, 1), len(order))
	next := order[:target]
	have := min(target, live)
	if have*2 <= len(next) {
		return
	}
	same := len(next) == len(c.voting)
	for _, id := range next {
		same = same && slices.Contains(c.voting, id)
	}
	if !same {
		c.voting = slices.Clone(next)
	}
}
