package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDisksOfANodeAreCountedOnceEach(t *testing.T) {
	for _, c := range []struct {
		name  string
		disks []Disk
		given int64 // SetDiskSize
		want  []DiskUse
	}{
		{"no volume is known", nil, 0, []DiskUse{{"/dev/sim0", 1 << 40, 400, nil}}},
		{"one volume", []Disk{{"/a", "v0", 1000}}, 0, []DiskUse{{"/dev/sim0", 1000, 400, []string{"/a"}}}},
		{"what others use is divided by size", []Disk{{"/a", "v0", 1000}, {"/b", "v1", 3000}}, 0,
			[]DiskUse{{"/dev/sim0", 1000, 100, []string{"/a"}}, {"/dev/sim1", 3000, 300, []string{"/b"}}}},
		{"two paths on one volume", []Disk{{"/a", "v0", 1000}, {"/b", "v1", 3000}, {"/c", "v0", 1000}}, 0,
			[]DiskUse{{"/dev/sim0", 1000, 100, []string{"/a", "/c"}}, {"/dev/sim1", 3000, 300, []string{"/b"}}}},
		{"a path that is on no volume", []Disk{{"/a", "v0", 1 << 40}, {"/b", "", 0}}, 0,
			[]DiskUse{{"/dev/sim0", 1 << 40, 200, []string{"/a"}}, {"/dev/sim1", 1 << 40, 200, []string{"/b"}}}},
		{"more is used than there is", []Disk{{"/a", "v0", 10}}, 0, []DiskUse{{"/dev/sim0", 10, 10, []string{"/a"}}}},
		{"a size that was set", []Disk{{"/a", "v0", 1000}, {"/b", "v1", 3000}}, 500,
			[]DiskUse{{"/dev/sim0", 500, 400, []string{"/a", "/b"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newNet(t)
			n := m.node(0)
			m.SetDisks(n, c.disks)
			m.SetDiskSize(n, c.given)
			m.SetDiskUsed(n, 400)
			if c.disks == nil {
				c.want[0].Paths = []string{n.DataID}
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
