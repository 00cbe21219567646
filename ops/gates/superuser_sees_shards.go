package gates

// SuperuserSeesShardsRule is the rule superuser-sees-shards.
var SuperuserSeesShardsRule = Rule{
	Name:   "superuser-sees-shards",
	Kind:   Waits,
	Says:   "A node leaves only when the superuser `crate`, from whom no privilege hides anything, sees no shard on it either, and none that is unassigned or moving.",
	Do:     "Wait while shards move. If it lasts, `system` is not allowed to see these tables: `SELECT * FROM sys.privileges WHERE state = 'DENY'`, then REVOKE the DENY; or look at `sys.allocations` as the superuser for what keeps the shards.",
	Source: "docs/safety.md, invariant A",
}

// SuperuserSeesShards names some of the shards that it sees, by their tables.
func SuperuserSeesShards(pod string, shards []string) Reason {
	return SuperuserSeesShardsRule.because("`system` is shown no shard that keeps the node in pod %s, but the superuser sees %s: the node stays until these are elsewhere; if `system` is denied a table, revoke that", pod, some(shards))
}
