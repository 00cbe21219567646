package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

// NodeSpec is a CrateDB process as it is started.
type NodeSpec struct {
	Name        string
	ClusterName string
	Address     string // host without a port; what HBA's _local_ compares with
	DataID      string // which volume path.data is; a new one is an empty volume
	// VolumeClusterID is what the volume says it belongs to, for volumes that the model has
	// not seen: a volume of another cluster comes up as that other cluster.
	VolumeClusterID string
	VolumeNodeID    string
	VolumeVersion   Version
	Version         Version
	Master, Data    bool
	Attributes      map[string]string // node.attr.*
	Settings        map[string]string // crate.yml and -C, flattened
	// RepositoryFolders are the folders of this machine that paths of path.repo stand for; one
	// that is not there stands for itself.
	RepositoryFolders map[string]string
	// Seeds are addresses of peers; nil finds every node of the same cluster.name, an empty
	// list none.
	Seeds []string
	// DiskSize is the size of the node's disk in bytes where it does not follow from Disks.
	DiskSize int64
	// Disks are what the data paths lie on, in their order; none: one disk.
	Disks                             []Disk
	HTTPPort, PSQLPort, TransportPort int
	HeapBytes                         int64
}

// Volume is what stays in path.data when the process ends.
type Volume struct {
	DataID    string
	NodeID    string
	ClusterID string // "" until the node has joined a cluster
	Highest   Version
}

// Node is a running process, or one that was.
type Node struct {
	NodeSpec
	ID        string
	StartedAt time.Time
	DiskUsed  int64   // bytes that are not CrateDB's; tests fill disks by it
	filled    []int64 // more of them, by data path

	m         *Model
	volume    *Volume
	alive     bool
	seq       int
	joinDue   time.Time
	joinReady bool
	cluster   *Cluster // joined, even if its master is gone since
	hba       []hbaEntry
	filters   filtersSeen
	place     allocation.Node // as the deciders know it, since takeTally
	// rememberedState: the process has seen a recovered cluster state, so that an election
	// with it needs no gateway recovery.
	rememberedState bool
	acknowledged    map[int]bool // node checks, lost with the process
}

// Alive reports whether the process runs.
func (n *Node) Alive() bool { return n.alive }

// Volume is what the node's path.data holds now.
func (n *Node) Volume() Volume { return *n.volume }

// Cluster is the cluster that the node has joined, or nil.
func (n *Node) Cluster() *Cluster { return n.cluster }

// ClusterID is sys.cluster.id as this node answers: "_na_" before it has joined one.
func (n *Node) ClusterID() string {
	if n.cluster == nil {
		return "_na_"
	}
	return n.cluster.ID
}

// HasMaster reports whether this node knows a master (GET / answers 200, else 503).
func (n *Node) HasMaster() bool { return n.cluster != nil && n.cluster.master != nil }

// NodeStarted starts a process on a volume. The error is what CrateDB prints before it
// exits: an unknown setting, a downgrade.
func (m *Model) NodeStarted(spec NodeSpec) (*Node, error) {
	hba, err := parseHBA(spec.Settings)
	if err != nil {
		return nil, err
	}
	for _, n := range m.nodes {
		if n.volume.DataID == spec.DataID {
			return nil, fmt.Errorf("java.lang.IllegalStateException: failed to obtain node locks, tried [[%s]] with lock id [0]; maybe these locations are not writable or multiple nodes were started without increasing [node.max_local_storage_nodes] (was [1])?", spec.DataID)
		}
	}
	v := m.volumes[spec.DataID]
	if v == nil {
		v = &Volume{DataID: spec.DataID, NodeID: spec.VolumeNodeID, ClusterID: spec.VolumeClusterID, Highest: spec.VolumeVersion}
		if v.NodeID == "" {
			v.NodeID = m.newID()
		}
	}
	if spec.Version.Less(v.Highest) && !spec.Version.SameMinor(v.Highest) {
		return nil, fmt.Errorf("java.lang.IllegalStateException: cannot downgrade a node from version [%s] to version [%s]", v.Highest, spec.Version)
	}
	m.volumes[spec.DataID] = v
	if v.Highest.Less(spec.Version) {
		v.Highest = spec.Version
	}
	if v.ClusterID != "" && m.clusterByID(v.ClusterID) == nil {
		c := m.newCluster(v.ClusterID, spec.ClusterName)
		c.voting = []string{v.NodeID}
	}
	m.started++
	n := &Node{
		NodeSpec: spec, ID: v.NodeID, StartedAt: m.now, m: m, volume: v, alive: true, seq: m.started,
		joinDue: m.now.Add(m.opts.JoinDelay), hba: hba, acknowledged: map[int]bool{},
	}
	m.nodes = append(m.nodes, n)
	if m.byID[n.ID] == nil {
		m.byID[n.ID] = n
	}
	m.touch()
	m.settle()
	return n, nil
}

// NodeStopped ends a process, by TERM (graceful) or by a kill: either drains nothing, and
// the others notice within a tenth of a second. A second call changes nothing.
func (m *Model) NodeStopped(n *Node, graceful bool) {
	if !n.alive {
		return
	}
	n.alive = false
	n.rememberedState = false
	m.nodes = slices.DeleteFunc(m.nodes, func(o *Node) bool { return o == n })
	delete(m.byID, n.ID)
	if i := slices.IndexFunc(m.nodes, func(o *Node) bool { return o.ID == n.ID }); i >= 0 {
		m.byID[n.ID] = m.nodes[i] // a copy of its volume
	}
	m.touch()
	if c := n.cluster; c != nil {
		c.nodeGone(n)
	}
	m.settle()
}

// SetSeeds changes what the node's discovery answers from now on.
func (m *Model) SetSeeds(n *Node, seeds []string) {
	if slices.Equal(n.Seeds, seeds) && (n.Seeds == nil) == (seeds == nil) {
		return
	}
	n.Seeds = slices.Clone(seeds)
	m.touch()
	m.settle()
}

// setting is the node's own crate.yml value, or def.
func (n *Node) setting(name, def string) string {
	if v, ok := n.Settings[name]; ok {
		return v
	}
	return def
}

func (n *Node) initialMasters() []string {
	return splitList(n.setting("cluster.initial_master_nodes", ""))
}

// discoveryConfigured tells a node that was told where its peers are from one that was
// not, which founds a cluster of its own.
func (n *Node) discoveryConfigured() bool {
	for k := range n.Settings {
		if strings.HasPrefix(k, "discovery.") || k == "cluster.initial_master_nodes" {
			return true
		}
	}
	return false
}

func splitList(s string) []string {
	s = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(s), "["), "]")
	var out []string
	for _, p := range strings.Split(s, ",") {
		if p = strings.Trim(strings.TrimSpace(p), `"'`); p != "" {
			out = append(out, p)
		}
	}
	return out
}
