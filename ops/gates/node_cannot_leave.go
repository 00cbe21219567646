package gates

// NodeCannotLeaveRule is the rule node-cannot-leave.
var NodeCannotLeaveRule = Rule{
	Name: "node-cannot-leave",
	Kind: Refuses,
	Says: "No node goes down whose absence CrateDB could not take note of: a table has a range of replicas, and with one node fewer the range comes to fewer copies than the number in its write.wait_for_active_shards. " +
		"CrateDB then fails to take the node off the cluster, again and again. Everything stays GREEN, the node is listed without a version, and it can never come back: the master refuses it as a second node of that id.",
	Do:     "Run the statement that is named, before the node goes. Where a node is away already and cannot come back: run it, wait until the node's process runs, and then delete the pod of the master (`SELECT master_node FROM sys.cluster`): only a new master takes the node off.",
	Source: "IndexMetadata.Builder.build and AllocationService.adaptAutoExpandReplicas in CrateDB's source; run on CrateDB 6.4.3 and 6.3.7",
}

// NodeCannotLeave names the pods, and the tables, each with its numbers and its statement.
func NodeCannotLeave(pods, tables []string) Reason {
	return NodeCannotLeaveRule.because("CrateDB could not take the node of %s off the cluster, nor let it in again, because of %d table(s) or partition(s): %s", some(pods), len(tables), Few(tables))
}
