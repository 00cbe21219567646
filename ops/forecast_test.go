package ops

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/model"
)

// expected is a forecast of five nodes n0 to n4 of 100 GiB with 10 used, of which
// the last two leave.
type expected struct {
	db            model.Database
	version       string
	leaving       int
	extend, leave bool
}

func nodesOf(n int) []model.Node {
	var out []model.Node
	for i := range n {
		out = append(out, model.Node{ID: fmt.Sprintf("id%d", i), Name: fmt.Sprintf("n%d", i), DiskSize: 100 << 30, DiskUsed: 10 << 30, Attributes: map[string]string{"tier": "hot"}})
	}
	return out
}

// spread puts copies of a table's shards on the nodes one after the other.
func (e *expected) spread(t model.Table, shards, copies int, bytes int64) {
	if t.TotalShardsPerNode == 0 {
		t.TotalShardsPerNode = -1
	}
	e.db.Tables = append(e.db.Tables, t)
	for id := range shards {
		for c := range copies {
			e.db.Shards = append(e.db.Shards, model.Shard{Table: t.Name, ID: id, Node: e.db.Nodes[(id+c)%len(e.db.Nodes)].ID, State: "STARTED", Bytes: bytes, Primary: c == 0})
		}
	}
}

// lie puts the copies of shard i of a table on the nodes of row i.
func (e *expected) lie(t model.Table, on [][]int) {
	e.db.Tables = append(e.db.Tables, t)
	for id, nodes := range on {
		for c, n := range nodes {
			e.db.Shards = append(e.db.Shards, model.Shard{Table: t.Name, ID: id, Node: e.db.Nodes[n].ID, State: "STARTED", Bytes: 1, Primary: c == 0})
		}
	}
}

func (e *expected) zones(zones ...string) {
	e.db.Settings.Awareness = []string{"zone"}
	for i := range e.db.Nodes {
		e.db.Nodes[i].Attributes = map[string]string{"zone": zones[i]}
	}
}

func (e *expected) forces(zones ...string) {
	e.db.Settings.Forced = map[string][]string{"zone": zones}
}

