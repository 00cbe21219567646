package gates

// DisksRemovedRule is the rule disks-removed.
var DisksRemovedRule = Rule{
	Name:   "disks-removed",
	Kind:   Waits,
	Passes: true,
	Says: "The definition asks for fewer disks. One node after the other is drained in place, because CrateDB moves nothing between the disks of a node, and its pod comes back without the disk. " +
		"No claim is deleted. A pod that vanishes in the moment in which another one restarts may come back without a disk on which shards are: it is restarted with it before anything else, and finds them.",
	Do: "Nothing. If it stays at one node, the other waits and refusals say why: often the other nodes cannot hold what is on it. Add a node, or put the old number of disks back in the definition: then each pod that does without a disk restarts with it. " +
		"When it has ended the claims of the disks are free: delete those that nobody needs.",
	Source: "CrateDB, path.data: a shard is wholly on one of its folders; Kubernetes, StatefulSet volumeClaimTemplates; docs/safety.md, A and D",
}

// DisksRemoved says how far it has come, or why it does not go on.
func DisksRemoved(says string) (Reason, bool) {
	if says == "" {
		return Reason{}, false
	}
	return DisksRemovedRule.because("disks are being removed: %s", says), true
}
