package gates

// DrainingRule is the rule draining.
var DrainingRule = Rule{
	Name:   "draining",
	Kind:   Waits,
	Says:   "A node leaves only when it is empty: no shard on it, none unassigned, none moving, in two readings apart.",
	Do:     "Wait: `stevedore status --watch` shows the shards and bytes that are left. `stevedore abort` gives the exclusions back.",
	Source: "docs/safety.md, invariant A",
}

// Draining gives what is left on the nodes that leave, and what moves.
func Draining(nodes string, shards int, bytes int64, relocating, initializing, unassigned int) Reason {
	return DrainingRule.because("%d shard(s), %s, are left on %s; %d relocating, %d initializing, %d unassigned", shards, Bytes(bytes), nodes, relocating, initializing, unassigned)
}

// DrainedOnce waits for the second reading.
func DrainedOnce(nodes string) Reason {
	return DrainingRule.because("%s: empty; waiting for a second reading that says so", nodes)
}
