package cluster_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/cluster"
	"stevedore.dev/stevedore/ops/model"
)

// A plan took each copy off an excluded node, also where CrateDB lets it go nowhere.
func TestACopyGoesWhereTheDecidersLetIt(t *testing.T) {
	for name, c := range map[string]struct {
		table    model.Table
		settings model.AllocationSettings
		on, then string // the nodes of the copies of one shard, the primary's first
		lacks    int
	}{
		"to the only node without one":           {model.Table{Replicas: "1"}, model.AllocationSettings{}, "a b", "c b", 0},
		"nowhere: each has one":                  {model.Table{Replicas: "2"}, model.AllocationSettings{}, "a b c", "a b c", 0},
		"nowhere: the zone would have two":       {model.Table{Replicas: "1"}, model.AllocationSettings{Awareness: []string{"zone"}}, "a b", "a b", 0},
		"the table's include decides alone":      {model.Table{Replicas: "1", Include: map[string]string{"_name": "a,b"}}, model.AllocationSettings{}, "a b", "a b", 0},
		"the other nodes are full":               {model.Table{Replicas: "0"}, model.AllocationSettings{DiskThreshold: true, LowWatermark: "10%"}, "a", "a", 0},
		"a range has one copy less":              {model.Table{Replicas: "0-all"}, model.AllocationSettings{}, "b a c", "b c", 0},
		"its replica goes, and then it moves":    {model.Table{Replicas: "0-1", Include: map[string]string{"_name": "c"}}, model.AllocationSettings{}, "a b", "c", 0},
		"one is made that the table lacks":       {model.Table{Replicas: "1"}, model.AllocationSettings{}, "b", "b c", 0},
		"more copies are desired than fit":       {model.Table{Replicas: "2"}, model.AllocationSettings{}, "b c", "b c", 1},
		"a range that begins with more has none": {model.Table{Replicas: "2-5"}, model.AllocationSettings{}, "b", "b", 0},
		"and one that has more keeps them":       {model.Table{Replicas: "2-5"}, model.AllocationSettings{}, "b c none none", "b c", 2},
		"the table's own allocation is stopped":  {model.Table{Replicas: "0", Enable: "none"}, model.AllocationSettings{}, "a", "a", 0},
	} {
		var nodes []model.Node
		for _, id := range []string{"a", "b", "c"} {
			zone := map[string]string{"a": "1", "b": "2", "c": "2"}[id]
			nodes = append(nodes, model.Node{ID: id, Name: id, Version: "6.3.7", DiskSize: 100, DiskUsed: 50, Attributes: map[string]string{"zone": zone}})
		}
		var rows []model.Shard
		for i, id := range strings.Fields(c.on) {
			row := model.Shard{Table: "t", Node: id, Primary: i == 0, State: "STARTED"}
			if id == "none" {
				row.Node, row.State = "", "UNASSIGNED"
			}
			rows = append(rows, row)
		}
		c.table.Name, c.settings.Exclude = "t", map[string]string{"_id": "a"}
		p := cluster.Place(nodes, &c.settings, []model.Table{c.table}, rows)
		p.Move(math.MaxInt)
		lacks, _, _ := p.Replicate(math.MaxInt)
		var then []string
		for _, row := range p.Rows() {
			if row.Node != "" {
				then = append(then, row.Node)
			}
		}
		assert.Equal(t, c.then, strings.Join(then, " "), name)
		assert.Equal(t, c.lacks, lacks, name)
	}
}
