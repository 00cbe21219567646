package model

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

// reroute gives every copy its place as far as the deciders let it, when something has
// changed that they look at.
func (c *Cluster) reroute() {
	if !c.shardEvent || c.master == nil || !c.recovered {
		return
	}
	c.takeTally()
	if c.frozen != nil {
		if c.expandReplicas(); c.frozen != nil {
			return
		}
	}
	c.shardEvent = false
	c.version++
	c.allocateUnassigned()
	c.moveAway()
	c.rebalance()
}

// byLoad lists the data nodes, the emptiest first, equals in order of joining.
func (c *Cluster) byLoad() []*Node {
	out := c.scratch[:0]
	for _, n := range c.members {
		if n.alive && n.Data {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b *Node) int { return a.place.Shards - b.place.Shards })
	c.scratch = out
	return out
}

func (c *Cluster) took(bytes int64, known bool) time.Time {
	d := c.m.opts.RecoveryBase
	if !known {
		d += time.Duration(float64(bytes) / float64(c.recoveryRate()) * float64(time.Second))
	}
	return c.m.now.Add(d)
}

// recoveryRate is in bytes a second: indices.recovery.max_bytes_per_sec where somebody has
// set it, which is how a test slows moves down.
func (c *Cluster) recoveryRate() int64 {
	const name = "indices.recovery.max_bytes_per_sec"
	if rate, ok := allocation.ParseBytes(c.Setting(name)); ok && rate > 0 && c.Setting(name) != settingIndex[name].Default {
		return rate
	}
	return c.m.opts.RecoveryRate
}

func (c *Cluster) allocateUnassigned() {
	for _, ix := range c.indexes {
		for _, s := range ix.shards {
			if p := s.primary(); p.node == nil {
				c.allocatePrimary(s, p)
			}
		}
	}
	for _, ix := range c.indexes {
		for _, s := range ix.shards {
			if !s.primaryActive() {
				continue
			}
			for _, cp := range s.copies[1:] {
				if cp.node == nil {
					c.allocateReplica(s, cp)
				}
			}
		}
	}
}

func (c *Cluster) allocatePrimary(s *Shard, p *Copy) {
	if s.restore != nil && !s.allocated {
		c.allocateRestored(p)
		return
	}
	for _, n := range c.byLoad() {
		existing := s.allocated
		if existing && !(slices.Contains(s.inSync, n.ID) && slices.Contains(s.stores, n.ID)) {
			continue
		}
		if existing {
			// The node that has the data takes it again, filters or not; only throttling waits.
			if n.place.InitialPrimaries < c.rules.InitialPrimaries {
				c.assign(p, n, true)
				return
			}
			continue
		}
		if c.decide(p, n) == allocation.Yes {
			c.assign(p, n, true)
			return
		}
	}
}

func (c *Cluster) allocateReplica(s *Shard, cp *Copy) {
	nodes := c.byLoad()
	// A node that has most of the files recovers fast, and is waited for.
	slices.SortStableFunc(nodes, func(a, b *Node) int {
		has := func(n *Node) int {
			if slices.Contains(s.stores, n.ID) {
				return 0
			}
			return 1
		}
		return has(a) - has(b)
	})
	for _, n := range nodes {
		store := slices.Contains(s.stores, n.ID)
		if !store && !cp.delay.IsZero() && cp.delay.After(c.m.now) {
			continue
		}
		if c.decide(cp, n) == allocation.Yes {
			c.assign(cp, n, store)
			return
		}
	}
}

// moveAway moves what may not stay: off excluded nodes and full disks. Rebalance settings
// do not hold it, throttling does.
func (c *Cluster) moveAway() {
	for _, ix := range c.indexes {
		for _, s := range ix.shards {
			for _, cp := range s.copies {
				if cp.State() == Started && !c.remains(cp) {
					c.move(cp)
				}
			}
		}
	}
}

func (c *Cluster) move(cp *Copy) bool {
	if cp.Primary && c.snapshotHolds(cp.Shard) {
		if !slices.Contains(c.held, cp) {
			c.held = append(c.held, cp)
		}
		return false
	}
	if slices.Contains(c.held, cp) {
		return false
	}
	for _, n := range c.byLoad() {
		if n == cp.node {
			continue
		}
		if c.decide(cp, n) == allocation.Yes {
			c.relocate(cp, n)
			return true
		}
	}
	return false
}

