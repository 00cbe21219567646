// Package model is a CrateDB cluster as a value: nodes, elections, users, settings,
// tables, shards and their allocation, as CrateDB behaves towards those who operate it.
//
// It has no goroutine, no clock and no I/O: time moves only by Advance, chance comes from
// the seed, and every order is the order in which things happened. Two runs with the same
// calls give the same answers, byte for byte.
package model

import (
	"math/rand/v2"
	"time"
)

// Options are the model's speeds and sizes. The zero value of each means the default
// written beside it.
type Options struct {
	Seed uint64
	// JoinDelay is from a node's start until it has joined a cluster that has a master
	// (2.4 s on a real 6.4.3). Default 300 ms.
	JoinDelay time.Duration
	// ElectionDelay is how long an election takes with a quorum (0.25–0.35 s real).
	// Default 300 ms.
	ElectionDelay time.Duration
	// RecoverAfterTime is gateway.recover_after_time where crate.yml does not set it and an
	// expected number of nodes is given. Default 5 min.
	RecoverAfterTime time.Duration
	// RecoveryBase is what recovering or moving one shard copy takes at least. Default 100 ms.
	RecoveryBase time.Duration
	// RecoveryRate is in bytes a second. Default 40 MB/s (indices.recovery.max_bytes_per_sec).
	RecoveryRate int64
	// NodeLeftDelay is unassigned.node_left.delayed_timeout where a table does not set it.
	// Default 1 min.
	NodeLeftDelay time.Duration
	// ShardSize is the size of a shard without rows, in bytes. Default 208.
	ShardSize int64
	// DiskSize is each data node's disk in bytes where its NodeSpec does not say. Default: what
	// its volumes have, or 1 TB.
	DiskSize int64
	// Store keeps what repositories have. Default: memory, as long as the model lives.
	Store Store
	// Remote opens repositories that are on servers. Default: none is.
	Remote Remote
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&o.JoinDelay, 300*time.Millisecond)
	set(&o.ElectionDelay, 300*time.Millisecond)
	set(&o.RecoverAfterTime, 5*time.Minute)
	set(&o.RecoveryBase, 100*time.Millisecond)
	set(&o.NodeLeftDelay, time.Minute)
	if o.RecoveryRate == 0 {
		o.RecoveryRate = 40 << 20
	}
	if o.ShardSize == 0 {
		o.ShardSize = 208
	}
	return o
}

// Model is every CrateDB process of one network, and the clusters they have formed: more
// than one where volumes or initial masters were wrong, which is the point.
type Model struct {
	opts     Options
	now      time.Time
	rng      *rand.Rand
	nodes    []*Node          // running, in order of their start
	byID     map[string]*Node // the first of each id
	volumes  map[string]*Volume
	clusters []*Cluster
	dirty    bool
	changes  uint64
	started  int

	store       Store
	faults      map[string]Fault
	objectsRead int
}

// New makes an empty network at the given time.
func New(now time.Time, opts Options) *Model {
	store := opts.Store
	if store == nil {
		store = memory{}
	}
	return &Model{
		store: store,
		opts:  opts.withDefaults(), now: now, volumes: map[string]*Volume{}, byID: map[string]*Node{},
		rng: rand.New(rand.NewPCG(opts.Seed, 0x5eed)),
	}
}

// Now is the time of the last Advance.
func (m *Model) Now() time.Time { return m.now }

// Changes counts what has changed: who waits for something looks again when it moved.
func (m *Model) Changes() uint64 { return m.changes }

// Nodes lists the running processes in order of their start.
func (m *Model) Nodes() []*Node { return m.nodes }

// Clusters lists every cluster ever founded, oldest first.
func (m *Model) Clusters() []*Cluster { return m.clusters }

// NodeByName is the running node with that node.name, the one started last if several
// clusters have one, or nil.
func (m *Model) NodeByName(name string) *Node {
	for i := len(m.nodes) - 1; i >= 0; i-- {
		if m.nodes[i].Name == name {
			return m.nodes[i]
		}
	}
	return nil
}

func (m *Model) touch() { m.dirty = true; m.changes++ }

// Advance moves time to now, doing on the way, in order, everything that was due. A now
// before the last one changes nothing.
func (m *Model) Advance(now time.Time) {
	m.settle()
	for {
		due, ok := m.nextDue()
		if !ok || due.After(now) {
			break
		}
		if due.After(m.now) {
			m.now = due
		}
		m.runDue()
		m.dirty = true
		m.changes++
		m.settle()
	}
	if now.After(m.now) {
		m.now = now
	}
}

// NextEvent is when something will happen by itself; ok is false when nothing will.
func (m *Model) NextEvent() (at time.Time, ok bool) {
	m.settle()
	return m.nextDue()
}

// settle draws every consequence that needs no time.
func (m *Model) settle() {
	// Each round can at most enable the next one (a join enables recovery, recovery the
	// allocation); the bound only guards against a mistake in here.
	for i := 0; m.dirty && i < 64; i++ {
		m.dirty = false
		m.coordinate()
		for _, c := range m.clusters {
			c.settleGateway()
			c.reroute()
			c.finishRestores()
			c.finishSnapshots()
		}
	}
}

func earlier(at *time.Time, ok *bool, t time.Time) {
	if t.IsZero() {
		return
	}
	if !*ok || t.Before(*at) {
		*at, *ok = t, true
	}
}

func (m *Model) nextDue() (at time.Time, ok bool) {
	for _, n := range m.nodes {
		earlier(&at, &ok, n.joinDue)
	}
	for _, c := range m.clusters {
		earlier(&at, &ok, c.electionDue)
		if c.master == nil {
			continue
		}
		earlier(&at, &ok, c.recoverDue)
		c.nextShardDue(&at, &ok)
		for _, s := range c.running {
			if s.due.After(m.now) {
				earlier(&at, &ok, s.due)
			}
		}
	}
	return at, ok
}

func (m *Model) runDue() {
	for _, n := range m.nodes {
		if !n.joinDue.IsZero() && !n.joinDue.After(m.now) {
			n.joinDue, n.joinReady = time.Time{}, true
		}
	}
	for _, c := range m.clusters {
		if !c.electionDue.IsZero() && !c.electionDue.After(m.now) {
			c.electionDue = time.Time{}
			c.elect()
		}
		if c.master == nil {
			continue
		}
		if !c.recoverDue.IsZero() && !c.recoverDue.After(m.now) {
			c.recover()
		}
		c.finishShards()
		c.finishSnapshots()
	}
}

const idAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// newID makes an id as CrateDB's: 22 characters of URL-safe base64.
func (m *Model) newID() string {
	b := make([]byte, 22)
	for i := range b {
		b[i] = idAlphabet[m.rng.IntN(len(idAlphabet))]
	}
	return string(b)
}
