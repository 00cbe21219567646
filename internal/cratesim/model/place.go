package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

// Placed is one copy of a shard, as another cluster of the same tables has it.
type Placed struct {
	Schema, Table, Ident string // Ident is "" without partitions
	Shard                int
	Primary              bool
	Moved                bool   // of a primary: it has come from another node
	Node                 string // its id, "" for one that is unassigned
}

// Place puts every copy where placed says, as if the balancer had chosen so; it gives
// in words what the deciders have against it, and what would not stay there. placed has
// the primary of a shard before its replicas.
//
// Two clusters choose differently among the nodes that may take a shard. Who compares
// what they may do brings them to one placement first.
func (c *Cluster) Place(placed []Placed) (objections []string) {
	type key struct {
		schema, table, ident string
		shard                int
	}
	want := map[key][]Placed{}
	for _, p := range placed {
		k := key{p.Schema, p.Table, p.Ident, p.Shard}
		want[k] = append(want[k], p)
	}
	var fresh []*Copy
	for _, ix := range c.indexes {
		for _, s := range ix.shards {
			k := key{ix.Table.Schema, ix.Table.Name, ix.Ident, s.ID}
			list := want[k]
			if len(list) != len(s.copies) {
				objections = append(objections, fmt.Sprintf("[%s][%d] has %d copies, not %d", s.Index.name(), s.ID, len(s.copies), len(list)))
				continue
			}
			placed, err := c.placeShard(s, list)
			if err != nil {
				objections = append(objections, err.Error())
			}
			fresh = append(fresh, placed...)
		}
	}
	c.takeTally()
	for _, cp := range fresh {
		objections = append(objections, c.againstPlace(cp)...)
	}
	before := c.whereabouts()
	c.shardEvent = true
	c.m.touch()
	c.m.settle()
	for cp, was := range before {
		if now := cp.whereID(); now != was {
			objections = append(objections, fmt.Sprintf("a copy of [%s][%d] would go from %q to %q", cp.Shard.Index.name(), cp.Shard.ID, was, now))
		}
	}
	slices.Sort(objections)
	return objections
}

// placeShard places the copies of one shard; fresh are those that were unassigned here.
func (c *Cluster) placeShard(s *Shard, list []Placed) (fresh []*Copy, err error) {
	pool := slices.Clone(s.copies)
	take := func(fits func(*Copy) bool) *Copy {
		i := slices.IndexFunc(pool, fits)
		if i < 0 {
			return nil
		}
		cp := pool[i]
		pool = slices.Delete(pool, i, i+1)
		return cp
	}
	copies := make([]*Copy, len(list))
	// Those that are on the same node in both come first, then those without a node.
	for i, p := range list {
		copies[i] = take(func(cp *Copy) bool { return p.Node != "" && cp.whereID() == p.Node })
	}
	for i, p := range list {
		if copies[i] == nil && p.Node == "" {
			copies[i] = take(func(cp *Copy) bool { return cp.node == nil })
		}
	}
	for i, p := range list {
		cp := copies[i]
		if cp == nil {
			cp = take(func(*Copy) bool { return true })
			copies[i] = cp
		}
		if cp.whereID() == p.Node && cp.target == nil && !cp.init {
			cp.Primary = p.Primary
			continue
		}
		var to *Node
		if p.Node != "" {
			at := slices.IndexFunc(c.members, func(n *Node) bool { return n.ID == p.Node })
			if at < 0 {
				return fresh, fmt.Errorf("[%s][%d] is on %s, which is no member", s.Index.name(), s.ID, p.Node)
			}
			to = c.members[at]
		}
		// A primary that was there before goes back to its store whatever the deciders say.
		if cp.node == nil && !(p.Primary && s.allocated) {
			fresh = append(fresh, cp)
		} else if cp.node != nil {
			s.inSync, s.stores = removeID(s.inSync, cp.node.ID), removeID(s.stores, cp.node.ID)
		}
		if cp.Primary = p.Primary; cp.node == nil && cp.Primary {
			s.began = cp.comesFrom()
		}
		cp.Primary, cp.node, cp.target, cp.init, cp.due, cp.delay = p.Primary, to, nil, false, time.Time{}, time.Time{}
		if to != nil {
			s.stores, s.inSync = addID(s.stores, to.ID), addID(s.inSync, to.ID)
			s.allocated = s.allocated || cp.Primary
		}
	}
	for i, cp := range copies {
		if cp.origin = "PEER"; i == 0 && !list[0].Moved {
			cp.origin = s.began
		}
	}
	s.copies = copies
	return fresh, nil
}

// againstPlace is what the deciders have against a copy's having come to its node.
func (c *Cluster) againstPlace(cp *Copy) []string {
	n := cp.node
	if n == nil {
		return nil
	}
	cp.node = nil
	c.takeTally()
	var words []string
	if c.decide(cp, n) == allocation.No {
		words = c.rules.Objections(c.asked(cp), &n.place)
	}
	cp.node = n
	c.takeTally()
	if words == nil {
		return nil
	}
	return []string{fmt.Sprintf("a copy of [%s][%d] may not come to %q: %s", cp.Shard.Index.name(), cp.Shard.ID, n.Name, strings.Join(words, "; "))}
}

// whereID is the id of the node that the copy is on or goes to.
func (cp *Copy) whereID() string {
	if n := cp.at(); n != nil {
		return n.ID
	}
	return ""
}

func (c *Cluster) whereabouts() map[*Copy]string {
	out := map[*Copy]string{}
	for _, ix := range c.indexes {
		for _, s := range ix.shards {
			for _, cp := range s.copies {
				out[cp] = cp.whereID()
			}
		}
	}
	return out
}
