package model

// Disk is a file system on which a node has data paths, in bytes. Used is its size less what is
// available.
type Disk struct{ Size, Used int64 }

// FileSystems are the disks of a node, each once, and whether they are known. Where they are not
// known one by one, their sum stands for them: it never has less room.
func (n *Node) FileSystems() (disks []Disk, known bool) {
	if len(n.Disks) > 0 {
		return n.Disks, true
	}
	if n.DiskSize <= 0 || n.DiskUsed < 0 {
		return nil, false
	}
	return []Disk{{n.DiskSize, n.DiskUsed}}, true
}
