package fetch

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

// roomy is a cluster of two dedicated masters with large disks, and a node with data of which half the disk is free below the
// low watermark.
func roomy() *view.View {
	v := &view.View{Desired: model.Desired{Sets: []model.Set{{Name: "crate-master-c", Group: "master"}, {Name: "crate-data-hot-c", Group: "hot", Data: true}}}}
	db := &v.Observed.Database
	db.AllocationKnown, db.Settings.DiskThreshold, db.Settings.LowWatermark = true, true, "80%"
	for _, n := range []struct {
		set  string
		size int64
	}{{"crate-master-c", 1000}, {"crate-master-c", 1000}, {"crate-data-hot-c", 100}} {
		name := "node-" + string(rune('a'+len(db.Nodes)))
		db.Nodes = append(db.Nodes, model.Node{Name: name, DiskSize: n.size, DiskUsed: 40 * n.size / 100})
		v.Observed.Pods = append(v.Observed.Pods, model.Pod{Name: "pod-" + name, Set: n.set, NodeName: name})
	}
	return v
}

// No shard comes to a dedicated master: what its disk has is no room for any.
func TestOnlyTheDisksOfDataNodesAreRoomForTables(t *testing.T) {
	for _, c := range []struct {
		name    string
		edit    func(v *view.View)
		room    int64
		unknown string
	}{
		{"half of what is free on the node with data", func(*view.View) {}, 20, ""},
		{"the size of a master's disk is not known", func(v *view.View) { v.Observed.Database.Nodes[0].DiskSize = -1 }, 20, ""},
		{"that of a node with data is not", func(v *view.View) { v.Observed.Database.Nodes[2].DiskSize = -1 }, 0, "the room on the disks of node node-c is not known"},
		{"a group that has left the definition had data", func(v *view.View) {
			v.Desired.Sets, v.Record.Sets = v.Desired.Sets[:1], []model.RecordedSet{{Name: "crate-data-hot-c", Group: "hot"}}
		}, 20, ""},
		{"the group of masters has left it", func(v *view.View) {
			v.Desired.Sets, v.Record.Sets = v.Desired.Sets[1:], []model.RecordedSet{{Name: "crate-master-c", Group: "master"}}
		}, 20, ""},
		{"a node of which no pod is known may have data", func(v *view.View) { v.Observed.Pods = v.Observed.Pods[1:] }, 220, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := roomy()
			c.edit(v)
			room, limited, unknown := roomFor(v)
			assert.Equal(t, c.room, room)
			assert.Equal(t, c.unknown, unknown)
			assert.Equal(t, c.unknown == "", limited)
		})
	}
}
