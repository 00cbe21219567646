package gates

// OnlyCopiesRule is the rule only-copies-away.
var OnlyCopiesRule = Rule{
	Name:    "only-copies-away",
	Kind:    Waits,
	Informs: true,
	Says:    "Says which tables are not whole while a node is away, for it has the only started copy of a shard, and holds nothing back: reads of the whole table fail at once, writes to that shard wait until the node is back.",
	Do:      "Nothing, where that may be for a minute. Otherwise give the tables a replica before the restart, or set `spec.operations.unreplicated: refuse`.",
	Source:  "docs/definition.md, spec.operations.unreplicated",
}

// OnlyCopies names the tables.
func OnlyCopies(pod string, tables []string) (Reason, bool) {
	if len(tables) == 0 {
		return Reason{}, false
	}
	return OnlyCopiesRule.because("pod %s has the only started copy of shards of %d table(s): while it is away reads of them fail, and writes to those shards wait: %s", pod, len(tables), some(tables)), true
}
