package model

import (
	"slices"
	"time"
)

// ShardState is a copy's routing_state.
type ShardState string

// The states of a copy.
const (
	Unassigned   ShardState = "UNASSIGNED"
	Initializing ShardState = "INITIALIZING"
	Started      ShardState = "STARTED"
	Relocating   ShardState = "RELOCATING"
)

// Shard is one shard of an index: a primary and its replicas.
type Shard struct {
	Index *Index
	ID    int

	copies []*Copy
	// allocated: the primary has been started once, so its loss is the loss of data.
	allocated bool
	// began is how its primary came to a node when no other had it: its Origin until it moves.
	began string
	// inSync are node ids whose stores hold every acknowledged write.
	inSync []string
	// stores are node ids that have files of the shard, started or not.
	stores []string
	// restore is where the shard comes from, nil where it began empty.
	restore *shardRestore
	// operations are how many rows have been written, changed and deleted, each of which has
	// taken one sequence number.
	operations int64
}

// Copy is one copy of a shard: on a node, or still without one.
type Copy struct {
	Shard   *Shard
	Primary bool

	node   *Node // nil: unassigned
	target *Node // of a relocation
	init   bool
	due    time.Time // when initializing or relocating ends
	since  time.Time // unassigned since
	delay  time.Time // a node has left: not before this
	origin string    // where its node had it from when it began to come
}

// Origin is what sys.shards shows as recovery['type']: a primary begins empty, comes from a snapshot or
// starts again from its disk. A replica, also one that has become the primary, and each copy that has
// moved come from another node (RecoverySource.Type).
func (cp *Copy) Origin() string { return cp.origin }

// Copies are the shard's copies, the primary first.
func (s *Shard) Copies() []*Copy { return s.copies }

// State is the copy's routing_state.
func (cp *Copy) State() ShardState {
	switch {
	case cp.node == nil:
		return Unassigned
	case cp.init:
		return Initializing
	case cp.target != nil:
		return Relocating
	}
	return Started
}

// Node is where the copy is, nil if nowhere; Target is where it relocates to.
func (cp *Copy) Node() *Node   { return cp.node }
func (cp *Copy) Target() *Node { return cp.target }

// Active reports whether the copy serves reads and writes.
func (cp *Copy) Active() bool { return cp.node != nil && !cp.init }

func (s *Shard) primary() *Copy      { return s.copies[0] }
func (s *Shard) primaryActive() bool { return s.copies[0].Active() }

func (s *Shard) on(n *Node) *Copy {
	for _, cp := range s.copies {
		if cp.node == n || cp.target == n {
			return cp
		}
	}
	return nil
}

func addID(ids []string, id string) []string {
	if slices.Contains(ids, id) {
		return ids
	}
	return append(ids, id)
}

func removeID(ids []string, id string) []string {
	return slices.DeleteFunc(ids, func(o string) bool { return o == id })
}

// copiesLost takes the copies off a node that has left.
func (c *Cluster) copiesLost(n *Node) {
	c.snapshotsLose(n)
	for _, ix := range c.indexes {
		for _, s := range ix.shards {
			for _, cp := range s.copies {
				if cp.target == n {
					cp.target, cp.due = nil, time.Time{}
				}
				if cp.node != n {
					continue
				}
				started := !cp.init
				cp.node, cp.target, cp.init, cp.due = nil, nil, false, time.Time{}
				cp.since = c.m.now
				if started {
					cp.delay = c.m.now.Add(ix.nodeLeftDelay())
				}
			}
			if s.primary().node == nil {
				s.promote()
			}
			if s.primaryActive() {
				// A write would leave the lost copy behind; it counts from now on.
				s.inSync = slices.DeleteFunc(s.inSync, func(id string) bool { return id == n.ID })
			} else {
				// Replicas recover from their primary: without it they start over.
				for _, cp := range s.copies[1:] {
					if cp.init {
						cp.node, cp.init, cp.due, cp.since = nil, false, time.Time{}, c.m.now
					}
				}
			}
		}
	}
	c.shardEvent = true
}

// promote makes an in-sync replica the primary, at once.
func (s *Shard) promote() {
	for i, cp := range s.copies[1:] {
		if cp.Active() {
			old := s.copies[0]
			old.Primary, cp.Primary = false, true
			s.copies[0], s.copies[i+1] = cp, old
			return
		}
	}
}

