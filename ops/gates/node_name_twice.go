package gates

// NodeNameTwiceRule is the rule node-name-twice.
var NodeNameTwiceRule = Rule{
	Name:   "node-name-twice",
	Kind:   Waits,
	Says:   "No two nodes of the cluster have one name before a node goes down or leaves: the pods of a StatefulSet cannot make two, so one of them is a process that outlived its pod (a pod that was deleted by force on a machine that was lost), and which one a shard, an exclusion or a pod belongs to is not known.",
	Do:     "Find the older process and end it: `SELECT id, name, hostname, rest_url FROM sys.nodes` says where both run. What only that one holds has to move first: exclude it by its id, `SET GLOBAL PERSISTENT \"cluster.routing.allocation.exclude._id\" = 'ID'`.",
	Source: "docs/safety.md, invariant A",
}

// NodeNameTwice names the node and the ids; name is "" where there is no such node.
func NodeNameTwice(name, one, other string) (Reason, bool) {
	if name == "" {
		return Reason{}, false
	}
	return NodeNameTwiceRule.because("two nodes of the cluster are called %s, with the ids %s and %s: one of them is a process that outlived its pod", name, one, other), true
}
