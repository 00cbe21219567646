package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/model"
)

// What it does that n1 of four nodes is away and comes back.
func TestWhatTheAbsenceOfANodeDoes(t *testing.T) {
	full := func(e *expected, nodes ...int) {
		for _, i := range nodes {
			e.db.Nodes[i].DiskUsed = 86 << 30
		}
	}
	for _, c := range []struct {
		name            string
		given           func(*expected)
		unhealed, hangs []string
	}{
		{"nothing in the way", func(e *expected) { e.lie(model.Table{Name: "doc.t", Replicas: "1"}, [][]int{{0, 1}, {1, 2}}) }, nil, nil},
		{"it may not come back by the table", func(e *expected) { e.lie(model.Table{Name: "doc.t", Replicas: "1", Enable: "none"}, [][]int{{0, 1}}) }, []string{"doc.t (routing.allocation.enable of the table is 'none')"}, nil},
		{"only new primaries", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "1", Enable: "new_primaries"}, [][]int{{1, 0}})
		}, []string{"doc.t (routing.allocation.enable of the table is 'new_primaries')"}, nil},
		{"a primary comes back as a replica", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "1", Enable: "primaries"}, [][]int{{1, 0}})
		}, []string{"doc.t (routing.allocation.enable of the table is 'primaries')"}, nil},
		{"the only copy comes back to its own store", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "0", Enable: "none"}, [][]int{{1}})
			full(e, 0, 1, 2, 3)
		}, nil, nil},
		{"a table that is held and is not on the node", func(e *expected) { e.lie(model.Table{Name: "doc.t", Replicas: "1", Enable: "none"}, [][]int{{0, 2}}) }, nil, nil},
		{"every disk above the low watermark", func(e *expected) {
			full(e, 0, 1, 2, 3)
			e.lie(model.Table{Name: "doc.t", Replicas: "1"}, [][]int{{0, 1}})
		}, []string{"doc.t (n0: another copy of the shard is there; n1, n2, n3: above the low watermark (85%))"}, nil},
		{"another node has room", func(e *expected) {
			full(e, 0, 1, 2)
			e.lie(model.Table{Name: "doc.t", Replicas: "1"}, [][]int{{0, 1}})
		}, nil, nil},
		{"another node has room, and has the copy", func(e *expected) {
			full(e, 1, 2, 3)
			e.lie(model.Table{Name: "doc.t", Replicas: "1"}, [][]int{{0, 1}})
		}, []string{"doc.t (n0: another copy of the shard is there; n1, n2, n3: above the low watermark (85%))"}, nil},
		{"free bytes as the watermark", func(e *expected) {
			e.db.Settings.LowWatermark = "95gb"
			e.lie(model.Table{Name: "doc.t", Replicas: "1"}, [][]int{{0, 1}})
		}, []string{"doc.t (n0: another copy of the shard is there; n1, n2, n3: above the low watermark (95gb))"}, nil},
		{"a large shard counts once more, up to the high watermark", func(e *expected) {
			e.db.Settings.HighWatermark = "90%"
			for i := range e.db.Nodes {
				e.db.Nodes[i].DiskUsed = 80 << 30
			}
			e.lie(model.Table{Name: "doc.t", Replicas: "1"}, [][]int{{0, 1}})
			e.db.Shards[0].Bytes, e.db.Shards[1].Bytes = 11<<30, 11<<30
		}, []string{"doc.t (n0: another copy of the shard is there; n1, n2, n3: above the high watermark (90%) with the shard of 11.0 GiB)"}, nil},
		{"a threshold that is off", func(e *expected) {
			e.db.Settings.DiskThreshold = false
			full(e, 0, 1, 2, 3)
			e.lie(model.Table{Name: "doc.t", Replicas: "1"}, [][]int{{0, 1}})
		}, nil, nil},
		{"a disk of unknown size", func(e *expected) {
			full(e, 0, 2, 3)
			e.db.Nodes[1].DiskSize = -1
			e.lie(model.Table{Name: "doc.t", Replicas: "1"}, [][]int{{0, 1}})
		}, nil, nil},
		{"a filter that came after its copies", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "1", Exclude: map[string]string{"_name": "n1,n2,n3"}}, [][]int{{0, 1}})
		}, []string{"doc.t (n0: another copy of the shard is there; n1, n2, n3: the filters of the table forbid it)"}, nil},
		{"a filter that only this node fits", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "1", Require: map[string]string{"_name": "n0"}}, [][]int{{0, 1}})
		}, []string{"doc.t (n0: another copy of the shard is there; n1, n2, n3: the filters of the table forbid it)"}, nil},
		{"a filter that it fits", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "1", Include: map[string]string{"_name": "n0,n1"}}, [][]int{{0, 1}})
		}, nil, nil},
		{"filters of the cluster", func(e *expected) {
			e.db.Settings.Exclude = map[string]string{"_name": "n1,n2,n3"}
			e.lie(model.Table{Name: "doc.t", Replicas: "1"}, [][]int{{0, 1}})
		}, []string{"doc.t (n0: another copy of the shard is there; n1, n2, n3: allocation filters forbid it)"}, nil},
		{"a filter by what is not read of nodes", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "1", Require: map[string]string{"_host": "h"}}, [][]int{{0, 1}})
		}, nil, nil},
		{"a limit that was lowered", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "1", TotalShardsPerNode: 1}, [][]int{{0, 1}, {1, 2}, {3, 0}})
		}, []string{"doc.t (n0, n3: as many shards of the table as its total_shards_per_node allows (1); n1: another shard needs the place; n2: another copy of the shard is there)"}, nil},
		{"a limit that is just kept", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "1", TotalShardsPerNode: 2}, [][]int{{0, 1}, {1, 2}, {2, 0}})
		}, nil, nil},
		{"a limit of the cluster", func(e *expected) {
			e.db.Settings.TotalShardsPerNode = 1
			e.lie(model.Table{Name: "doc.t", Replicas: "1"}, [][]int{{0, 1}, {1, 2}, {3, 2}})
		}, []string{"doc.t (n0, n3: as many shards as cluster.routing.allocation.total_shards_per_node allows (1); n1: another shard needs the place; n2: another copy of the shard is there)"}, nil},
		{"zones that came after the copies", func(e *expected) {
			e.zones("a", "a", "b", "b", "b")
			full(e, 2, 3)
			e.lie(model.Table{Name: "doc.t", Replicas: "1"}, [][]int{{0, 1}})
		}, []string{"doc.t (n0: another copy of the shard is there; n1: zone a has as many copies of the shard as it may; n2, n3: above the low watermark (85%))"}, nil},
		{"zones that it fits", func(e *expected) {
			e.zones("a", "b", "c", "c", "c")
			e.lie(model.Table{Name: "doc.t", Replicas: "2"}, [][]int{{0, 1, 2}})
		}, nil, nil},

		{"writes wait for all", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "1", WaitForActiveShards: "ALL"}, [][]int{{0, 1}})
		}, nil, []string{"doc.t (ALL)"}},
		{"for all of a table that is elsewhere", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "1", WaitForActiveShards: "ALL"}, [][]int{{0, 2}})
		}, nil, nil},
		{"for one", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "1", WaitForActiveShards: "1"}, [][]int{{0, 1}})
		}, nil, nil},
		{"for more than are left", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "2", WaitForActiveShards: "3"}, [][]int{{0, 1, 2}})
		}, nil, []string{"doc.t (3)"}},
		{"for as many as are left", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "2", WaitForActiveShards: "2"}, [][]int{{0, 1, 2}})
		}, nil, nil},
		{"for all of a range that then wants fewer", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "0-all", WaitForActiveShards: "ALL"}, [][]int{{0, 1, 2, 3}})
		}, nil, nil},
		{"for all of a range that wants as many", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "0-1", WaitForActiveShards: "ALL"}, [][]int{{0, 1}})
		}, nil, []string{"doc.t (ALL)"}},
		{"for all of the only copy: that is away", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "0", WaitForActiveShards: "ALL"}, [][]int{{1}})
		}, nil, nil},
		{"what is not known", func(e *expected) {
			e.lie(model.Table{Name: "doc.t", Replicas: "1"}, [][]int{{0, 1}})
		}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &expected{version: "6.4.3"}
			e.db = model.Database{Nodes: nodesOf(5), Settings: model.AllocationSettings{LowWatermark: "85%", DiskThreshold: true, ShardsPerNode: 1000, TotalShardsPerNode: -1}}
			c.given(e)
			f := capacity.ForecastRestart(&e.db, e.version, []string{"n1"}, []string{"n0", "n1", "n2", "n3"})
			assert.Equal(t, c.unhealed, f.Unhealed)
			assert.Equal(t, c.hangs, f.WritesWait)
		})
	}
}

