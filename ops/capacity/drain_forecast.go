package capacity

import (
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// DrainForecast is what a drain moves, and how full the nodes that remain are then.
type DrainForecast struct {
	Shards int
	Bytes  int64
	// Percent of what may be used below the low watermark on the nodes that remain,
	// all of them together; it means nothing unless Known.
	Percent int
	Known   bool
	// Behind are the tables that need the zones whose last node leaves: they cannot be drained.
	Behind []string
}

// ForecastDrain is of one reading: leaving and data are names of data nodes, the
// leaving ones among all of them.
func ForecastDrain(db *model.Database, version string, leaving, data []string) DrainForecast {
	gone := nodesNamed(db, leaving)
	stay := slices.DeleteFunc(nodesNamed(db, data), func(n *model.Node) bool { return slices.Contains(gone, n) })
	f := NewForecast(db, version, gone, stay, false, false)
	out := DrainForecast{Behind: f.needZone()}
	for _, l := range f.loads {
		out.Shards += l.leaving
		out.Bytes += l.moving
	}
	used, limit := out.Bytes, int64(0)
	out.Known = len(stay) > 0 && len(db.Shards) > 0
	for _, n := range stay {
		disks, known := n.FileSystems()
		out.Known = out.Known && known
		for _, d := range disks {
			below, ok := belowWatermark(db.Settings.LowWatermark, d.Size)
			out.Known = out.Known && ok
			used += d.Used
			limit += below
		}
	}
	if out.Known = out.Known && limit > 0; out.Known {
		out.Percent = int((used*100 + limit/2) / limit)
	}
	return out
}
