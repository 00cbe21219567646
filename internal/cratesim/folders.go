package cratesim

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// foldersLate is how long CrateDB takes to delete a shard's folder once every copy of the
// shard is started on other nodes: 0.2 to 0.3 s on a real 6.4.3.
const foldersLate = 250 * time.Millisecond

// folders are what lies on one node's volume, by the node's id: it outlives processes.
type folders struct {
	there  map[model.Folder]bool
	doomed map[model.Folder]time.Time
}

// see follows the shards of a node; it reports a change.
func (f *folders) see(n *model.Node, now time.Time) bool {
	list, known := n.FoldersOf()
	if !known {
		return false
	}
	changed := false
	have := map[model.Folder]bool{}
	for _, h := range list {
		have[h] = true
		delete(f.doomed, h)
		if !f.there[h] {
			f.there[h], changed = true, true
		}
	}
	for h := range f.there {
		switch since, doomed := f.doomed[h]; {
		case have[h]:
		case !n.Deletable(h):
			delete(f.doomed, h)
		case !doomed:
			f.doomed[h] = now
		case now.Sub(since) >= foldersLate:
			delete(f.doomed, h)
			delete(f.there, h)
			changed = true
		}
	}
	return changed
}

// tellFolders tells processes what has to lie on their volumes. While something is to be
// deleted it is looked at anew at each tick.
func (h *Hub) tellFolders(changed bool) {
	for _, a := range h.nodes {
		f := h.folders[a.node.ID]
		if f == nil {
			f = &folders{there: map[model.Folder]bool{}, doomed: map[model.Folder]time.Time{}}
			h.folders[a.node.ID] = f
		}
		if !changed && len(f.doomed) == 0 && a.foldersTold {
			continue
		}
		if f.see(a.node, h.model.Now()) || !a.foldersTold && a.node.Cluster() != nil {
			a.foldersTold = a.node.Cluster() != nil
			there := slices.AppendSeq([]model.Folder{}, maps.Keys(f.there)) // none is a list, too
			h.tell(a, reply{Folders: &there})
		}
	}
}

// written is in the folder of a shard that the simulator has made: others stay, as CrateDB
// leaves what no table owns.
const written = "cratesim"

// paths are the node's data paths on this machine.
func (n *node) paths(dir string) []string {
	if n.cfg.DataDir != "" {
		return []string{dir}
	}
	return n.spec.DataPaths()
}

// layOut makes what every data path of CrateDB has.
func (n *node) layOut(dir string) error {
	for _, path := range n.paths(dir) {
		for _, each := range []string{"_state", "indices"} {
			if err := os.MkdirAll(filepath.Join(path, "nodes", "0", each), 0o755); err != nil {
				return fmt.Errorf("make a data path of the simulated node: %w", err)
			}
		}
	}
	return nil
}

// keepFolders makes the volume have the folders of these shards and no other that it made.
func (n *node) keepFolders(dir string, want []model.Folder) error {
	paths := n.paths(dir)
	wanted := map[string]bool{}
	for _, f := range want {
		folder := filepath.Join(paths[f.ID%len(paths)], "nodes", "0", "indices", f.UUID, strconv.Itoa(f.ID))
		wanted[folder] = true
		for _, each := range []string{"index", "translog", "_state/" + written, "../_state"} {
			if err := os.MkdirAll(filepath.Join(folder, each), 0o755); err != nil {
				return fmt.Errorf("make a shard's folder: %w", err)
			}
		}
		if f.Blob {
			if err := n.makeBlobs(f); err != nil {
				return err
			}
		}
	}
	for _, path := range paths {
		marks, err := filepath.Glob(filepath.Join(path, "nodes", "0", "indices", "*", "*", "_state", written))
		if err != nil {
			return fmt.Errorf("look for shards' folders: %w", err)
		}
		for _, mark := range marks {
			folder := filepath.Dir(filepath.Dir(mark))
			if wanted[folder] {
				continue
			}
			if err := os.RemoveAll(folder); err != nil {
				return fmt.Errorf("remove a shard's folder: %w", err)
			}
			// The index goes with its last shard.
			if left, err := os.ReadDir(filepath.Dir(folder)); err == nil && len(left) == 1 && left[0].Name() == "_state" {
				if err := os.RemoveAll(filepath.Dir(folder)); err != nil {
					return fmt.Errorf("remove an index's folder: %w", err)
				}
			}
		}
	}
	return nil
}

// makeBlobs makes the folder of a blob shard's files. Below blobs.path CrateDB leaves it
// there when the shard has gone.
func (n *node) makeBlobs(f model.Folder) error {
	blobs := n.spec.Settings["blobs.path"]
	if blobs == "" || n.cfg.DataDir != "" || !strings.HasPrefix(blobs, "/") {
		return nil
	}
	folder := filepath.Join(blobs, "nodes", "0", "indices", f.UUID, strconv.Itoa(f.ID), "blobs")
	if err := os.MkdirAll(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make a folder of blobs: %w", err)
	}
	return nil
}