func TestAShrinkThatCouldNotEndIsRefusedWithNumbers(t *testing.T) {
	hot, other := map[string]string{"tier": "hot"}, map[string]string{"_name": "n9"}
	for _, c := range []struct {
		name  string
		given func(*expected)
		names []string
		words string
	}{
		{"one replica fits", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "1"}, 5, 2, 1) }, nil, ""},
		{"two replicas fit three nodes", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "2"}, 5, 3, 1) }, nil, ""},
		{"two replicas fit where no node is in a zone", func(e *expected) {
			e.db.Settings.Awareness = []string{"rack"}
			e.spread(model.Table{Name: "doc.t", Replicas: "2"}, 5, 3, 1)
		}, nil, ""},
		{"three do not", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "3"}, 5, 4, 1) }, []string{"replicas-do-not-fit"}, "doc.t (number_of_replicas '3' needs 4 node(s), it may use 3). To go on, run ALTER TABLE \"doc\".\"t\" SET (number_of_replicas = '2-3'); or keep at least 4 data nodes"},
		{"a range counts by its lower bound", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "0-4"}, 5, 5, 1) }, nil, ""},
		{"all, from none", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "0-all"}, 5, 5, 1) }, nil, ""},
		{"all, from one: it blocks nothing", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "1-all"}, 5, 5, 1) }, nil, ""},
		{"a lower bound that does not fit", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "3-all"}, 5, 5, 1) }, []string{"replicas-do-not-fit"}, "(number_of_replicas = '2-3')"},
		{"a partition of its own number", func(e *expected) {
			e.spread(model.Table{Name: "doc.t partition a", Of: "doc.t", Partition: "a", Replicas: "1"}, 5, 2, 1)
			e.spread(model.Table{Name: "doc.t partition b", Of: "doc.t", Partition: "b", Replicas: "4"}, 5, 5, 1)
		}, []string{"replicas-do-not-fit"}, "doc.t partition b"},
		{"what cannot be read is not well", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "?"}, 1, 1, 1) }, []string{"replicas-do-not-fit"}, "SET (number_of_replicas = '2'); or keep more of the nodes that they may use"},
		{"others' exclusions leave fewer nodes", func(e *expected) {
			e.db.Settings.Exclude = map[string]string{"_name": "n0, n1"}
			e.spread(model.Table{Name: "doc.t", Replicas: "1"}, 5, 2, 1)
		}, []string{"replicas-do-not-fit"}, "it may use 1"},
		{"a table's own filters let it use nodes that leave", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "0", Exclude: other}, 5, 1, 1) }, []string{"table-filter-overrides-drain"}, "doc.t"},
		{"by consent it is put on its own list", func(e *expected) {
			e.extend = true
			e.spread(model.Table{Name: "doc.t", Replicas: "0", Exclude: other}, 5, 1, 1)
		}, nil, ""},
		{"a partitioned table lets its next partition use them", func(e *expected) {
			e.db.Partitioned = append(e.db.Partitioned, model.Table{Name: "doc.t", Replicas: "0", Exclude: other})
		}, []string{"table-filter-overrides-drain"}, "doc.t"},
		{"a table's own require decides alone", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "0", Require: hot}, 5, 1, 1) },
			[]string{"table-filter-decides-alone"}, `doc.t: ALTER TABLE "doc"."t" SET ("routing.allocation.include._name" = 'n0,n1,n2'); ALTER TABLE "doc"."t" RESET ("routing.allocation.require.tier")`},
		{"by consent it is changed", func(e *expected) {
			e.extend = true
			e.spread(model.Table{Name: "doc.t", Replicas: "2", Require: hot}, 5, 3, 1)
		}, nil, ""},
		{"and what then remains for it has to be enough", func(e *expected) {
			e.extend = true
			e.spread(model.Table{Name: "doc.t", Replicas: "1", Include: map[string]string{"_name": "n0,n4"}}, 5, 2, 1)
		}, []string{"replicas-do-not-fit"}, "it may use 1"},
		{"of disk, too", func(e *expected) {
			e.extend = true
			e.lie(model.Table{Name: "doc.t", Replicas: "0", TotalShardsPerNode: -1, Include: map[string]string{"_name": "n0,n4"}}, [][]int{{4}})
			e.db.Shards[0].Bytes, e.db.Nodes[0].DiskUsed = 20<<30, 80<<30
			e.spread(model.Table{Name: "doc.u", Replicas: "0"}, 5, 1, 1)
		}, []string{"disk-does-not-fit"}, "the 1 node(s) that remain"},
		{"of total_shards_per_node, too", func(e *expected) {
			e.extend = true
			e.spread(model.Table{Name: "doc.t", Replicas: "0", TotalShardsPerNode: 3, Include: map[string]string{"_name": "n0,n4"}}, 5, 1, 1)
		}, []string{"shards-do-not-fit"}, "doc.t"},
		{"without the consent its include is refused", func(e *expected) {
			e.spread(model.Table{Name: "doc.t", Replicas: "0", Include: map[string]string{"tier": "hot", "_name": "n1,n4"}}, 5, 1, 1)
		}, []string{"table-filter-decides-alone"}, `SET ("routing.allocation.include._name" = 'n0,n1,n2'); ALTER TABLE "doc"."t" RESET ("routing.allocation.include.tier")`},
		{"its exclude is not asked beside them", func(e *expected) {
			e.spread(model.Table{Name: "doc.t", Replicas: "0", Require: hot, Exclude: map[string]string{"_name": "n3,n4"}}, 5, 1, 1)
		}, []string{"table-filter-decides-alone"}, "doc.t"},
		{"its include is not asked beside its require", func(e *expected) {
			e.spread(model.Table{Name: "doc.t", Replicas: "0", Require: map[string]string{"_name": "n0"}, Include: map[string]string{"_name": "n4"}}, 1, 1, 1)
		}, nil, ""},
		{"a list by which it stays where it stays", func(e *expected) {
			e.spread(model.Table{Name: "doc.t", Replicas: "0", Include: map[string]string{"_name": "n0,n1,n2"}}, 3, 1, 1)
		}, nil, ""},
		{"one partition requires what its table does not", func(e *expected) {
			e.spread(model.Table{Name: "doc.t partition a", Of: "doc.t", Partition: "a", Replicas: "0", Require: hot}, 5, 1, 1)
			e.db.Partitioned = append(e.db.Partitioned, model.Table{Name: "doc.t", Replicas: "0"})
		}, []string{"table-filter-decides-alone"}, `doc.t partition a: ALTER TABLE "doc"."t" PARTITION (…) SET`},
		{"by no consent, for it could not be given back", func(e *expected) {
			e.extend = true
			e.spread(model.Table{Name: "doc.t partition a", Of: "doc.t", Partition: "a", Replicas: "0", Require: hot}, 5, 1, 1)
			e.db.Partitioned = append(e.db.Partitioned, model.Table{Name: "doc.t", Replicas: "0"})
		}, []string{"table-filter-decides-alone"}, `doc.t partition a: ALTER TABLE "doc"."t" PARTITION (…) SET`},
		{"by consent, if all are the same", func(e *expected) {
			e.extend = true
			e.spread(model.Table{Name: "doc.t partition a", Of: "doc.t", Partition: "a", Replicas: "0", Require: hot}, 5, 1, 1)
			e.db.Partitioned = append(e.db.Partitioned, model.Table{Name: "doc.t", Replicas: "0", Require: hot})
		}, nil, ""},
		{"a partitioned table, as a whole", func(e *expected) {
			e.spread(model.Table{Name: "doc.t partition a", Of: "doc.t", Partition: "a", Replicas: "0", Require: hot}, 5, 1, 1)
			e.db.Partitioned = append(e.db.Partitioned, model.Table{Name: "doc.t", Replicas: "0", Require: hot})
		}, []string{"table-filter-decides-alone"}, `doc.t partition a: ALTER TABLE "doc"."t" SET`},
		{"what is not known of a node keeps no shard off it", func(e *expected) {
			e.spread(model.Table{Name: "doc.t", Replicas: "0", Include: map[string]string{"_host": "h,n0"}}, 5, 1, 1)
		}, []string{"table-filter-decides-alone", "replicas-do-not-fit"}, "doc.t"},
		{"and no consent helps", func(e *expected) {
			e.extend = true
			e.spread(model.Table{Name: "doc.t", Replicas: "0", Include: map[string]string{"_host": "h,n0"}}, 5, 1, 1)
		}, []string{"table-filter-decides-alone", "replicas-do-not-fit"}, "doc.t"},
		{"an address that is known does", func(e *expected) {
			for i := range e.db.Nodes {
				e.db.Nodes[i].Address = fmt.Sprintf("10.0.0.%d", i)
			}
			e.spread(model.Table{Name: "doc.t", Replicas: "0", Include: map[string]string{"_ip": "10.0.0.0, 10.0.0.1"}}, 2, 1, 1)
		}, nil, ""},
		{"before 5.9 the cluster's exclusion counts too", func(e *expected) {
			e.version = "5.8.5"
			e.spread(model.Table{Name: "doc.t", Replicas: "0", Require: hot}, 5, 1, 1)
		}, nil, ""},
		{"before 5.9 all of a table's filters are asked", func(e *expected) {
			e.version = "5.8.5"
			e.spread(model.Table{Name: "doc.t", Replicas: "2", Require: hot, Exclude: map[string]string{"_name": "n0"}}, 5, 3, 1)
		}, []string{"replicas-do-not-fit"}, "it may use 2"},
		{"from 5.9 on its exclude is not asked", func(e *expected) {
			e.db.Nodes[3].Attributes, e.db.Nodes[4].Attributes = nil, nil
			e.db.Nodes[3].Attributes, e.db.Nodes[4].Attributes = map[string]string{}, map[string]string{}
			e.spread(model.Table{Name: "doc.t", Replicas: "2", Require: hot, Exclude: map[string]string{"_name": "n0"}}, 3, 3, 1)
		}, nil, ""},
		{"filters that keep it off the leaving nodes", func(e *expected) {
			e.spread(model.Table{Name: "doc.t", Replicas: "0", Include: map[string]string{"_name": "n0,n1"}}, 2, 1, 1)
		}, nil, ""},
		{"consent, and partitions of different lists", func(e *expected) {
			e.extend = true
			e.spread(model.Table{Name: "doc.t partition a", Of: "doc.t", Replicas: "0", Exclude: other}, 5, 1, 1)
			e.spread(model.Table{Name: "doc.t partition b", Of: "doc.t", Replicas: "0", Exclude: map[string]string{"_id": "x"}}, 5, 1, 1)
		}, []string{"table-filter-overrides-drain"}, "make the exclude lists of ids of its partitions the same"},
		{"a tier that leaves as a whole", func(e *expected) {
			e.db.Nodes[3].Attributes, e.db.Nodes[4].Attributes = map[string]string{"tier": "cold"}, map[string]string{"tier": "cold"}
			e.spread(model.Table{Name: "doc.t", Replicas: "0", Require: map[string]string{"tier": "cold"}}, 1, 1, 1)
		}, []string{"table-filter-decides-alone", "replicas-do-not-fit"}, `doc.t: ALTER TABLE "doc"."t" RESET ("routing.allocation.require.tier")`},
		{"a tier that leaves as a whole, by consent", func(e *expected) {
			e.db.Nodes[3].Attributes, e.db.Nodes[4].Attributes = map[string]string{"tier": "cold"}, map[string]string{"tier": "cold"}
			e.extend = true
			e.spread(model.Table{Name: "doc.t", Replicas: "0", Require: map[string]string{"tier": "cold"}}, 1, 1, 1)
		}, nil, ""},
		{"the last nodes of a zone that is needed", func(e *expected) {
			e.zones("a", "a", "b", "c", "c")
			e.spread(model.Table{Name: "doc.t", Replicas: "2"}, 5, 3, 1)
		}, []string{"last-node-of-zone"}, "zone c"},
		{"by consent they leave", func(e *expected) {
			e.leave = true
			e.zones("a", "a", "b", "c", "c")
			e.spread(model.Table{Name: "doc.t", Replicas: "2"}, 5, 3, 1)
		}, nil, ""},
		{"by consent, where the other zones do not take the copies afterwards either", func(e *expected) {
			e.leave, e.leaving = true, 1
			e.zones("a", "a", "a", "b", "c")
			e.spread(model.Table{Name: "doc.t", Replicas: "3"}, 1, 4, 1)
		}, []string{"replicas-do-not-fit"}, "in each zone"},
		{"by consent, and the zone is forced", func(e *expected) {
			e.leave = true
			e.zones("a", "a", "b", "c", "c")
			e.forces("a", "b", "c")
			e.spread(model.Table{Name: "doc.t", Replicas: "2"}, 5, 3, 1)
		}, []string{"last-node-of-zone"}, "the last node(s) of zone c would leave, and 1 table(s) or partition(s) would stay yellow, also with the consent leave-zone: doc.t. CrateDB counts a zone of cluster.routing.allocation.awareness.force.zone.values (c) without a node"},
		{"a forced zone, without the consent: it would not help", func(e *expected) {
			e.zones("a", "a", "b", "c", "c")
			e.forces("a", "b", "c")
			e.spread(model.Table{Name: "doc.t", Replicas: "2"}, 5, 3, 1)
		}, []string{"last-node-of-zone"}, "also with the consent leave-zone"},
		{"a forced zone, and a table that needs no place in it", func(e *expected) {
			e.leave = true
			e.zones("a", "a", "b", "c", "c")
			e.forces("a", "b", "c")
			e.spread(model.Table{Name: "doc.t", Replicas: "1"}, 5, 2, 1)
		}, nil, ""},
		{"by consent, and the zones that stay are forced", func(e *expected) {
			e.leave = true
			e.zones("a", "a", "b", "c", "c")
			e.forces("a", "b")
			e.spread(model.Table{Name: "doc.t", Replicas: "2"}, 5, 3, 1)
		}, nil, ""},
		{"a forced zone that no node was ever in", func(e *expected) {
			e.leaving = 1
			e.zones("a", "a", "b", "b", "b")
			e.forces("a", "b", "c")
			e.spread(model.Table{Name: "doc.t", Replicas: "2"}, 5, 3, 1)
		}, []string{"replicas-do-not-fit"}, "in each zone"},
		{"it leaves the others room for two copies each", func(e *expected) {
			e.leaving = 1
			e.zones("a", "a", "b", "b", "b")
			e.forces("a", "b", "c")
			e.lie(model.Table{Name: "doc.t", Replicas: "3"}, [][]int{{0, 1, 2, 4}})
		}, nil, ""},
		{"a forced zone leaves a shard no place", func(e *expected) {
			e.leaving = 1
			e.zones("a", "a", "b", "b", "b")
			e.forces("c")
			e.db.Nodes[3].DiskUsed = 90 << 30
			e.lie(model.Table{Name: "doc.t", Replicas: "1"}, [][]int{{0, 4}})
			e.db.Nodes[2].DiskUsed = 90 << 30
		}, []string{"shard-has-no-place"}, "n1: zone a has as many copies of the shard as it may"},
		{"a zone that no table needs", func(e *expected) {
			e.zones("a", "a", "b", "c", "c")
			e.spread(model.Table{Name: "doc.t", Replicas: "1"}, 5, 2, 1)
		}, nil, ""},
		{"a zone that keeps too few", func(e *expected) {
			e.leaving = 1
			e.zones("a", "a", "a", "b", "b")
			e.spread(model.Table{Name: "doc.t", Replicas: "3"}, 5, 4, 1)
		}, []string{"replicas-do-not-fit"}, "in each zone"},
		{"a range that comes to fewer copies than writes wait for", func(e *expected) {
			e.spread(model.Table{Name: "doc.t", Replicas: "0-all", WaitForActiveShards: "4"}, 5, 4, 1)
		}, []string{"node-cannot-leave"}, `number_of_replicas '0-all' comes to 3 copies, write.wait_for_active_shards is 4: ALTER TABLE "doc"."t" SET ("write.wait_for_active_shards" = 3)`},
		{"a node without a zone, which counts as one and takes none", func(e *expected) {
			e.leaving = 1
			e.zones("a", "b", "a", "", "b")
			e.spread(model.Table{Name: "doc.t", Replicas: "2"}, 5, 3, 1)
		}, []string{"replicas-do-not-fit"}, "in each zone"},
		{"as many zones as copies, and one node without", func(e *expected) {
			e.leaving = 1
			e.zones("a", "b", "a", "", "b")
			e.spread(model.Table{Name: "doc.t", Replicas: "1"}, 5, 2, 1)
		}, nil, ""},
		{"bytes below the low watermark", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "0"}, 5, 1, 70<<30) }, nil, ""},
		{"bytes above it", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "0"}, 10, 1, 60<<30) }, []string{"disk-does-not-fit"}, "240.0 GiB would have to move"},
		{"a shard that no node has room for", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "0"}, 5, 1, 80<<30) }, []string{"disk-does-not-fit"}, "the largest shard"},
		{"free bytes as the watermark", func(e *expected) {
			e.db.Settings.LowWatermark = "50gb"
			e.spread(model.Table{Name: "doc.t", Replicas: "0"}, 5, 1, 70<<30)
		}, []string{"disk-does-not-fit"}, "50gb"},
		{"a threshold that is off", func(e *expected) {
			e.db.Settings.DiskThreshold = false
			e.spread(model.Table{Name: "doc.t", Replicas: "0"}, 10, 1, 60<<30)
		}, nil, ""},
		{"a disk of unknown size", func(e *expected) {
			e.db.Nodes[0].DiskSize = -1
			e.spread(model.Table{Name: "doc.t", Replicas: "0"}, 10, 1, 60<<30)
		}, nil, ""},
		{"a range gives copies up rather than move them", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "0-all"}, 2, 5, 70<<30) }, nil, ""},
		{"max_shards_per_node", func(e *expected) {
			e.db.Settings.ShardsPerNode = 3
			e.spread(model.Table{Name: "doc.t", Replicas: "1"}, 5, 2, 1)
		}, []string{"shards-do-not-fit"}, "10 shard copies"},
		{"the cluster's total_shards_per_node", func(e *expected) {
			e.db.Settings.TotalShardsPerNode = 3
			e.spread(model.Table{Name: "doc.t", Replicas: "1"}, 5, 2, 1)
		}, []string{"shards-do-not-fit"}, "cluster.routing.allocation.total_shards_per_node"},
		{"a table that keeps its shards", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "1", Enable: "none"}, 5, 2, 1) }, []string{"table-allocation-held"}, `run ALTER TABLE "doc"."t" RESET ("routing.allocation.enable")`},
		{"only new primaries, of a partition", func(e *expected) {
			e.spread(model.Table{Name: "doc.t partition a", Of: "doc.t", Partition: "a", Replicas: "0", Enable: "new_primaries"}, 5, 1, 1)
		}, []string{"table-allocation-held"}, `doc.t partition a (new_primaries); run ALTER TABLE "doc"."t" RESET`},
		{"a blob table that keeps its shards", func(e *expected) { e.spread(model.Table{Name: "blob.b", Replicas: "0", Enable: "none"}, 5, 1, 1) }, []string{"table-allocation-held"}, `run ALTER BLOB TABLE "b" RESET`},
		{"one that keeps its replicas", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "1", Enable: "primaries"}, 5, 2, 1) }, []string{"table-allocation-held"}, "doc.t (primaries)"},
		{"one that keeps its replicas and has none: its primaries move", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "0", Enable: "primaries"}, 5, 1, 1) }, nil, ""},
		{"one that keeps its shards, elsewhere", func(e *expected) { e.spread(model.Table{Name: "doc.t", Replicas: "0", Enable: "none"}, 3, 1, 1) }, nil, ""},
		{"a place that is free by number has the shard already", func(e *expected) {
			// Only n2 has room for one more shard of the table, and it has a copy of that one.
			e.leaving = 1
			e.db.Nodes = e.db.Nodes[:4]
			e.lie(model.Table{Name: "doc.u", Replicas: "1", TotalShardsPerNode: 2}, [][]int{{0, 1}, {0, 1}, {2, 3}})
		}, []string{"shard-has-no-place"}, "doc.u (n0, n1: as many shards of the table as its total_shards_per_node allows (2); n2: another copy of the shard is there"},
		{"one place for two shards", func(e *expected) {
			e.leaving = 1
			e.db.Nodes = e.db.Nodes[:4]
			e.lie(model.Table{Name: "doc.u", Replicas: "1", TotalShardsPerNode: 2}, [][]int{{0, 3}, {0, 3}, {1, 2}})
			e.db.Nodes[2].DiskUsed = 90 << 30 // so that only n1 is left, and may have one more
		}, []string{"shard-has-no-place"}, "another shard needs the place"},
		{"two shards, and each has another place", func(e *expected) {
			e.leaving = 1
			e.db.Nodes = e.db.Nodes[:4]
			// Shard 0 may go to n1 and n2, shard 1 to n1 only: the first that comes takes n1.
			e.lie(model.Table{Name: "doc.t", Replicas: "1", TotalShardsPerNode: 2}, [][]int{{0, 3}, {2, 3}, {0, 1}, {}})
		}, nil, ""},
		{"the only node with room has a copy", func(e *expected) {
			e.leaving = 1
			e.db.Nodes = e.db.Nodes[:4]
			e.db.Nodes[1].DiskUsed, e.db.Nodes[2].DiskUsed = 90<<30, 90<<30
			e.lie(model.Table{Name: "doc.t", Replicas: "1"}, [][]int{{0, 3}})
		}, []string{"shard-has-no-place"}, "doc.t (n0: another copy of the shard is there; n1, n2: above the low watermark (85%)"},
		{"the table's total_shards_per_node", func(e *expected) {
			e.spread(model.Table{Name: "doc.t", Replicas: "1", TotalShardsPerNode: 3}, 5, 2, 1)
		}, []string{"shards-do-not-fit"}, "doc.t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &expected{version: "6.4.3", leaving: 2}
			e.db = model.Database{Nodes: nodesOf(5), Settings: model.AllocationSettings{LowWatermark: "85%", DiskThreshold: true, ShardsPerNode: 1000, TotalShardsPerNode: -1}}
			c.given(e)
			var leaving, remaining []*model.Node
			for i := range e.db.Nodes {
				if n := &e.db.Nodes[i]; i >= len(e.db.Nodes)-e.leaving {
					leaving = append(leaving, n)
				} else {
					remaining = append(remaining, n)
				}
			}
			refusals := capacity.NewForecast(&e.db, e.version, leaving, remaining, e.extend, e.leave).Refusals()
			var names []string
			for _, r := range refusals {
				names = append(names, r.Name)
			}
			require.Equal(t, c.names, names, "%v", refusals)
			if c.words != "" {
				assert.Contains(t, refusals[0].Message, c.words)
			}
			if slices.Equal(names, []string{"replicas-do-not-fit"}) {
				said := regexp.MustCompile(`number_of_replicas = '([^']+)'`).FindStringSubmatch(refusals[0].Message)
				require.NotNil(t, said, "it says which number fits: %s", refusals[0].Message)
				for i := range e.db.Tables {
					e.db.Tables[i].Replicas = said[1]
				}
				for _, left := range capacity.NewForecast(&e.db, e.version, leaving, remaining, e.extend, e.leave).Refusals() {
					assert.NotEqual(t, "replicas-do-not-fit", left.Name, "what it says is the remedy: %s", left.Message)
				}
			}
		})
	}
}

