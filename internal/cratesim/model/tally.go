package model

import (
	"strings"
	"time"
)

// tally is what the deciders would else count or parse again for every copy and node: a
// simulation asks them a hundred thousand times a second. It is drawn up before a round of
// allocation or an explanation, and kept true by assign and relocate.
type tally struct {
	enable        string
	incoming      int // node_concurrent_recoveries
	initial       int // node_initial_primaries_recoveries
	totalPerNode  int
	awareness     string
	diskThreshold bool
	low, high     watermark
}

type watermark struct {
	text    string
	percent float64
	bytes   float64
	isBytes bool
}

type clusterFilter struct{ kind, key, list string }

// count is a node's part of the tally.
type count struct {
	load, in, out, initialPrimaries int
	bytes                           int64
	filtered                        bool // by the cluster's own filters
	filteredWhy                     string
}

const allocationPrefix = "cluster.routing.allocation."

func parseWatermark(s string) watermark {
	w := watermark{text: s}
	if p, ok := parsePercent(s); ok {
		w.percent = p
		return w
	}
	b, _ := parseBytes(s)
	w.bytes, w.isBytes = float64(b), true
	return w
}

// takeTally draws it up.
func (c *Cluster) takeTally() {
	c.tally = tally{
		enable:        strings.ToLower(c.Setting(allocationPrefix + "enable")),
		incoming:      c.settingInt(allocationPrefix + "node_concurrent_recoveries"),
		initial:       c.settingInt(allocationPrefix + "node_initial_primaries_recoveries"),
		totalPerNode:  c.settingInt(allocationPrefix + "total_shards_per_node"),
		awareness:     c.Setting(allocationPrefix + "awareness.attributes"),
		diskThreshold: settingBool(c.Setting(allocationPrefix + "disk.threshold_enabled")),
		low:           parseWatermark(c.Setting(allocationPrefix + "disk.watermark.low")),
		high:          parseWatermark(c.Setting(allocationPrefix + "disk.watermark.high")),
	}
	filters := c.clusterFilters()
	for _, n := range c.members {
		ok, why := clusterAllows(filters, n)
		n.count = count{filtered: !ok, filteredWhy: why}
	}
	for _, ix := range c.indexes {
		for _, s := range ix.shards {
			bytes := s.bytes()
			for _, cp := range s.copies {
				if cp.node == nil {
					continue
				}
				cp.node.count.bytes += bytes
				switch {
				case cp.target != nil:
					cp.node.count.out++
					cp.target.count.in++
					cp.target.count.load++
					cp.target.count.bytes += bytes
				case cp.init && cp.Primary:
					cp.node.count.load++
					cp.node.count.initialPrimaries++
				case cp.init:
					cp.node.count.load++
					cp.node.count.in++
					if p := s.primary().node; p != nil {
						p.count.out++
					}
				default:
					cp.node.count.load++
				}
			}
		}
	}
}

// clusterFilters are the cluster's filters that are set.
func (c *Cluster) clusterFilters() []clusterFilter {
	var out []clusterFilter
	for _, kind := range filterKinds {
		for _, key := range filterKeys {
			if l := c.Setting(allocationPrefix + kind + "." + key); l != "" {
				out = append(out, clusterFilter{kind, key, l})
			}
		}
	}
	return out
}

// assign begins a recovery of an unassigned copy on the node.
func (c *Cluster) assign(cp *Copy, n *Node, known bool) {
	s := cp.Shard
	bytes := s.bytes()
	cp.node, cp.init, cp.due = n, true, c.took(bytes, known)
	cp.delay = time.Time{}
	n.count.load++
	n.count.bytes += bytes
	if cp.Primary {
		n.count.initialPrimaries++
		return
	}
	n.count.in++
	s.primary().node.count.out++
	s.stores = addID(s.stores, n.ID)
}

// relocate begins a move.
func (c *Cluster) relocate(cp *Copy, to *Node) {
	bytes := cp.Shard.bytes()
	cp.target, cp.due = to, c.took(bytes, false)
	cp.node.count.load--
	cp.node.count.out++
	to.count.load++
	to.count.in++
	to.count.bytes += bytes
}
