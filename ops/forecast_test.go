package ops

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// expected is a forecast of five nodes n0 to n4 of 100 GiB with 10 used, of which
// the last two leave.
type expected struct {
	db            Database
	version       string
	leaving       int
	extend, leave bool
}

func nodesOf(n int) []Node {
	var out []Node
	for i := range n {
		out = append(out, Node{ID: fmt.Sprintf("id%d", i), Name: fmt.Sprintf("n%d", i), DiskSize: 100 << 30, DiskUsed: 10 << 30, Attributes: map[string]string{"tier": "hot"}})
	}
	return out
}

// spread puts copies of a table's shards on the nodes one after the other.
func (e *expected) spread(t Table, shards, copies int, bytes int64) {
	if t.TotalShardsPerNode == 0 {
		t.TotalShardsPerNode = -1
	}
	e.db.Tables = append(e.db.Tables, t)
	for id := range shards {
		for c := range copies {
			e.db.Shards = append(e.db.Shards, Shard{Table: t.Name, ID: id, Node: e.db.Nodes[(id+c)%len(e.db.Nodes)].ID, State: "STARTED", Bytes: bytes, Primary: c == 0})
		}
	}
}

func (e *expected) zones(zones ...string) {
	e.db.Settings.Awareness = []string{"zone"}
	for i := range e.db.Nodes {
		e.db.Nodes[i].Attributes = map[string]string{"zone": zones[i]}
	}
}

