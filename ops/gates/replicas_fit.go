package gates

// ReplicasDoNotFitRule is the rule replicas-do-not-fit.
var ReplicasDoNotFitRule = Rule{
	Name:   "replicas-do-not-fit",
	Kind:   Refuses,
	Says:   "Nodes leave only if, for each table and partition, the lower bound of number_of_replicas and the primary fit on the data nodes that remain and that it may use, by its filters and the zones.",
	Do:     "Lower number_of_replicas of the tables that are named (a range such as 0-1 counts by its lower bound), let them use more nodes, or keep more nodes.",
	Source: "CrateDB manual, number_of_replicas and allocation awareness",
}

// ReplicasDoNotFit names the tables with their numbers.
func ReplicasDoNotFit(tables []string, remain int) Reason {
	return ReplicasDoNotFitRule.because("%d data node(s) would remain, and %d table(s) or partition(s) want more copies than fit there, so that the drain would never end: %s", remain, len(tables), some(tables))
}
