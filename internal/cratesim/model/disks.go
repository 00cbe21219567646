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

// DiskUse is a disk as sys.nodes shows it, in bytes.
type DiskUse struct {
	Dev        string
	Size, Used int64
	// Paths are the data paths on it.
	Paths []string
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

// diskOf is the first of the paths that share a disk with a path.
func (n *Node) diskOf(path int) int {
	return slices.IndexFunc(n.Disks, func(d Disk) bool { return d.Volume == n.Disks[path].Volume })
}

// Disk is the size of the node's disks, and what of it is used, in bytes.
func (n *Node) Disk() (size, used int64) {
	for _, disk := range n.DiskUses() {
		size += disk.Size
		used += disk.Used
	}
	return size, used
}

// DiskUses are the node's disks, each once.
func (n *Node) DiskUses() []DiskUse {
	shards := n.shardBytes()
	if size := n.givenSize(); size != 0 {
		used := n.DiskUsed
		for _, bytes := range shards {
			used += bytes
		}
		paths := []string{n.DataID}
		if len(n.Disks) > 0 {
			paths = nil
			for _, disk := range n.Disks {
				paths = append(paths, disk.Path)
			}
		}
		return []DiskUse{{Dev: "/dev/sim0", Size: size, Used: min(used, size), Paths: paths}}
	}
	total := n.diskSize()
	var uses []DiskUse
	place := map[int]int{} // of a disk in uses
	for i, disk := range n.Disks {
		first := n.diskOf(i)
		if first == i {
			place[i] = len(uses)
			share := int64(float64(n.DiskUsed) * (float64(disk.bytes()) / float64(total)))
			uses = append(uses, DiskUse{Dev: "/dev/sim" + strconv.Itoa(len(uses)), Size: disk.bytes(), Used: share})
		}
		use := &uses[place[first]]
		use.Used += shards[i]
		use.Paths = append(use.Paths, disk.Path)
	}
	for i := range uses {
		uses[i].Used = min(uses[i].Used, uses[i].Size)
	}
	return uses
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
