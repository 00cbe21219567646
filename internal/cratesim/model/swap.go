package model

import "time"

// SwapTables is ALTER CLUSTER SWAP TABLE: two tables exchange their names, and what has the
// name of the first then is dropped where drop says so. Privileges go with the tables. All
// shards of both start again from what their nodes have: until then both are red. A shard that
// was still to be restored is on no node, so that it is red for good (SwapRelationsOperation.java;
// run on 6.3.7 and 6.4.3).
func (n *Node) SwapTables(source, target *Table, drop bool) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	c := n.cluster
	for _, u := range c.users {
		for i, g := range u.grants {
			switch {
			case g.Class != "TABLE":
			case g.Ident == source.FullName():
				u.grants[i].Ident = target.FullName()
			case g.Ident == target.FullName():
				u.grants[i].Ident = source.FullName()
			}
		}
	}
	source.Schema, source.Name, target.Schema, target.Name = target.Schema, target.Name, source.Schema, source.Name
	for _, t := range []*Table{source, target} {
		for _, ix := range t.Indexes() {
			ix.startAgain()
		}
	}
	if drop {
		return n.DropTable(target)
	}
	c.m.touch()
	c.m.settle()
	return nil
}

// startAgain lets all shards start from what their nodes have, as CrateDB does for a table that is opened,
// closed or has got another name (IndexRoutingTable.java, initializeEmpty). Until then they are red.
func (ix *Index) startAgain() {
	c := ix.cluster
	for _, s := range ix.shards {
		s.allocated = s.allocated || s.restore != nil // that nobody has its files makes it no new one
		for _, cp := range s.copies {
			cp.node, cp.target, cp.init, cp.due, cp.delay, cp.since = nil, nil, false, time.Time{}, time.Time{}, c.m.now
		}
	}
	c.shardEvent = true
}
