package model

import (
	"slices"
	"strconv"
)

// defaultDiskSize is that of a disk that nobody has given a size.
const defaultDiskSize = 1 << 40

// Disk is what one data path of a node lies on.
type Disk struct {
	Path string `json:"path"`
	// Volume tells disks apart: two paths may lie on one. "" is the machine's own disk.
	Volume string `json:"volume,omitempty"`
	Size   int64  `json:"size,omitempty"` // bytes; 0 is unknown
}

// DiskUse is a data path and what it lies on as sys.nodes shows it, in bytes.
type DiskUse struct {
	Dev, Path  string
	Size, Used int64
}

// SetDisks changes what the node's data paths lie on.
func (m *Model) SetDisks(n *Node, disks []Disk) {
	if slices.Equal(n.Disks, disks) {
		return
	}
	n.Disks = slices.Clone(disks)
	m.SetDiskUsed(n, n.DiskUsed)
}

// SetDiskUsed sets the bytes on a node's disk that are not CrateDB's. Of several disks each
// has a part by its size.
func (m *Model) SetDiskUsed(n *Node, used int64) {
	n.DiskUsed = used
	if n.cluster != nil {
		n.cluster.shardEvent = true
	}
	m.touch()
	m.settle()
}

// SetDiskSize sets how large a node's disk is, in bytes, whatever its volumes are; 0 takes
// that back.
func (m *Model) SetDiskSize(n *Node, size int64) {
	n.DiskSize = size
	m.SetDiskUsed(n, n.DiskUsed)
}

// givenSize is the size that does not come from the node's volumes.
func (n *Node) givenSize() int64 {
	switch {
	case n.DiskSize != 0:
		return n.DiskSize
	case n.m.opts.DiskSize != 0:
		return n.m.opts.DiskSize
	case len(n.Disks) == 0:
		return defaultDiskSize
	}
	return 0
}

// diskSize is the size of all disks of a node.
func (n *Node) diskSize() int64 {
	if size := n.givenSize(); size != 0 {
		return size
	}
	size := int64(0)
	for i, disk := range n.Disks {
		if n.diskOf(i) == i {
			size += disk.bytes()
		}
	}
	return size
}

func (d Disk) bytes() int64 {
	if d.Size == 0 {
		return defaultDiskSize
	}
	return d.Size
}

// diskOf is the first of the paths that share a disk with a path. A size that was given is that of
// one disk.
func (n *Node) diskOf(path int) int {
	if n.givenSize() != 0 {
		return 0
	}
	return slices.IndexFunc(n.Disks, func(d Disk) bool { return d.Volume == n.Disks[path].Volume })
}

// Disk is fs['total'] of sys.nodes, in bytes. It counts a disk for each path on it
// (FsInfo.total; run on 6.4.3 and 6.3.7).
func (n *Node) Disk() (size, used int64) {
	for _, disk := range n.DiskUses() {
		size += disk.Size
		used += disk.Used
	}
	return size, used
}

// DiskUses are what the node's data paths lie on, one for each path: of two paths on one disk
// each shows the whole of it (FsProbe.stats; run on 6.4.3 and 6.3.7).
func (n *Node) DiskUses() []DiskUse {
	shards := n.shardBytes()
	if len(n.Disks) == 0 {
		size := n.givenSize()
		return []DiskUse{{Dev: devOf(n.DataID, 0), Path: n.DataID, Size: size, Used: min(n.DiskUsed+shards[0], size)}}
	}
	used := map[int]int64{} // by the first path of the disk
	given, total := n.givenSize(), n.diskSize()
	for i, disk := range n.Disks {
		first := n.diskOf(i)
		switch {
		case first != i:
		case given != 0:
			used[i] += n.DiskUsed
		default:
			used[i] += int64(float64(n.DiskUsed) * (float64(disk.bytes()) / float64(total)))
		}
		if i < len(n.filled) {
			used[first] += n.filled[i]
		}
		used[first] += shards[i]
	}
	uses := make([]DiskUse, len(n.Disks))
	for i, disk := range n.Disks {
		first := n.diskOf(i)
		size := disk.bytes()
		if given != 0 {
			size = given
		}
		uses[i] = DiskUse{Dev: devOf(n.Disks[first].Path, first), Path: disk.Path, Size: size, Used: min(used[first], size)}
	}
	return uses
}

// devOf is how CrateDB names a file system: by where it is mounted, and its device.
func devOf(mount string, disk int) string {
	return mount + " (/dev/sim" + strconv.Itoa(disk) + ")"
}

// FillDisk sets the bytes on the disk of one data path that are not CrateDB's.
func (m *Model) FillDisk(n *Node, path int, used int64) {
	n.filled = append(n.filled, make([]int64, max(0, path+1-len(n.filled)))...)
	n.filled[path] = used
	m.SetDiskUsed(n, n.DiskUsed)
}

// mostFree is the disk by which a node takes copies (InternalClusterInfoService
// .fillDiskUsagePerNode): the one with most bytes free.
func (n *Node) mostFree() DiskUse {
	uses := n.DiskUses()
	most := uses[0]
	for _, use := range uses[1:] {
		if use.Size-use.Used > most.Size-most.Used {
			most = use
		}
	}
	return most
}

// shardBytes are what the shards on a node need, by the number of its data path, as
// ShardPath has it.
func (n *Node) shardBytes() []int64 {
	bytes := make([]int64, max(1, len(n.Disks)))
	if n.cluster == nil {
		return bytes
	}
	for _, ix := range n.cluster.indexes {
		for _, s := range ix.shards {
			for _, cp := range s.copies {
				if cp.node == n || cp.target == n {
					bytes[s.ID%len(bytes)] += s.bytes()
				}
			}
		}
	}
	return bytes
}
