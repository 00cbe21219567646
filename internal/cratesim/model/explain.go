package model

import "slices"

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
	best := no
	for _, n := range c.members {
		if !n.alive || !n.Data || n == cp.node {
			continue
		}
		v, _ := c.decide(cp, n, false)
		best = min(best, v)
		decisions = append(decisions, Decision{n.ID, n.Name, c.objections(cp, n)})
	}
	if cp.node != nil {
		return c.explainStarted(cp, best), decisions
	}
	switch {
	case best == no && (cp.Primary || s.primaryActive()):
		return "cannot allocate because allocation is not permitted to any of the nodes", decisions
	case !cp.delay.IsZero() && cp.delay.After(c.m.now):
		words := "cannot allocate because the cluster is still waiting " + cp.delay.Sub(c.m.now).String() + " for the departed node holding a replica to rejoin"
		if best == yes {
			words += ", despite being allowed to allocate the shard to at least one other node"
		}
		return words, decisions
	case best == no:
		return "cannot allocate because allocation is not permitted to any of the nodes", decisions
	case best == throttled:
		return "allocation temporarily throttled", decisions
	}
	return "can allocate the shard", decisions
}

func (c *Cluster) explainStarted(cp *Copy, best verdict) string {
	switch {
	case c.remains(cp) && !c.mayRebalance():
		return "rebalancing is not allowed"
	case c.remains(cp):
		return "cannot rebalance as no target node exists that can both allocate this shard and improve the cluster balance"
	case best == yes, c.heldSince(cp) && !c.snapshotHolds(cp.Shard):
		return "shard cannot remain on this node and is force-moved to another node"
	case best == no:
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

// objections are the words of each decider that does not say yes, in CrateDB's order.
func (c *Cluster) objections(cp *Copy, n *Node) (out []string) {
	s := cp.Shard
	waits := cp.node == nil && !cp.Primary && !s.primaryActive()
	early := func() {
		if waits {
			out = append(out, "primary shard for this replica is not yet active")
		}
	}
	early()
	if !c.enabled(cp) {
		out = append(out, c.enableWords(cp))
	}
	if ok, why := c.versionFits(cp, n); !ok {
		out = append(out, why)
	}
	if why := c.snapshotWords(cp); why != "" {
		out = append(out, why)
	}
	if ok, why := c.filter(s.Index, n); !ok {
		out = append(out, why)
	}
	if other := s.on(n); other != nil && other != cp {
		out = append(out, s.takenWords(other))
	}
	if ok, why := c.diskFits(cp, n, false); !ok {
		out = append(out, why)
	}
	early()
	if why := c.throttleWords(cp, n); why != "" && !waits {
		out = append(out, why)
	}
	if ok, why := c.limitFits(cp, n); !ok {
		out = append(out, why)
	}
	if ok, why := c.zoneFits(cp, n); !ok {
		out = append(out, why)
	}
	return out
}
