package model

import "stevedore.dev/stevedore/internal/cratesim/allocation"

// Health is green, yellow or red; the numbers are sys.health's severity.
type Health int

// The healths.
const (
	Green  Health = 1
	Yellow Health = 2
	Red    Health = 3
)

func (h Health) String() string {
	return map[Health]string{Green: "GREEN", Yellow: "YELLOW", Red: "RED"}[h]
}

// Health is the index's row of sys.health. Ranges hide loss: what the range does not ask
// for is not missing.
func (ix *Index) Health() (h Health, missing, underreplicated int) {
	h = Green
	for _, s := range ix.shards {
		if p := s.primary(); !p.Active() {
			missing++
			switch {
			case p.node == nil && !s.allocated && s.restore.waits() && s.restore.tries == 0:
				h = max(h, Yellow)
			case s.allocated, p.node == nil && ix.cluster.refused(p), s.restore != nil && s.restore.tries > 0:
				h = Red
			default:
				h = max(h, Yellow)
			}
		}
		for _, cp := range s.copies[1:] {
			if !cp.Active() {
				underreplicated++
				h = max(h, Yellow)
			}
		}
	}
	return h, missing, underreplicated
}

// refused reports whether no node may take the fresh primary.
func (c *Cluster) refused(p *Copy) bool {
	if c.master == nil {
		return false
	}
	c.takeTally()
	for _, n := range c.members {
		if n.alive && n.Data {
			if c.decide(p, n) != allocation.No {
				return false
			}
		}
	}
	return true
}

// Health is the cluster's: its worst table's, yellow before gateway recovery, red without a
// master, as sys.cluster_health (6.0+) says.
func (n *Node) Health() (h Health, description string) {
	switch {
	case !n.HasMaster():
		return Red, "master_not_discovered"
	case !n.cluster.recovered:
		return Yellow, "state not recovered / initialized"
	}
	h = Green
	for _, ix := range n.cluster.indexes {
		ih, missing, _ := ix.Health()
		if ih <= h {
			continue
		}
		h = ih
		if h == Red || missing > 0 {
			description = "One or more tables are missing shards"
		} else {
			description = "One or more tables have underreplicated shards"
		}
	}
	return h, description
}

// MasterGate fails at once, as sys.cluster_health and sys.allocations do without a master.
func (n *Node) MasterGate() *Error {
	if !n.HasMaster() {
		return errNoMaster(false)
	}
	return nil
}

// StaleGate fails as sys.shards and sys.node_checks do without a master.
func (n *Node) StaleGate() *Error {
	if n.cluster != nil && n.cluster.master == nil {
		for _, o := range n.cluster.members {
			if !o.alive {
				return errorOf("NodeNotConnectedException", "XX000", 500, 5000, "[%s][%s:%d] Node not connected", o.Name, o.Address, o.TransportPort)
			}
		}
	}
	return nil
}
