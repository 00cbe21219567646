package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/model"
)

// What fits on three nodes of these disks, in GiB of size and used, when a fourth leaves with so
// many shards of so many GiB. CrateDB asks the most free disk of a node, and a shard is wholly on
// one disk.
func TestWhatNodesHaveRoomForIsCountedByDisk(t *testing.T) {
	type disks = [][2]int64
	for _, c := range []struct {
		name          string
		disks         disks
		shards, bytes int64
		refused       string
		says          string
		// percent is of what is below the low watermark.
		percent int
	}{
		{"one disk", disks{{100, 10}}, 3, 60, "", "", 82},
		{"two disks with room", disks{{100, 10}, {100, 10}}, 6, 70, "", "", 94},
		{"by the sum there is room, on no disk for one shard", disks{{100, 50}, {100, 50}}, 1, 60, "disk-does-not-fit", "the largest shard of the data of all tables: 60.0 GiB would have to move, and the 3 node(s) that remain for it have room for 35.0 GiB", 71},
		{"one disk is full, the other one is empty: by the sum nothing would come", disks{{100, 100}, {40, 20}}, 1, 10, "", "", 104},
		{"what is above the watermark on one disk takes no room on the other", disks{{100, 100}, {100, 10}}, 3, 70, "", "", 106},
		{"the most free disk is above the watermark: nothing comes, though another is empty", disks{{1000, 860}, {100, 0}}, 1, 10, "disk-does-not-fit", "room for 0 B", 92},
		{"one node has room, and the most free disks of two are above the watermark", disks{{1000, 860}, {100, 0}}, 5, 20, "disk-does-not-fit", "100.0 GiB would have to move, and the 3 node(s) that remain for it have room for 75.0 GiB", 94},
		{"the disks are not known: the sum stands for them", disks{{200, 100}}, 1, 60, "", "", 71},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &expected{}
			e.db = model.Database{Nodes: nodesOf(4), Settings: model.AllocationSettings{LowWatermark: "85%", HighWatermark: "90%", DiskThreshold: true, ShardsPerNode: 1000, TotalShardsPerNode: -1}}
			for i := range e.db.Nodes {
				n := &e.db.Nodes[i]
				n.DiskSize, n.DiskUsed = 0, 0
				for _, d := range c.disks {
					n.DiskSize += d[0] << 30
					n.DiskUsed += d[1] << 30
					if len(c.disks) > 1 {
						n.Disks = append(n.Disks, model.Disk{Size: d[0] << 30, Used: d[1] << 30})
					}
				}
			}
			if c.shards == 5 {
				n := &e.db.Nodes[2]
				n.Disks, n.DiskSize, n.DiskUsed = nil, 100<<30, 10<<30
			}
			on := make([][]int, c.shards)
			for i := range on {
				on[i] = []int{3}
			}
			e.lie(model.Table{Name: "doc.t", Replicas: "0", TotalShardsPerNode: -1}, on)
			for i := range e.db.Shards {
				e.db.Shards[i].Bytes = c.bytes << 30
			}
			nodes := []*model.Node{&e.db.Nodes[0], &e.db.Nodes[1], &e.db.Nodes[2], &e.db.Nodes[3]}
			refusals := capacity.NewForecast(&e.db, "6.4.3", nodes[3:], nodes[:3], false, false).Refusals()
			assert.Equal(t, c.refused, reasonsOf(refusals), "%v", refusals)
			if c.says != "" {
				assert.Contains(t, refusals[0].Message, c.says)
			}
			f := capacity.ForecastDrain(&e.db, "6.4.3", []string{"n3"}, []string{"n0", "n1", "n2", "n3"})
			assert.True(t, f.Known)
			assert.Equal(t, c.percent, f.Percent)
		})
	}
}

func reasonsOf(list []model.Reason) string {
	out := ""
	for _, r := range list {
		out += r.Name
	}
	return out
}

// A copy comes back to a node, or goes to another one, by the most free disk.
func TestANodeTakesACopyByItsMostFreeDisk(t *testing.T) {
	const gib = 1 << 30
	above := "doc.t (n0: another copy of the shard is there; n1: above the low watermark (85%))"
	for _, c := range []struct {
		name     string
		disks    []model.Disk
		unhealed []string
	}{
		{"one full disk", []model.Disk{{Size: 100 * gib, Used: 95 * gib}}, []string{above}},
		{"one full and one empty disk", []model.Disk{{Size: 100 * gib, Used: 100 * gib}, {Size: 20 * gib}}, nil},
		{"two full disks", []model.Disk{{Size: 100 * gib, Used: 95 * gib}, {Size: 100 * gib, Used: 90 * gib}}, []string{above}},
		{"the one with most bytes free is above the watermark", []model.Disk{{Size: 1000 * gib, Used: 860 * gib}, {Size: 100 * gib}}, []string{above}},
		{"a large copy, which the most free disk does not take", []model.Disk{{Size: 100 * gib, Used: 84 * gib}, {Size: 100 * gib, Used: 85 * gib}},
			[]string{"doc.t (n0: another copy of the shard is there; n1: above the high watermark (90%) with the shard of 10.0 GiB)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &expected{}
			e.db = model.Database{Nodes: nodesOf(2), Settings: model.AllocationSettings{LowWatermark: "85%", HighWatermark: "90%", DiskThreshold: true}}
			e.lie(model.Table{Name: "doc.t", Replicas: "1"}, [][]int{{0, 1}})
			for i := range e.db.Shards {
				e.db.Shards[i].Bytes = 10 * gib
			}
			n := &e.db.Nodes[1]
			n.Disks, n.DiskSize, n.DiskUsed = c.disks, 0, 0
			for _, d := range c.disks {
				n.DiskSize += d.Size
				n.DiskUsed += d.Used
			}
			assert.Equal(t, c.unhealed, capacity.ForecastRestart(&e.db, "6.4.3", []string{"n1"}, []string{"n0", "n1"}).Unhealed)
		})
	}
}
