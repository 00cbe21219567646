package gates

// UnreplicatedRule is the rule unreplicated-tables.
var UnreplicatedRule = Rule{
	Name:    "unreplicated-tables",
	Kind:    Refuses,
	Webhook: "change_compute",
	Says:    "With unreplicated: refuse no node goes down that holds the only started copy of a shard; by default it does, and the tables are named beforehand.",
	Do:      "Give the tables that are named replicas, or set `spec.operations.unreplicated: proceed`, and they are not whole while the node is away.",
	Source:  "docs/definition.md, spec.operations.unreplicated",
}

// Unreplicated names the tables whose shards have no other copy.
func Unreplicated(pod string, tables []string, refuse bool) (Reason, bool) {
	if len(tables) == 0 || !refuse {
		return Reason{}, false
	}
	return UnreplicatedRule.because("pod %s holds the only started copy of shards of %d table(s) (%s), and spec.operations.unreplicated is refuse: give them replicas, or allow it with proceed", pod, len(tables), some(tables)), true
}
