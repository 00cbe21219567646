package model

import (
	"strconv"
	"time"
)

// Recovered reports whether the gateway has recovered: tables, users and persistent
// settings are in effect.
func (c *Cluster) Recovered() bool { return c.recovered }

// gatewaySettings reads a node's own crate.yml: how many nodes gate recovery, how many make
// it happen at once, -1 being unset, and whether data nodes alone count: gateway.*_data_nodes,
// which 4.7 recommends and 4.4 takes already, with gateway.*_nodes as the fallback.
func (n *Node) gatewaySettings() (after, expected int, dataOnly bool) {
	number := func(name string) int {
		v, err := strconv.Atoi(n.setting(name, "-1"))
		if err != nil {
			return -1
		}
		return v
	}
	after, expected = number("gateway.recover_after_data_nodes"), number("gateway.expected_data_nodes")
	if after >= 0 || expected >= 0 {
		return after, expected, true
	}
	return number("gateway.recover_after_nodes"), number("gateway.expected_nodes"), false
}

func (c *Cluster) countNodes(dataOnly bool) int {
	have := 0
	for _, n := range c.members {
		if n.alive && (n.Data || !dataOnly) {
			have++
		}
	}
	return have
}

// settleGateway starts, cancels or carries out the recovery of the cluster's state.
func (c *Cluster) settleGateway() {
	if c.master == nil || c.recovered {
		c.recoverDue = time.Time{}
		return
	}
	after, expected, dataOnly := c.master.gatewaySettings()
	have := c.countNodes(dataOnly)
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
		if d, ok := ParseDuration(c.master.setting("gateway.recover_after_time", "")); ok {
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
