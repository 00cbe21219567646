package gates

// DiskDoesNotFitRule is the rule disk-does-not-fit.
var DiskDoesNotFitRule = Rule{
	Name:    "disk-does-not-fit",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "Nodes leave only if what is on them fits on the nodes that remain, below the low watermark: CrateDB puts no shard on a node above it.",
	Do:      "Make disks larger, delete data, or keep more nodes; the low watermark is cluster.routing.allocation.disk.watermark.low.",
	Source:  "CrateDB manual, cluster.routing.allocation.disk.watermark.low",
}

// DiskDoesNotFit gives what has to move, what there is room for, and where.
func DiskDoesNotFit(what string, moving, room int64, watermark string, nodes int) Reason {
	return DiskDoesNotFitRule.because("%s: %s would have to move, and the %d node(s) that remain for it have room for %s below the low watermark (%s): free %s by deleting data, make the volumes larger, or keep more nodes", what, Bytes(moving), nodes, Bytes(room), watermark, Bytes(moving-room))
}
