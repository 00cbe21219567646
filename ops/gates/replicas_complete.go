package gates

// ReplicasCompleteRule is the rule replicas-complete.
var ReplicasCompleteRule = Rule{
	Name:   "replicas-complete",
	Kind:   Waits,
	Says:   "Before a node goes down each table has the copies that the upper bound of its number_of_replicas means on the full set of nodes: with 0-1 and one node down CrateDB wants no replica and reports green.",
	Do:     "Wait until CrateDB has made the copy; `SELECT * FROM sys.allocations` says why it does not. Where a range begins with more replicas than the nodes take, CrateDB makes none: set a lower `number_of_replicas`.",
	Source: "CrateDB manual, number_of_replicas",
}

// ReplicasComplete names the first table that lacks copies.
func ReplicasComplete(table, replicas string, started, wanted int) (Reason, bool) {
	if started >= wanted {
		return Reason{}, false
	}
	return ReplicasCompleteRule.because("a shard of table %s has %d started copies of the %d that number_of_replicas = '%s' means on all nodes", table, started, wanted, replicas), true
}
