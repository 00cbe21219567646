// Package tree is the read-only file tree that snapshots are made of: names and
// links are held in memory, contents wherever the source keeps them. What a link
// may lead to and how large a file may be is decided here, once for all sources.
package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Why a file of a tree is not given out; they are wrapped in an *fs.PathError.
var (
	ErrLinkLeavesTree = errors.New("leads out of the tree; only links that stay within it are followed")
	ErrLinkLoop       = errors.New("links follow one another without an end")
	ErrTooLarge       = errors.New("the file is too large")
	ErrSubmodule      = errors.New("submodules are not supported yet; commit the files themselves")
	ErrSpecial        = errors.New("neither a file, a folder nor a symbolic link")
)

// Content is a file's bytes, wherever they are kept. Its methods may be called
// by several goroutines.
type Content interface {
	Size() (int64, error)  // in bytes, without reading the file
	Read() ([]byte, error) // the caller may not change the result
}

// Bytes is Content that is held in memory.
type Bytes []byte

// Size is the number of bytes.
func (b Bytes) Size() (int64, error) { return int64(len(b)), nil }

// Read gives the bytes themselves.
func (b Bytes) Read() ([]byte, error) { return b, nil }

// Limits bound a tree. A zero means the default that it names.
type Limits struct {
	FileBytes int64 // one file, when it is opened; 16 MiB
	Entries   int   // files, folders and links together; 200,000
	Depth     int   // folders in folders; 64
}

func (l Limits) withDefaults() Limits {
	if l.FileBytes <= 0 {
		l.FileBytes = 16 << 20
	}
	if l.Entries <= 0 {
		l.Entries = 200_000
	}
	if l.Depth <= 0 {
		l.Depth = 64
	}
	return l
}

type kind uint8

const (
	folder kind = iota
	file
	link
	submodule
	special
)

type node struct {
	name     string
	kind     kind
	children map[string]*node // of a folder
	names    []string         // of a folder, sorted
	target   string           // of a link
	content  Content          // of a file
}

// Builder collects the entries of a tree. The zero value is not usable.
type Builder struct {
	limits  Limits
	root    *node
	entries int
}

// NewBuilder starts an empty tree.
func NewBuilder(limits Limits) *Builder {
	return &Builder{limits: limits.withDefaults(), root: &node{name: ".", children: map[string]*node{}}}
}

// Folder adds a folder; its parents must have been added. Like the other
// methods it refuses a name that no file system would give, a name that is
// there already, and more than the limits allow.
func (b *Builder) Folder(name string) error {
	return b.add(name, &node{kind: folder, children: map[string]*node{}})
}

// File adds a file.
func (b *Builder) File(name string, content Content) error {
	return b.add(name, &node{kind: file, content: content})
}

// Link adds a symbolic link as it was written.
func (b *Builder) Link(name, target string) error {
	return b.add(name, &node{kind: link, target: target})
}

// Submodule adds a folder whose content is elsewhere: it is listed, and opening
// it is ErrSubmodule.
func (b *Builder) Submodule(name string) error {
	return b.add(name, &node{kind: submodule})
}

// Special adds what is listed but never opened: a socket, a device, a pipe.
func (b *Builder) Special(name string) error {
	return b.add(name, &node{kind: special})
}

func (b *Builder) add(name string, n *node) error {
	if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\x00\\") {
		return fmt.Errorf("the tree has a file named %q, which cannot be used; rename it", name)
	}
	if b.entries++; b.entries > b.limits.Entries {
		return fmt.Errorf("the tree has more than %d files and folders; use a smaller repository or folder: %w", b.limits.Entries, ErrTooLarge)
	}
	if strings.Count(name, "/") >= b.limits.Depth {
		return fmt.Errorf("the tree has folders more than %d deep, at %q: %w", b.limits.Depth, name, ErrTooLarge)
	}
	parent := b.root
	dir, base := path.Split(name)
	if dir != "" {
		for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
			next := parent.children[part]
			if next == nil || next.kind != folder {
				return fmt.Errorf("the tree has a file %q in what is no folder", name)
			}
			parent = next
		}
	}
	if parent.children[base] != nil {
		return fmt.Errorf("the tree has %q twice", name)
	}
	n.name = base
	parent.children[base] = n
	parent.names = append(parent.names, base)
	return nil
}

// FS ends the building and gives the tree, rooted at a folder of it ("." or ""
// for all of it). Links may lead anywhere in the whole tree.
func (b *Builder) FS(root string) (*FS, error) {
	if root == "" {
		root = "."
	}
	b.root.sort()
	t := &FS{limits: b.limits, top: b.root, at: "."}
	n, real, err := t.walk("open", root, true)
	if err != nil {
		return nil, err
	}
	if n.kind == submodule {
		return nil, &fs.PathError{Op: "open", Path: root, Err: ErrSubmodule}
	}
	if n.kind != folder {
		return nil, &fs.PathError{Op: "open", Path: root, Err: errors.New("not a folder")}
	}
	t.at = real
	return t, nil
}

func (n *node) sort() {
	slices.Sort(n.names)
	for _, c := range n.children {
		if c.kind == folder {
			c.sort()
		}
	}
}
