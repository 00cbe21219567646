package model

import (
	"strconv"
	"strings"
)

// Folder is that of one shard on a node's volume.
type Folder struct {
	// UUID is the index's.
	UUID string `json:"uuid"`
	ID   int    `json:"id"`
	Blob bool   `json:"blob,omitempty"`
}

// UUID names the index's folder in path.data.
func (ix *Index) UUID() string { return ix.uuid }

// FoldersOf are the shards whose folder a node has to have now; known is false while the
// node sees no cluster's state.
func (n *Node) FoldersOf() (have []Folder, known bool) {
	c := n.cluster
	if c == nil || c.master == nil || !c.recovered {
		return nil, false
	}
	for _, ix := range c.indexes {
		for _, s := range ix.shards {
			if s.on(n) != nil {
				have = append(have, Folder{UUID: ix.uuid, ID: s.ID, Blob: ix.Table.Blob})
			}
		}
	}
	return have, true
}

// Deletable says whether CrateDB would delete a folder whose shard is not on the node: the
// index is gone, or each copy of the shard is started on other nodes.
func (n *Node) Deletable(f Folder) bool {
	for _, ix := range n.cluster.indexes {
		if ix.uuid != f.UUID {
			continue
		}
		for _, s := range ix.shards {
			for _, cp := range s.copies {
				if s.ID == f.ID && cp.State() != Started {
					return false
				}
			}
		}
	}
	return true
}

// DataPaths are the folders of path.data.
func (n *NodeSpec) DataPaths() []string {
	if n.Settings["path.data"] == "" {
		return []string{n.DataID}
	}
	return strings.Split(n.Settings["path.data"], ",")
}

// ShardPath is sys.shards.path of a shard on the node: on one of its data paths.
func (n *NodeSpec) ShardPath(ix *Index, shard int) string {
	paths := n.DataPaths()
	return paths[shard%len(paths)] + "/nodes/0/indices/" + ix.uuid + "/" + strconv.Itoa(shard)
}

// BlobPath is sys.shards.blob_path: below blobs.path, all of it one name, commas or not.
func (n *NodeSpec) BlobPath(ix *Index, shard int) string {
	if blobs := n.Settings["blobs.path"]; blobs != "" {
		return blobs + "/nodes/0/indices/" + ix.uuid + "/" + strconv.Itoa(shard) + "/blobs"
	}
	return n.ShardPath(ix, shard) + "/blobs"
}
