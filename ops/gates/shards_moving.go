package gates

// ShardsMovingRule is the rule shards-moving.
var ShardsMovingRule = Rule{
	Name:   "shards-moving",
	Kind:   Waits,
	Says:   "Before a node goes down no shard is being moved or made.",
	Do:     "Wait until CrateDB has moved them. A cluster that rebalances all the time has two nodes near a disk watermark.",
	Source: "CrateDB manual, sys.shards, routing_state",
}

// ShardsMoving counts those that are.
func ShardsMoving(relocating, initializing int) (Reason, bool) {
	if relocating == 0 && initializing == 0 {
		return Reason{}, false
	}
	return ShardsMovingRule.because("%d shards are relocating and %d initializing", relocating, initializing), true
}