func TestAShrinkThatCouldNotEndIsRefusedWithNumbers(t *testing.T) {
	hot := map[string]string{"tier": "hot"}
	for _, c := range []struct {
		name  string
		given func(*expected)
		names []string
		words string
	}{
		{"one replica fits", func(e *expected) { e.spread(Table{Name: "doc.t", Replicas: "1"}, 5, 2, 1) }, nil, ""},
		{"two replicas fit three nodes", func(e *expected) { e.spread(Table{Name: "doc.t", Replicas: "2"}, 5, 3, 1) }, nil, ""},
		{"three do not", func(e *expected) { e.spread(Table{Name: "doc.t", Replicas: "3"}, 5, 4, 1) }, []string{"replicas-do-not-fit"}, "doc.t (number_of_replicas '3' needs 4 node(s), it may use 3)"},
		{"a range counts by its lower bound", func(e *expected) { e.spread(Table{Name: "doc.t", Replicas: "0-4"}, 5, 5, 1) }, nil, ""},
		{"all, from none", func(e *expected) { e.spread(Table{Name: "doc.t", Replicas: "0-all"}, 5, 5, 1) }, nil, ""},
		{"all, from one: it blocks nothing", func(e *expected) { e.spread(Table{Name: "doc.t", Replicas: "1-all"}, 5, 5, 1) }, nil, ""},
		{"a lower bound that does not fit", func(e *expected) { e.spread(Table{Name: "doc.t", Replicas: "3-all"}, 5, 5, 1) }, []string{"replicas-do-not-fit"}, "'3-all' needs 4"},
		{"a partition of its own number", func(e *expected) {
			e.spread(Table{Name: "doc.t partition a", Of: "doc.t", Partition: "a", Replicas: "1"}, 5, 2, 1)
			e.spread(Table{Name: "doc.t partition b", Of: "doc.t", Partition: "b", Replicas: "4"}, 5, 5, 1)
		}, []string{"replicas-do-not-fit"}, "doc.t partition b"},
		{"what cannot be read is not well", func(e *expected) { e.spread(Table{Name: "doc.t", Replicas: "?"}, 1, 1, 1) }, []string{"replicas-do-not-fit"}, "cannot be read"},
		{"others' exclusions leave fewer nodes", func(e *expected) {
			e.db.Settings.Exclude = map[string]string{"_name": "n0, n1"}
			e.spread(Table{Name: "doc.t", Replicas: "1"}, 5, 2, 1)
		}, []string{"replicas-do-not-fit"}, "it may use 1"},
		{"a table's own filters let it use nodes that leave", func(e *expected) { e.spread(Table{Name: "doc.t", Replicas: "0", Require: hot}, 5, 1, 1) }, []string{"table-filter-overrides-drain"}, "doc.t"},
		{"by consent it is put on its own list", func(e *expected) {
			e.extend = true
			e.spread(Table{Name: "doc.t", Replicas: "0", Require: hot}, 5, 1, 1)
		}, nil, ""},
		{"before 5.9 the cluster's exclusion counts too", func(e *expected) {
			e.version = "5.8.5"
			e.spread(Table{Name: "doc.t", Replicas: "0", Require: hot}, 5, 1, 1)
		}, nil, ""},
		{"filters that keep it off the leaving nodes", func(e *expected) {
			e.spread(Table{Name: "doc.t", Replicas: "0", Include: map[string]string{"_name": "n0,n1"}}, 2, 1, 1)
		}, nil, ""},
		{"consent, and partitions of different lists", func(e *expected) {
			e.extend = true
			e.spread(Table{Name: "doc.t partition a", Of: "doc.t", Replicas: "0", Require: hot}, 5, 1, 1)
			e.spread(Table{Name: "doc.t partition b", Of: "doc.t", Replicas: "0", Exclude: map[string]string{"_id": "x"}}, 5, 1, 1)
		}, []string{"table-filter-overrides-drain"}, "different exclude lists"},
		{"a tier that leaves as a whole", func(e *expected) {
			e.db.Nodes[3].Attributes, e.db.Nodes[4].Attributes = map[string]string{"tier": "cold"}, map[string]string{"tier": "cold"}
			e.extend = true
			e.spread(Table{Name: "doc.t", Replicas: "0", Require: map[string]string{"tier": "cold"}}, 1, 1, 1)
		}, []string{"replicas-do-not-fit"}, "it may use 0"},
		{"the last nodes of a zone that is needed", func(e *expected) {
			e.zones("a", "a", "b", "c", "c")
			e.spread(Table{Name: "doc.t", Replicas: "2"}, 5, 3, 1)
		}, []string{"last-node-of-zone"}, "zone c"},
		{"by consent they leave", func(e *expected) {
			e.leave = true
			e.zones("a", "a", "b", "c", "c")
			e.spread(Table{Name: "doc.t", Replicas: "2"}, 5, 3, 1)
		}, nil, ""},
		{"a zone that no table needs", func(e *expected) {
			e.zones("a", "a", "b", "c", "c")
			e.spread(Table{Name: "doc.t", Replicas: "1"}, 5, 2, 1)
		}, nil, ""},
		{"a zone that keeps too few", func(e *expected) {
			e.leaving = 1
			e.zones("a", "a", "a", "b", "b")
			e.spread(Table{Name: "doc.t", Replicas: "3"}, 5, 4, 1)
		}, []string{"replicas-do-not-fit"}, "in each zone"},
		{"bytes below the low watermark", func(e *expected) { e.spread(Table{Name: "doc.t", Replicas: "0"}, 5, 1, 70<<30) }, nil, ""},
		{"bytes above it", func(e *expected) { e.spread(Table{Name: "doc.t", Replicas: "0"}, 10, 1, 60<<30) }, []string{"disk-does-not-fit"}, "240.0 GiB would have to move"},
		{"a shard that no node has room for", func(e *expected) { e.spread(Table{Name: "doc.t", Replicas: "0"}, 5, 1, 80<<30) }, []string{"disk-does-not-fit"}, "the largest shard"},
		{"free bytes as the watermark", func(e *expected) {
			e.db.Settings.LowWatermark = "50gb"
			e.spread(Table{Name: "doc.t", Replicas: "0"}, 5, 1, 70<<30)
		}, []string{"disk-does-not-fit"}, "50gb"},
		{"a threshold that is off", func(e *expected) {
			e.db.Settings.DiskThreshold = false
			e.spread(Table{Name: "doc.t", Replicas: "0"}, 10, 1, 60<<30)
		}, nil, ""},
		{"a disk of unknown size", func(e *expected) {
			e.db.Nodes[0].DiskSize = -1
			e.spread(Table{Name: "doc.t", Replicas: "0"}, 10, 1, 60<<30)
		}, nil, ""},
		{"a range gives copies up rather than move them", func(e *expected) { e.spread(Table{Name: "doc.t", Replicas: "0-all"}, 2, 5, 70<<30) }, nil, ""},
		{"max_shards_per_node", func(e *expected) {
			e.db.Settings.ShardsPerNode = 3
			e.spread(Table{Name: "doc.t", Replicas: "1"}, 5, 2, 1)
		}, []string{"shards-do-not-fit"}, "10 shard copies"},
		{"the cluster's total_shards_per_node", func(e *expected) {
			e.db.Settings.TotalShardsPerNode = 3
			e.spread(Table{Name: "doc.t", Replicas: "1"}, 5, 2, 1)
		}, []string{"shards-do-not-fit"}, "cluster.routing.allocation.total_shards_per_node"},
		{"the table's total_shards_per_node", func(e *expected) {
			e.spread(Table{Name: "doc.t", Replicas: "1", TotalShardsPerNode: 3}, 5, 2, 1)
		}, []string{"shards-do-not-fit"}, "doc.t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &expected{version: "6.4.3", leaving: 2}
			e.db = Database{Nodes: nodesOf(5), Settings: AllocationSettings{LowWatermark: "85%", DiskThreshold: true, ShardsPerNode: 1000, TotalShardsPerNode: -1}}
			c.given(e)
			var leaving, remaining []*Node
			for i := range e.db.Nodes {
				if n := &e.db.Nodes[i]; i >= len(e.db.Nodes)-e.leaving {
					leaving = append(leaving, n)
				} else {
					remaining = append(remaining, n)
				}
			}
			refusals := newForecast(&e.db, e.version, leaving, remaining, e.extend, e.leave).refusals()
			var names []string
			for _, r := range refusals {
				names = append(names, r.Name)
			}
			require.Equal(t, c.names, names, "%v", refusals)
			if c.words != "" {
				assert.Contains(t, refusals[0].Message, c.words)
			}
		})
	}
}

func TestAFilterReadsAsCrateDBReadsIt(t *testing.T) {
	n := &Node{ID: "id0", Name: "data-hot-0", Attributes: map[string]string{"zone": "a"}}
	for _, c := range []struct {
		f    filters
		want bool
	}{
		{filters{}, true},
		{filters{exclude: map[string]string{"_name": "x, data-hot-0"}}, false},
		{filters{exclude: map[string]string{"_name": "data-*-1"}}, true},
		{filters{exclude: map[string]string{"_name": "data-*"}}, false},
		{filters{include: map[string]string{"zone": "b"}}, false},
		{filters{include: map[string]string{"zone": "b", "_id": "id0"}}, true},
		{filters{require: map[string]string{"zone": "a", "_id": "id1"}}, false},
		{filters{exclude: map[string]string{"_ip": "10.0.0.1"}}, false},
		{filters{require: map[string]string{"_host": "h"}}, false},
	} {
		assert.Equal(t, c.want, c.f.allow(n), "%+v", c.f)
	}
}