func TestAFilterReadsAsCrateDBReadsIt(t *testing.T) {
	n := &model.Node{ID: "id0", Name: "data-hot-0", Address: "10.1.2.3", Attributes: map[string]string{"zone": "a"}}
	bare := &model.Node{ID: "id0", Name: "data-hot-0"}
	of := func(key, list string) model.Lists { return model.Lists{key: list} }
	for _, c := range []struct {
		name            string
		node            *model.Node
		f               model.Filters
		together, first model.Answer
	}{
		{"none", n, model.Filters{}, model.Yes, model.Yes},
		{"a list with a space", n, model.Filters{Exclude: of("_name", "x, data-hot-0")}, model.No, model.No},
		{"a wildcard in between", n, model.Filters{Exclude: of("_name", "data-*-1")}, model.Yes, model.Yes},
		{"a wildcard", n, model.Filters{Exclude: of("_name", "data-*")}, model.No, model.No},
		{"name is _name", n, model.Filters{Exclude: of("name", "data-hot-0")}, model.No, model.No},
		{"an id has no wildcard", n, model.Filters{Exclude: of("_id", "id*")}, model.Yes, model.Yes},
		{"an empty list is no filter", n, model.Filters{Require: of("_name", ""), Include: of("zone", " , ")}, model.Yes, model.Yes},
		{"include of another", n, model.Filters{Include: of("zone", "b")}, model.No, model.No},
		{"include of one of two", n, model.Filters{Include: model.Lists{"zone": "b", "_id": "id0"}}, model.Yes, model.Yes},
		{"require of both", n, model.Filters{Require: model.Lists{"zone": "a", "_id": "id1"}}, model.No, model.No},
		{"require of a list wants each of it", n, model.Filters{Require: of("zone", "a,b")}, model.No, model.No},
		{"require of a list of wildcards", n, model.Filters{Require: of("_name", "data-*,*-0")}, model.Yes, model.Yes},
		{"require of addresses wants one of them", n, model.Filters{Require: of("_ip", "10.9.9.9,10.1.*")}, model.Yes, model.Yes},
		{"require of an attribute that it has not", n, model.Filters{Require: of("tier", "*")}, model.No, model.No},
		{"exclude of an attribute that it has not", n, model.Filters{Exclude: of("tier", "*")}, model.Yes, model.Yes},
		{"exclude of its address", n, model.Filters{Exclude: of("_publish_ip", "10.1.2.3")}, model.No, model.No},
		{"exclude of another address", n, model.Filters{Exclude: of("_host_ip", "10.0.0.1")}, model.Yes, model.Yes},
		{"exclude of its address as a host", n, model.Filters{Exclude: of("_host", "10.1.2.*")}, model.No, model.No},
		{"exclude of another address as a host", n, model.Filters{Exclude: of("_host", "10.0.0.1")}, model.Yes, model.Yes},
		{"exclude of a host's name", n, model.Filters{Exclude: of("_host", "h")}, model.Unknown, model.Unknown},
		{"an address that is not known", bare, model.Filters{Exclude: of("_ip", "10.0.0.1")}, model.Unknown, model.Unknown},
		{"attributes that are not known", bare, model.Filters{Require: of("zone", "a")}, model.Unknown, model.Unknown},
		{"what is not known beside what decides", bare, model.Filters{Exclude: model.Lists{"_ip": "10.0.0.1", "_name": "data-hot-0"}}, model.No, model.No},
		{"require says yes, exclude no", n, model.Filters{Require: of("zone", "a"), Exclude: of("_name", "data-hot-0")}, model.No, model.Yes},
		{"require says no, include yes", n, model.Filters{Require: of("zone", "b"), Include: of("zone", "a")}, model.No, model.No},
		{"require says yes, include no", n, model.Filters{Require: of("zone", "a"), Include: of("zone", "b")}, model.No, model.Yes},
		{"include says yes, exclude no", n, model.Filters{Include: of("zone", "a"), Exclude: of("zone", "a")}, model.No, model.Yes},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.together, c.f.Together(c.node), "the cluster's")
			assert.Equal(t, c.first, c.f.First(c.node), "a table's")
		})
	}
}

