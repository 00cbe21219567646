package model

import (
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

const allocationPrefix = "cluster.routing.allocation."

// filterKeys are the ids and names by which a cluster's filters know nodes.
var filterKeys = []string{"_name", "_id", "_ip", "_host"}

// takeTally draws up what the deciders would else count or parse again for every copy and
// node. It is done before a round of allocation or an explanation, and kept true by assign
// and relocate.
func (c *Cluster) takeTally() {
	c.rules = allocation.Settings{
		Version:            c.masterVersion(),
		Enable:             allocation.Enable(strings.ToLower(c.Setting(allocationPrefix + "enable"))),
		Recoveries:         c.settingInt(allocationPrefix + "node_concurrent_recoveries"),
		InitialPrimaries:   c.settingInt(allocationPrefix + "node_initial_primaries_recoveries"),
		TotalShardsPerNode: c.settingInt(allocationPrefix + "total_shards_per_node"),
		DiskThreshold:      settingBool(c.Setting(allocationPrefix + "disk.threshold_enabled")),
		Low:                allocation.ParseWatermark(c.Setting(allocationPrefix + "disk.watermark.low")),
		High:               allocation.ParseWatermark(c.Setting(allocationPrefix + "disk.watermark.high")),
		Awareness:          c.rules.Awareness[:0],
	}
	c.rules.Filters = c.filtersInEffect()
	for _, n := range c.members {
		n.place = allocation.Node{ID: n.ID, Name: n.Name, Address: n.Address, Attributes: n.Attributes, Version: n.Version}
		n.place.DiskSize = n.diskSize()
		n.place.DiskFree = n.place.DiskSize - n.DiskUsed
	}
	if list := c.Setting(allocationPrefix + "awareness.attributes"); list != "" {
		for _, name := range splitList(list) {
			c.rules.Awareness = append(c.rules.Awareness, allocation.Attribute{Name: name, Forced: c.master.Forced(name)})
		}
		var holders []*allocation.Node
		for _, n := range c.members {
			if n.alive && n.Data {
				holders = append(holders, &n.place)
			}
		}
		c.rules.Count(holders)
	}
	for _, ix := range c.indexes {
		ix.readRules()
		for _, s := range ix.shards {
			bytes := s.bytes()
			for _, cp := range s.copies {
				if cp.node == nil {
					continue
				}
				cp.node.place.DiskFree -= bytes
				switch {
				case cp.target != nil:
					if p := s.primary().node; p != nil {
						p.place.Out++ // each copy is read from the primary
					}
					cp.target.place.In++
					cp.target.place.Shards++
					cp.target.place.DiskFree -= bytes
				case cp.init && cp.Primary:
					cp.node.place.Shards++
					cp.node.place.InitialPrimaries++
				case cp.init:
					cp.node.place.Shards++
					cp.node.place.In++
					if p := s.primary().node; p != nil {
						p.place.Out++
					}
				default:
					cp.node.place.Shards++
				}
			}
		}
	}
	for _, n := range c.members {
		if len(n.Disks) > 1 {
			most := n.mostFree()
			n.place.DiskSize, n.place.DiskFree = most.Size, most.Size-most.Used
		}
	}
}

func (c *Cluster) masterVersion() Version {
	if c.master == nil {
		return Version{}
	}
	return c.master.Version
}

// assign begins a recovery of an unassigned copy on the node.
func (c *Cluster) assign(cp *Copy, n *Node, known bool) {
	s := cp.Shard
	bytes := s.bytes()
	cp.node, cp.init, cp.due = n, true, c.took(bytes, known)
	cp.delay, cp.origin = time.Time{}, cp.comesFrom()
	n.place.Shards++
	n.place.DiskFree -= bytes
	if cp.Primary {
		s.began = cp.origin
		n.place.InitialPrimaries++
		return
	}
	n.place.In++
	s.primary().node.place.Out++
	s.stores = addID(s.stores, n.ID)
}

// comesFrom is the origin of a copy that is on no node yet.
func (cp *Copy) comesFrom() string {
	switch {
	case !cp.Primary:
		return "PEER"
	case cp.Shard.allocated:
		return "EXISTING_STORE"
	case cp.Shard.restore != nil:
		return "SNAPSHOT"
	}
	return "EMPTY_STORE"
}

// relocate begins a move.
func (c *Cluster) relocate(cp *Copy, to *Node) {
	bytes := cp.Shard.bytes()
	cp.target, cp.due = to, c.took(bytes, false)
	cp.node.place.Shards--
	cp.Shard.primary().node.place.Out++ // each copy is read from the primary
	to.place.Shards++
	to.place.In++
	to.place.DiskFree -= bytes
}
