package gates

// DrainingRule is the rule draining.
var DrainingRule = Rule{
	Name:   "draining",
	Kind:   Waits,
	Says:   "A node leaves only when it is empty: no shard on it, none unassigned, none moving, in two readings apart. By the consent leave-zone copies may stay on the last nodes of a zone, if each is started on a node that stays too.",
	Do:     "Wait: `stevedore status --watch` shows the shards and bytes that are left. `stevedore abort` gives the exclusions back.",
	Source: "docs/safety.md, invariant A",
}

// Draining gives what is left on the nodes that leave, and what moves.
func Draining(nodes string, shards int, bytes int64, relocating, initializing, unassigned int) Reason {
	return DrainingRule.because("%d shard(s), %s, are left on %s; %d relocating, %d initializing, %d unassigned", shards, Bytes(bytes), nodes, relocating, initializing, unassigned)
}

// DrainedOnce waits for the second reading; behind are the tables with copies that stay on the nodes.
func DrainedOnce(nodes string, behind []string) Reason {
	return DrainingRule.because("%s: %s; waiting for a second reading that says so", nodes, LeftBehind(behind))
}

// LeftBehind says what is on nodes that leave: nothing, or copies of these tables.
func LeftBehind(tables []string) string {
	if len(tables) == 0 {
		return "empty"
	}
	return "with copies of " + some(tables) + ", each of which is started on a node that stays too"
}