// The cluster's filters are asked where a table has none, and before 5.9 always.
func TestWhoseFiltersCountForATable(t *testing.T) {
	n := &model.Node{ID: "id0", Name: "n0", Attributes: map[string]string{"tier": "hot"}}
	cluster := model.Filters{Exclude: model.Lists{"_name": "n0"}}
	hot, cold, other := model.Lists{"tier": "hot"}, model.Lists{"tier": "cold"}, model.Lists{"_name": "n9"}
	for _, c := range []struct {
		name           string
		table          model.Table
		until58, since model.Answer
	}{
		{"none of its own", model.Table{}, model.No, model.No},
		{"an empty one", model.Table{Exclude: model.Lists{"_name": ""}}, model.No, model.No},
		{"an exclude of another", model.Table{Exclude: other}, model.No, model.Yes},
		{"a require", model.Table{Require: hot}, model.No, model.Yes},
		{"a require of others", model.Table{Require: cold, Include: hot}, model.No, model.No},
		{"an include beside an exclude", model.Table{Include: hot, Exclude: model.Lists{"_name": "n0"}}, model.No, model.Yes},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.until58, c.table.Allows(n, cluster, "5.8.5"), "until 5.8")
			assert.Equal(t, c.since, c.table.Allows(n, cluster, "5.9.0"), "from 5.9 on")
		})
	}
}
