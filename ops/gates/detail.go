package gates

import "cmp"

// DetailKnownRule is the rule tables-known.
var DetailKnownRule = Rule{
	Name:   "tables-known",
	Kind:   Waits,
	Says:   "Before a node goes down the tables and the state of each shard have been read: what could not be read is unknown, never well.",
	Do:     "Wait for the next reading; if it stays, the user `system` may lack privileges: it needs all.",
	Source: "docs/safety.md, what always holds",
}

// DetailKnown says why the tables are not known.
func DetailKnown(tables bool, why string) (Reason, bool) {
	if tables {
		return Reason{}, false
	}
	return DetailKnownRule.because("the tables and the state of their shards are not known: %s", cmp.Or(why, "they were not read yet")), true
}
