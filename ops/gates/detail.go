package gates

// DetailKnownRule is the rule tables-known.
var DetailKnownRule = Rule{
	Name:   "tables-known",
	Kind:   Waits,
	Says:   "Before a node goes down the tables, the state of each shard and the snapshots have been read: what could not be read is unknown, never well.",
	Do:     "Wait for the next reading; if it stays, the user `system` may lack privileges: it needs all.",
	Source: "docs/safety.md, what always holds",
}

// DetailKnown names what could not be read.
func DetailKnown(tables, snapshots bool) (Reason, bool) {
	switch {
	case !tables:
		return DetailKnownRule.because("the tables and the state of their shards could not be read yet"), true
	case !snapshots:
		return DetailKnownRule.because("sys.snapshots could not be read yet: it is unknown whether a snapshot runs"), true
	}
	return Reason{}, false
}