// mayRebalance reports whether anything may move that may also stay.
func (c *Cluster) mayRebalance() bool {
	if c.Setting("cluster.routing.rebalance.enable") != "all" {
		return false
	}
	if c.Setting("cluster.routing.allocation.allow_rebalance") == "always" {
		return true
	}
	for _, ix := range c.indexes {
		for _, s := range ix.shards {
			for _, cp := range s.copies {
				if !cp.Active() {
					return false
				}
			}
		}
	}
	return true
}

// rebalance evens out the number of copies a node has, a few moves at a time.
func (c *Cluster) rebalance() {
	if !c.mayRebalance() {
		return
	}
	moving := 0
	for _, ix := range c.indexes {
		for _, s := range ix.shards {
			for _, cp := range s.copies {
				if cp.target != nil {
					moving++
				}
			}
		}
	}
	limit := c.settingInt("cluster.routing.allocation.cluster_concurrent_rebalance")
	if limit < 0 {
		limit = math.MaxInt
	}
	for moving < limit && c.rebalanceOne() {
		moving++
	}
}

func (c *Cluster) rebalanceOne() bool {
	nodes := c.byLoad()
	for i := 0; i < len(nodes); i++ {
		to := nodes[i]
		for j := len(nodes) - 1; j > i; j-- {
			from := nodes[j]
			if from.place.Shards-to.place.Shards < 2 {
				break
			}
			for _, ix := range c.indexes {
				for _, s := range ix.shards {
					for _, cp := range s.copies {
						if cp.State() != Started || cp.node != from || !c.remains(cp) || cp.Primary && c.snapshotHolds(s) {
							continue
						}
						if c.decide(cp, to) == allocation.Yes {
							c.relocate(cp, to)
							return true
						}
					}
				}
			}
		}
	}
	return false
}

// RerouteRetryFailed is ALTER CLUSTER REROUTE RETRY FAILED; it also wakes a drain that a
// snapshot held back. The count is of shards whose allocation has failed: none here.
func (n *Node) RerouteRetryFailed() (int, *Error) {
	if err := n.ChangeGate(); err != nil {
		return 0, err
	}
	c := n.cluster
	c.held = nil
	c.shardEvent = true
	c.m.touch()
	c.m.settle()
	return 0, nil
}

// MoveShard is ALTER TABLE … REROUTE MOVE SHARD: refused with each decider's words.
func (n *Node) MoveShard(ix *Index, shard int, from, to string) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	c := n.cluster
	find := func(name string) *Node {
		for _, o := range c.members {
			if strings.EqualFold(o.Name, name) || o.ID == name {
				return o
			}
		}
		return nil
	}
	// The target is resolved with the statement, the source by the command.
	b := find(to)
	if b == nil {
		return ErrIllegalArgument("Node: '%s' could not be found", to)
	}
	a := find(from)
	if a == nil {
		return ErrIllegalArgument("failed to resolve [%s], no matching nodes", from)
	}
	var cp *Copy
	if shard >= 0 && shard < len(ix.shards) {
		cp = ix.shards[shard].on(a)
	}
	switch {
	case cp == nil:
		return errMove("[move_allocation] can't move %d, failed to find it on node %s", shard, a.words())
	case cp.State() != Started:
		return errMove("[move_allocation] can't move %d, shard is not started (state = %s]", shard, cp.State())
	}
	c.takeTally()
	c.rules.IgnoreEnable = true // a move by hand does
	if c.decide(cp, b) == allocation.No {
		return errMove("[move_allocation] can't move %d, from %s, to %s, since its not allowed, reason: %s",
			shard, a.words(), b.words(), allocation.Sentence(c.rules.Says(c.asked(cp), &b.place)))
	}
	c.relocate(cp, b)
	c.m.touch()
	c.m.settle()
	return nil
}

func errMove(format string, args ...any) *Error {
	return errorOf("SQLParseException", "XX000", 400, 4000, format, args...)
}

// words are the node's in messages.
func (n *Node) words() string {
	// The process's id is another one at each start; nobody looks at it.
	id := []byte(n.ID)
	slices.Reverse(id)
	ephemeral := string(id)
	roles := ""
	if n.Data {
		roles += "d"
	}
	if n.Master {
		roles += "m"
	}
	if roles != "" {
		roles = "{" + roles + "}"
	}
	var attributes []string
	for _, name := range sortedKeys(n.Attributes) {
		attributes = append(attributes, name+"="+n.Attributes[name])
	}
	attributes = append(attributes, "http_address="+n.Address+":"+strconv.Itoa(n.HTTPPort))
	return "{" + n.Name + "}{" + n.ID + "}{" + ephemeral + "}{" + n.Address + "}{" + n.Address + ":" + strconv.Itoa(n.TransportPort) + "}" + roles +
		"{" + strings.Join(attributes, ", ") + "}"
}
