package model

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

// Decision is what the deciders say of one node.
type Decision struct {
	NodeID, NodeName string
	Explanations     []string
}

// Explain is what sys.allocations says of the copy: a sentence, "" for one that starts or
// moves, and what the deciders say of each node that it is not on.
func (c *Cluster) Explain(cp *Copy) (explanation string, decisions []Decision) {
	if st := cp.State(); st == Initializing || st == Relocating || c.master == nil {
		return "", nil
	}
	s := cp.Shard
	c.takeTally()
	if cp.node == nil && cp.Primary && s.allocated && !c.anyInSync(s) {
		for _, n := range c.members {
			if n.alive && n.Data {
				decisions = append(decisions, Decision{n.ID, n.Name, nil})
			}
		}
		return "cannot allocate because a previous copy of the primary shard existed but can no longer be found on the nodes in the cluster", decisions
	}
	if cp.node == nil && cp.Primary && s.restore != nil && s.restore.forgotten {
		return "cannot allocate because all found copies of the shard are either stale or corrupt", nil
	}
	if cp.node == nil && cp.Primary && s.restore.waits() {
		return "cannot allocate because information about existing shard data is still being retrieved from some of the nodes", nil
	}
	best := allocation.No
	for _, n := range c.members {
		if !n.alive || !n.Data || n == cp.node {
			continue
		}
		best = min(best, c.decide(cp, n))
		decisions = append(decisions, Decision{n.ID, n.Name, c.rules.Objections(c.asked(cp), &n.place)})
	}
	if cp.node != nil {
		return c.explainStarted(cp, best), decisions
	}
	switch {
	case best == allocation.No && (cp.Primary || s.primaryActive()):
		return "cannot allocate because allocation is not permitted to any of the nodes", decisions
	case !cp.delay.IsZero() && cp.delay.After(c.m.now):
		words := "cannot allocate because the cluster is still waiting " + timeValue(cp.delay.Sub(c.m.now)) + " for the departed node holding a replica to rejoin"
		if best == allocation.Yes {
			words += ", despite being allowed to allocate the shard to at least one other node"
		}
		return words, decisions
	case best == allocation.No:
		return "cannot allocate because allocation is not permitted to any of the nodes", decisions
	case best == allocation.Throttled:
		return "allocation temporarily throttled", decisions
	}
	return "can allocate the shard", decisions
}

func (c *Cluster) explainStarted(cp *Copy, best allocation.Verdict) string {
	switch {
	case c.remains(cp) && !c.mayRebalance():
		if c.balancesBetter(cp) {
			return "rebalancing is not allowed, even though there is at least one node on which the shard can be allocated"
		}
		return "rebalancing is not allowed"
	case c.remains(cp):
		return "cannot rebalance as no target node exists that can both allocate this shard and improve the cluster balance"
	case best == allocation.Yes, slices.Contains(c.held, cp) && !c.snapshotHolds(cp.Shard):
		return "shard cannot remain on this node and is force-moved to another node"
	case best == allocation.No:
		return "cannot move shard to another node, even though it is not allowed to remain on its current node"
	}
	return "shard cannot remain on this node but is throttled on moving to another node"
}

func (c *Cluster) anyInSync(s *Shard) bool {
	for _, n := range c.members {
		if n.alive && slices.Contains(s.inSync, n.ID) {
			return true
		}
	}
	return false
}

// balancesBetter reports whether a node may take the copy, and the cluster would be
// balanced better with it there, by the weights of BalancedShardsAllocator.
func (c *Cluster) balancesBetter(cp *Copy) bool {
	number := func(name string) float32 {
		f, _ := strconv.ParseFloat(c.Setting(allocationPrefix+"balance."+name), 32)
		return float32(f)
	}
	shard, index, threshold := number("shard"), number("index"), number("threshold")
	sum := shard + index
	all, own, nodes := 0, 0, 0
	for _, n := range c.members {
		if n.alive && n.Data {
			nodes++
		}
	}
	for _, ix := range c.indexes {
		all += len(ix.shards) * (1 + ix.want)
		if ix == cp.Shard.Index {
			own = len(ix.shards) * (1 + ix.want)
		}
	}
	weight := func(n *Node) float32 {
		return shard/sum*(float32(n.place.Shards)-float32(all)/float32(nodes)) +
			index/sum*(float32(cp.Shard.Index.onNode(&n.place))-float32(own)/float32(nodes))
	}
	here := weight(cp.node)
	for _, n := range c.members {
		if !n.alive || !n.Data || n == cp.node {
			continue
		}
		there := weight(n)
		if there <= here && here-there > threshold+0.001 && there+1 < here && c.decide(cp, n) == allocation.Yes {
			return true
		}
	}
	return false
}

// timeValue is a time as CrateDB words it: in the largest unit that it fills, with one
// digit more, cut off (TimeValue.java).
func timeValue(d time.Duration) string {
	for _, unit := range []struct {
		is   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "micros"}} {
		if d < unit.is {
			continue
		}
		if tenths := d % unit.is * 10 / unit.is; tenths > 0 {
			return fmt.Sprintf("%d.%d%s", d/unit.is, tenths, unit.name)
		}
		return fmt.Sprintf("%d%s", d/unit.is, unit.name)
	}
	return "0s"
}
