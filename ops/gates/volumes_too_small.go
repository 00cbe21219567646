package gates

// VolumesTooSmallRule is the rule volumes-too-small.
var VolumesTooSmallRule = Rule{
	Name:    "volumes-too-small",
	Kind:    Refuses,
	Webhook: "expand_storage",
	Says:    "Volumes become smaller only if the shards of all nodes fit on the disks that the nodes have afterwards, below the low watermark: CrateDB puts no shard on a disk above it, and each shard is wholly on one disk. Otherwise a later node could not be drained.",
	Do:      "Ask for larger volumes or for more nodes, or delete data.",
	Source:  "CrateDB manual, cluster.routing.allocation.disk.watermark.low",
}

// VolumesTooSmall gives what has to fit, what there is room for, and on how many nodes.
func VolumesTooSmall(what string, bytes, room int64, watermark string, nodes int) Reason {
	return VolumesTooSmallRule.because("%s: %s, and the volumes that are desired for %d node(s) have room for %s below the low watermark (%s): ask for larger volumes or for more nodes, or delete data", what, Bytes(bytes), nodes, Bytes(room), watermark)
}
