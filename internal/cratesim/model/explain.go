package model

import "slices"

// Decision is what the deciders say of one node.
type Decision struct {
	NodeID, NodeName string
	Explanations     []string
}

// Explain is the copy's row of sys.allocations; decisions is nil for a shard that is
// started and stuck: it does not say why.
func (c *Cluster) Explain(cp *Copy) (explanation string, decisions []Decision) {
	s := cp.Shard
	c.takeTally()
	switch cp.State() {
	case Initializing, Relocating:
		return "the shard is in the process of initializing on node [" + name(cp) + "], wait until initialization has completed", nil
	case Started:
		if c.master == nil {
			return "", nil
		}
		if !c.remains(cp) {
			if c.heldSince(cp) && !c.snapshotHolds(s) {
				return "shard cannot remain on this node and is force-moved to another node", nil
			}
			best := c.best(cp)
			switch {
			case best == no:
				return "cannot move shard to another node, even though it is not allowed to remain on its current node", nil
			default:
				return "shard cannot remain on this node but is throttled on moving to another node", nil
			}
		}
		return "cannot rebalance as no target node exists that can both allocate this shard and improve the cluster balance", nil
	}
	if cp.Primary && s.allocated {
		have := false
		for _, n := range c.members {
			have = have || n.alive && slices.Contains(s.inSync, n.ID)
		}
		if !have {
			for _, n := range c.members {
				if n.alive && n.Data {
					decisions = append(decisions, Decision{n.ID, n.Name, nil})
				}
			}
			return "cannot allocate because a previous copy of the primary shard existed but can no longer be found on the nodes in the cluster", decisions
		}
	}
	worst := no
	for _, n := range c.members {
		if !n.alive || !n.Data {
			continue
		}
		v, why := c.decide(cp, n, false)
		worst = min(worst, v)
		d := Decision{NodeID: n.ID, NodeName: n.Name}
		if why != "" {
			d.Explanations = []string{why}
		}
		decisions = append(decisions, d)
	}
	switch {
	case !cp.delay.IsZero() && cp.delay.After(c.m.now):
		return "cannot allocate because the cluster is still waiting " + cp.delay.Sub(c.m.now).String() + " for the departed node holding a replica to rejoin", decisions
	case worst == throttled || !cp.Primary && !s.primaryActive():
		return "allocation temporarily throttled", decisions
	case worst == yes:
		return "can allocate the shard", decisions
	}
	return "cannot allocate because allocation is not permitted to any of the nodes", decisions
}

func name(cp *Copy) string {
	if cp.target != nil {
		return cp.target.Name
	}
	return cp.node.Name
}

// best is the best verdict that any node gives for a move.
func (c *Cluster) best(cp *Copy) verdict {
	out := no
	for _, n := range c.members {
		if n.alive && n.Data && n != cp.node {
			v, _ := c.decide(cp, n, false)
			out = min(out, v)
		}
	}
	return out
}
