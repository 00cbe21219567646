package model

// AllocationSettings are the effective settings that say where shards may be.
type AllocationSettings struct {
	// Exclude, Include and Require are cluster.routing.allocation.exclude and so
	// on, by "_id", "_name", "_ip", "_host" or an attribute; empty ones are absent.
	Exclude map[string]string `json:"exclude,omitempty"`
	Include map[string]string `json:"include,omitempty"`
	Require map[string]string `json:"require,omitempty"`
	// LowWatermark, HighWatermark are cluster.routing.allocation.disk.watermark.low
	// and .high: "85%", or the free space that is to stay, "10gb".
	LowWatermark  string `json:"lowWatermark,omitempty"`
	HighWatermark string `json:"highWatermark,omitempty"`
	// DiskThreshold is cluster.routing.allocation.disk.threshold_enabled.
	DiskThreshold bool `json:"diskThreshold,omitempty"`
	// ShardsPerNode is cluster.max_shards_per_node, which limits the shards of the
	// whole cluster, replicas counted, as this many for each data node: tables and
	// partitions that would exceed it cannot be made, a drain goes on. Below 1: no
	// limit.
	// TotalShardsPerNode is cluster.routing.allocation.total_shards_per_node, which
	// no node takes more than; below 1: no limit.
	ShardsPerNode      int `json:"shardsPerNode,omitempty"`
	TotalShardsPerNode int `json:"totalShardsPerNode,omitempty"`
	// Recoveries is cluster.routing.allocation.node_concurrent_recoveries: so many
	// shards come to a node at once, and leave one.
	Recoveries int `json:"recoveries,omitempty"`
	// Awareness are cluster.routing.allocation.awareness.attributes.
	Awareness []string `json:"awareness,omitempty"`
	// Forced are cluster.routing.allocation.awareness.force.*.values, by the attribute: CrateDB counts
	// these zones also while no node is in them.
	Forced map[string][]string `json:"forced,omitempty"`
}
