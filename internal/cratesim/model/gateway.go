package model

import (
	"strconv"
	"time"
)

// Recovered reports whether the gateway has recovered: tables, users and persistent
// settings are in effect.
func (c *Cluster) Recovered() bool { return c.recovered }

// gatewayCounts reads the master's own crate.yml: the number of nodes that gates recovery
// and the number that makes it happen at once, and how many of that kind have joined.
// Before 4.7 the settings are gateway.*_nodes and count masters too. -1 is unset.
func (c *Cluster) gatewayCounts() (after, expected, have int) {
	number := func(name string) int {
		v, err := strconv.Atoi(c.master.setting(name, "-1"))
		if err != nil {
			return -1
		}
		return v
	}
	suffix, dataOnly := "_nodes", false
	if c.master.Version.AtLeast(4, 7) {
		suffix, dataOnly = "_data_nodes", true
	}
	for _, n := range c.members {
		if n.alive && (n.Data || !dataOnly) {
			have++
		}
	}
	return number("gateway.recover_after" + suffix), number("gateway.expected" + suffix), have
}

// settleGateway starts, cancels or carries out the recovery of the cluster's state.
func (c *Cluster) settleGateway() {
	if c.master == nil || c.recovered {
		c.recoverDue = time.Time{}
		return
	}
	after, expected, have := c.gatewayCounts()
	if have < after {
		c.recoverDue = time.Time{} // for ever, if need be
		return
	}
	if expected < 0 && after < 0 || expected >= 0 && have >= expected {
		c.recover()
		return
	}
	if c.recoverDue.IsZero() {
		wait := c.m.opts.RecoverAfterTime
		if d, ok := parseDuration(c.master.setting("gateway.recover_after_time", "")); ok {
			wait = d
		} else if expected < 0 {
			wait = 0
		}
		if wait == 0 {
			c.recover()
			return
		}
		c.recoverDue = c.m.now.Add(wait)
	}
}

func (c *Cluster) recover() {
	c.recovered, c.recoverDue = true, time.Time{}
	for _, n := range c.members {
		if n.alive {
			n.rememberedState = true
		}
	}
	c.expandReplicas()
	c.shardEvent = true
	c.m.touch()
}

// expectedNodesReached is node check 1.
func (c *Cluster) expectedNodesReached(n *Node) bool {
	name := "gateway.expected_nodes"
	dataOnly := n.Version.AtLeast(4, 7)
	if dataOnly {
		name = "gateway.expected_data_nodes"
	}
	want, err := strconv.Atoi(n.setting(name, "-1"))
	if err != nil || want < 0 {
		return true
	}
	have := 0
	for _, o := range c.members {
		if o.Data || !dataOnly {
			have++
		}
	}
	return have == want
}
