package cratedb

import (
	"context"

	"stevedore.dev/stevedore/ops/model"
)

// The whole object: which settings it has depends on the release, and those it lacks have
// their defaults. A persistent value under a transient one is not seen.
var settingsQueries = []string{
	`SELECT settings['cluster']['routing']['allocation'], settings['cluster']['max_shards_per_node'] FROM sys.cluster`,
	`SELECT settings['cluster']['routing']['allocation'], 1000 FROM sys.cluster`,
}

// readAllocation reads the settings that say where shards may be: the effective
// ones, as no others can be seen.
func (p *asked) readAllocation(ctx context.Context, db *model.Database) {
	rows, ok := p.askAny(ctx, db, model.PartAllocation, settingsQueries)
	if !ok || len(rows) != 1 {
		return
	}
	allocation := object(rows[0][0])
	if allocation == nil {
		return
	}
	disk, awareness := allocation.below("disk"), allocation.below("awareness")
	watermark := disk.below("watermark")
	db.AllocationKnown, db.Allocation = true, allocation.text("enable")
	db.Settings = model.AllocationSettings{
		Exclude: allocation.below("exclude").filters(), Include: allocation.below("include").filters(),
		Require:      allocation.below("require").filters(),
		LowWatermark: watermark.text("low"), HighWatermark: watermark.text("high"),
		DiskThreshold:      disk.text("threshold_enabled") != "false",
		ShardsPerNode:      int(size(rows[0][1])),
		TotalShardsPerNode: allocation.number("total_shards_per_node", -1),
		Recoveries:         allocation.number("node_concurrent_recoveries", 2),
		Awareness:          awareness.list("attributes"),
		Forced:             forced(awareness.below("force").below("")),
	}
}

// forced are the values of each attribute. CrateDB shows the group below an empty name, with what the node that is asked
// was started with.
func forced(group settings) map[string][]string {
	var out map[string][]string
	for attribute := range group {
		if values := group.below(attribute).list("values"); len(values) > 0 {
			if out == nil {
				out = map[string][]string{}
			}
			out[attribute] = values
		}
	}
	return out
}