// When a range of replicas comes to fewer copies than a number that writes wait for, CrateDB
// cannot take the node off that has made it so (run on 6.4.3 and 6.3.7).
func TestARangeThatComesToTooFewCopiesKeepsANodeInTheCluster(t *testing.T) {
	for _, c := range []struct {
		name  string
		table model.Table
		keeps bool
	}{
		{"as many as all nodes", model.Table{Replicas: "0-all", WaitForActiveShards: "4"}, true},
		{"as many as are left", model.Table{Replicas: "0-all", WaitForActiveShards: "3"}, false},
		{"an upper bound that is left", model.Table{Replicas: "0-2", WaitForActiveShards: "3"}, false},
		{"an upper bound that is not left", model.Table{Replicas: "1-3", WaitForActiveShards: "4"}, true},
		{"a lower bound that is not left: the number stays as it is", model.Table{Replicas: "3-all", WaitForActiveShards: "4"}, false},
		{"a number of replicas", model.Table{Replicas: "3", WaitForActiveShards: "4"}, false},
		{"all copies, however many", model.Table{Replicas: "0-all", WaitForActiveShards: "ALL"}, false},
		{"the default", model.Table{Replicas: "0-1", WaitForActiveShards: "1"}, false},
		{"not known", model.Table{Replicas: "0-all"}, false},
		{"filters leave two nodes, and one of them goes", model.Table{Replicas: "0-1", WaitForActiveShards: "2", Include: map[string]string{"_name": "n0,n1"}}, true},
		{"filters leave two others", model.Table{Replicas: "0-1", WaitForActiveShards: "2", Include: map[string]string{"_name": "n0,n2"}}, false},
		{"a partition is corrected at its table", model.Table{Name: "doc.t p=1", Of: "doc.t", Replicas: "0-all", WaitForActiveShards: "4"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.table.Name == "" {
				c.table.Name = "doc.t"
			}
			db := model.Database{Nodes: nodesOf(4), Tables: []model.Table{c.table}}
			f := capacity.ForecastRestart(&db, "6.4.3", []string{"n1"}, []string{"n0", "n1", "n2", "n3"})
			assert.Equal(t, c.keeps, len(f.Keeps) == 1, "%v", f.Keeps)
			for _, words := range f.Keeps {
				assert.Contains(t, words, `ALTER TABLE "doc"."t" SET ("write.wait_for_active_shards" = `)
			}
		})
	}
}
