package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDisksOfANodeAreShownByPath(t *testing.T) {
	for _, c := range []struct {
		name  string
		disks []Disk
		given int64 // SetDiskSize
		want  []DiskUse
	}{
		{"no volume is known", nil, 0, []DiskUse{{"", "", 1 << 40, 400}}},
		{"one volume", []Disk{{"/a", "v0", 1000}}, 0, []DiskUse{{"/a (/dev/sim0)", "/a", 1000, 400}}},
		{"what others use is divided by size", []Disk{{"/a", "v0", 1000}, {"/b", "v1", 3000}}, 0,
			[]DiskUse{{"/a (/dev/sim0)", "/a", 1000, 100}, {"/b (/dev/sim1)", "/b", 3000, 300}}},
		{"two paths on one volume: each shows the whole of it", []Disk{{"/a", "v0", 1000}, {"/b", "v1", 3000}, {"/c", "v0", 1000}}, 0,
			[]DiskUse{{"/a (/dev/sim0)", "/a", 1000, 100}, {"/b (/dev/sim1)", "/b", 3000, 300}, {"/a (/dev/sim0)", "/c", 1000, 100}}},
		{"a path that is on no volume", []Disk{{"/a", "v0", 1 << 40}, {"/b", "", 0}}, 0,
			[]DiskUse{{"/a (/dev/sim0)", "/a", 1 << 40, 200}, {"/b (/dev/sim1)", "/b", 1 << 40, 200}}},
		{"more is used than there is", []Disk{{"/a", "v0", 10}}, 0, []DiskUse{{"/a (/dev/sim0)", "/a", 10, 10}}},
		{"a size that was set", []Disk{{"/a", "v0", 1000}, {"/b", "v1", 3000}}, 500,
			[]DiskUse{{"/a (/dev/sim0)", "/a", 500, 400}, {"/a (/dev/sim0)", "/b", 500, 400}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newNet(t)
			n := m.node(0)
			m.SetDisks(n, c.disks)
			m.SetDiskSize(n, c.given)
			m.SetDiskUsed(n, 400)
			if c.disks == nil {
				c.want[0].Dev, c.want[0].Path = n.DataID+" (/dev/sim0)", n.DataID
			}
			require.Equal(t, c.want, n.DiskUses())
			var size, used int64
			for _, each := range c.want {
				size += each.Size
				used += each.Used
			}
			gotSize, gotUsed := n.Disk()
			require.Equal(t, []int64{size, used}, []int64{gotSize, gotUsed})
		})
	}
}

// A shard's bytes are on the disk of its path.
func TestShardsUseTheDiskOfTheirPath(t *testing.T) {
	m := newNet(t)
	n := m.nodes(3)[0]
	m.table(n, "t", 9, "2") // a copy of each shard on each node
	m.SetDisks(n, []Disk{{"/a", "v0", 1 << 40}, {"/b", "v1", 1 << 40}})
	uses := n.DiskUses()
	require.Equal(t, 5*uses[1].Used, 4*uses[0].Used, "of nine shards five are on the first path")
	require.Positive(t, uses[1].Used)
}

// A node takes a copy by its most free disk, as CrateDB does (run on 6.4.3 and 6.3.7): one full
// disk keeps nothing away, and a disk that has most bytes free and is above the watermark keeps
// everything away, whatever is free on the other one.
func TestANodeTakesCopiesByItsMostFreeDisk(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second int64 // the disks' sizes
		filled        int64 // on the first
		takes         bool
	}{
		{"one disk is full", 600 << 20, 200 << 20, 590 << 20, true},
		{"the most free disk is above the watermark", 600 << 20, 80 << 20, 515 << 20, false},
		{"both are free", 600 << 20, 80 << 20, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newNet(t)
			ns := m.nodes(3)
			m.SetDisks(ns[1], []Disk{{"/a", "v0", c.first}, {"/b", "v1", c.second}})
			m.FillDisk(ns[1], 0, c.filled)
			set(t, ns[0], true, exclude+"_name", "n1,n2")
			table := m.table(ns[0], "t", 1, "0")
			set(t, ns[0], true, exclude+"_name", "n2")
			one := "1"
			require.Nil(t, ns[0].AlterTable(table, nil, []Assignment{{"number_of_replicas", &one}}))
			m.pass(time.Minute)
			require.Equal(t, c.takes, copies(ns[1], table) == 1)
		})
	}
}