// unassignAll is a full restart: every copy is to be found again in the nodes' stores.
func (c *Cluster) unassignAll() {
	for _, ix := range c.indexes {
		for _, s := range ix.shards {
			for _, cp := range s.copies {
				cp.node, cp.target, cp.init, cp.due, cp.delay = nil, nil, false, time.Time{}, time.Time{}
				cp.since = c.m.now
			}
		}
	}
}

// nextShardDue is when the next recovery, move or delay ends.
func (c *Cluster) nextShardDue(at *time.Time, ok *bool) {
	for _, ix := range c.indexes {
		for _, s := range ix.shards {
			for _, cp := range s.copies {
				earlier(at, ok, cp.due)
				if cp.node == nil && !cp.delay.IsZero() {
					earlier(at, ok, cp.delay)
				}
			}
		}
	}
}

func (c *Cluster) finishShards() {
	for _, ix := range c.indexes {
		for _, s := range ix.shards {
			for _, cp := range s.copies {
				if !cp.delay.IsZero() && !cp.delay.After(c.m.now) {
					cp.delay = time.Time{}
					c.shardEvent = true
				}
				if cp.due.IsZero() || cp.due.After(c.m.now) {
					continue
				}
				cp.due = time.Time{}
				c.shardEvent = true
				if cp.init {
					if cp.init = false; !c.restored(cp) {
						continue
					}
				} else if cp.target != nil {
					s.inSync = removeID(s.inSync, cp.node.ID)
					s.stores = removeID(s.stores, cp.node.ID)
					cp.node, cp.target, cp.origin = cp.target, nil, "PEER"
				}
				cp.delay = time.Time{}
				s.stores = addID(s.stores, cp.node.ID)
				s.inSync = addID(s.inSync, cp.node.ID)
				if cp.Primary {
					s.allocated = true
				}
			}
		}
	}
}

// expandReplicas follows the replica ranges to the nodes there are now.
func (c *Cluster) expandReplicas() {
	if c.master == nil || !c.recovered {
		return
	}
	c.takeTally()
	if c.frozen = c.rangeTooFew(); c.frozen != nil {
		return
	}
	for _, ix := range c.indexes {
		if want := c.expand(ix); want != ix.want {
			ix.setReplicas(want)
		}
	}
}

// rangeTooFew: a range of replicas comes to fewer copies than a number that its table's writes
// wait for. CrateDB refuses such metadata, and with it each reroute, of whatever table: no
// shard moves (AllocationService.adaptAutoExpandReplicas, IndexMetadata.Builder.build).
func (c *Cluster) rangeTooFew() *Error {
	for _, ix := range c.indexes {
		if want := c.expand(ix); want != ix.want {
			if err := ix.waitsForMoreThan(1 + want); err != nil {
				return err
			}
		}
	}
	return nil
}

// setReplicas gives each shard so many replicas.
func (ix *Index) setReplicas(want int) {
	ix.want = want
	for _, s := range ix.shards {
		for len(s.copies) < want+1 {
			s.copies = append(s.copies, &Copy{Shard: s, since: ix.cluster.m.now})
		}
		for len(s.copies) > want+1 {
			s.dropCopy()
		}
	}
	ix.cluster.shardEvent = true
}

// dropCopy takes one replica away: one without a node first, then one that starts, then
// one on a node that it should leave.
func (s *Shard) dropCopy() {
	worst, rank := len(s.copies)-1, -1
	for i, cp := range s.copies[1:] {
		r := 0
		switch {
		case cp.node == nil:
			r = 3
		case cp.init:
			r = 2
		case cp.target != nil || s.Index.cluster.excluded(s.Index, cp.node):
			r = 1
		}
		if r >= rank {
			worst, rank = i+1, r
		}
	}
	if cp := s.copies[worst]; cp.node != nil {
		s.inSync = removeID(s.inSync, cp.node.ID)
		s.stores = removeID(s.stores, cp.node.ID)
	}
	s.copies = slices.Delete(s.copies, worst, worst+1)
}

// expand is how many replicas the index has by its range, of the nodes that the filters let it be
// on; an index that was just made has none before.
func (c *Cluster) expand(ix *Index) int {
	replicas, err := parseReplicas(ix.Replicas)
	if err != nil || !replicas.Range {
		return replicas.Low
	}
	eligible := 0
	for _, n := range c.members {
		if n.alive && n.Data && !c.excluded(ix, n) {
			eligible++
		}
	}
	return replicas.On(eligible, ix.want)
}
