package model

import "stevedore.dev/stevedore/internal/cratesim/allocation"

// NodeCheck is a row of sys.node_checks.
type NodeCheck struct {
	Node         *Node
	ID           int
	Severity     int
	Passed       bool
	Acknowledged bool
	Description  string
}

// NodeChecks are the checks of one member. Acknowledged is lost with the process.
func (c *Cluster) NodeChecks(n *Node) []NodeCheck {
	c.takeTally()
	after, expected, dataOnly := n.gatewaySettings()
	have := c.countNodes(dataOnly)
	wait, set := ParseDuration(n.setting("gateway.recover_after_time", ""))
	checks := []NodeCheck{
		{ID: 1, Severity: 2, Passed: have == 1 || have == expected, Description: "It has been detected that the 'gateway.expected_data_nodes' setting (or the deprecated 'gateway.recovery_after_nodes' setting) is not configured or it does not match the actual number of (data) nodes in the cluster."},
		{ID: 2, Severity: 2, Passed: have == 1 || expected/2 < after && after <= expected, Description: "The cluster setting 'gateway.recover_after_data_nodes' (or the deprecated `gateway.recovery_after_nodes` setting) is not configured or it is set to a value that seems low in relation to the the maximum/expected number of (data) nodes in the cluster."},
		{ID: 3, Severity: 2, Passed: after <= expected && (expected < 0 || !set || wait > 0), Description: "If any of the \"expected data nodes\" recovery settings are set (or the deprecated \"expected nodes\" settings),the value of 'gateway.recover_after_time' must not be zero. Otherwise the \"expected (data) nodes\" setting wouldn't have any effect."},
		{ID: 5, Severity: 3, Passed: !c.rules.Above(&n.place, c.rules.High), Description: "The high disk watermark is exceeded on the node. The cluster will attempt to relocate shards to another node. Please check the node disk usage."},
		{ID: 6, Severity: 3, Passed: !c.rules.Above(&n.place, c.rules.Low), Description: "The low disk watermark is exceeded on the node. The cluster will not allocate new shards to the node. Please check the node disk usage."},
		{ID: 7, Severity: 3, Passed: !c.rules.Above(&n.place, allocation.ParseWatermark(c.Setting(allocationPrefix+"disk.watermark.flood_stage"))), Description: "The flood stage disk watermark is exceeded on the node. Table shards may be in read-only mode. Please check the node disk usage."},
	}
	if n.Version.AtLeast(5, 8) {
		limit := c.settingInt("cluster.max_shards_per_node")
		checks = append(checks, NodeCheck{ID: 8, Severity: 2, Passed: limit <= 0 || c.openShards(n)*10 < limit*9,
			Description: "The amount of shards on the node reached 90 % of the limit of the cluster setting `cluster.max_shards_per_node`. Creating new tables or partitions which would push the number of shards beyond 100 % of the limit will be rejected."})
	}
	for i := range checks {
		checks[i].Node = n
		checks[i].Acknowledged = n.acknowledged[checks[i].ID]
	}
	return checks
}

// Acknowledge sets a node check's acknowledged.
func (m *Model) Acknowledge(n *Node, id int, value bool) {
	n.acknowledged[id] = value
	m.changes++
}

// Decommission marks a node whose process is to end; the host of the process ends it. It
// never looks at the node's own shards.
func (n *Node) Decommission(target string) (*Node, *Error) {
	if err := n.ChangeGate(); err != nil {
		return nil, err
	}
	for _, o := range n.cluster.members {
		if o.Name == target || o.ID == target {
			return o, nil
		}
	}
	return nil, ErrIllegalArgument("No node found with given name or id: %s", target)
}

// openShards counts the copies on a node of tables that are not closed, on any node where
// n is nil: those that wait for a place with them.
func (c *Cluster) openShards(n *Node) (k int) {
	for _, ix := range c.indexes {
		if ix.closed {
			continue
		}
		for _, s := range ix.shards {
			for _, cp := range s.copies {
				if n == nil || cp.node == n {
					k++
				}
			}
		}
	}
	return k
}
