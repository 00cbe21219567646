package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// maxLinks is how many links one name may pass through, as on Linux (path_resolution(7)).
const maxLinks = 40

// FS is a finished tree. It never changes and may be used by several goroutines.
type FS struct {
	limits Limits
	top    *node
	at     string // the real path of the root in the whole tree
}

var (
	_ fs.ReadDirFS  = (*FS)(nil)
	_ fs.ReadFileFS = (*FS)(nil)
	_ fs.StatFS     = (*FS)(nil)
	_ fs.ReadLinkFS = (*FS)(nil)
)

// Whole is the whole tree that this one is a folder of, and At that folder in
// it, "." for all of it.
func (t *FS) Whole() *FS { return &FS{limits: t.limits, top: t.top, at: "."} }

// At is the folder of the whole tree that is the root here.
func (t *FS) At() string { return t.at }

// Open opens a file or a folder, following links.
func (t *FS) Open(name string) (fs.File, error) {
	n, err := t.find("open", name, true)
	if err != nil {
		return nil, err
	}
	if n.kind == folder {
		return &openFolder{info: t.info(n, path.Base(name)), entries: t.list(n)}, nil
	}
	data, err := t.read("open", name, n)
	if err != nil {
		return nil, err
	}
	i := t.info(n, path.Base(name))
	i.size = int64(len(data))
	return &openFile{info: i, Reader: bytes.NewReader(data)}, nil
}

// ReadFile reads a file, following links. The result is the caller's own.
func (t *FS) ReadFile(name string) ([]byte, error) {
	n, err := t.find("read", name, true)
	if err != nil {
		return nil, err
	}
	data, err := t.read("read", name, n)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(data), nil
}

// ReadDir lists a folder in the order of names. Links are listed as links.
func (t *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.find("readdir", name, true)
	if err != nil {
		return nil, err
	}
	if n.kind != folder {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a folder")}
	}
	return t.list(n), nil
}

// Stat describes what a name leads to, following links.
func (t *FS) Stat(name string) (fs.FileInfo, error) {
	n, err := t.find("stat", name, true)
	if err != nil {
		return nil, err
	}
	return t.sized("stat", name, n)
}

// Lstat describes what a name is; a link in the last place is not followed.
func (t *FS) Lstat(name string) (fs.FileInfo, error) {
	n, err := t.find("lstat", name, false)
	if err != nil {
		return nil, err
	}
	return t.sized("lstat", name, n)
}

// ReadLink gives a link's target as it was written.
func (t *FS) ReadLink(name string) (string, error) {
	n, err := t.find("readlink", name, false)
	if err != nil {
		return "", err
	}
	if n.kind != link {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return n.target, nil
}

func (t *FS) find(op, name string, follow bool) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	n, _, err := t.walk(op, path.Join(t.at, name), follow)
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			pe.Path = name
		}
		return nil, err
	}
	if n.kind == submodule && follow && op != "stat" {
		return nil, &fs.PathError{Op: op, Path: name, Err: ErrSubmodule}
	}
	return n, nil
}

// walk goes to a path of the whole tree and gives the node and its real path.
// Each part is resolved before the next, so that "link/../x" means what it means
// to the kernel.
func (t *FS) walk(op, name string, follow bool) (*node, string, error) {
	var stack []*node // the folders on the way, without the top
	here := t.top
	todo := strings.Split(name, "/")
	links := 0
	lastLink := ""
	real := func() string {
		parts := make([]string, len(stack))
		for i, n := range stack {
			parts[i] = n.name
		}
		if len(parts) == 0 {
			return "."
		}
		return strings.Join(parts, "/")
	}
	fail := func(err error) (*node, string, error) {
		if lastLink != "" && errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("the symbolic link %s leads to nothing: %w", lastLink, err)
		}
		return nil, "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(stack) == 0 {
				return fail(fmt.Errorf("the symbolic link %s %w", lastLink, ErrLinkLeavesTree))
			}
			stack = stack[:len(stack)-1]
			here = t.top
			if len(stack) > 0 {
				here = stack[len(stack)-1]
			}
			continue
		}
		switch here.kind {
		case folder:
		case submodule:
			return fail(fmt.Errorf("%s: %w", real(), ErrSubmodule))
		default:
			return fail(fs.ErrNotExist)
		}
		next := here.children[part]
		if next == nil {
			return fail(fs.ErrNotExist)
		}
		if next.kind == link && (follow || len(todo) > 0) {
			at := path.Join(real(), part)
			lastLink = fmt.Sprintf("%s (to %q)", at, next.target)
			if links++; links > maxLinks {
				return fail(fmt.Errorf("the symbolic link %s: %w", lastLink, ErrLinkLoop))
			}
			if next.target == "" || path.IsAbs(next.target) || strings.Contains(next.target, "\x00") {
				return fail(fmt.Errorf("the symbolic link %s %w", lastLink, ErrLinkLeavesTree))
			}
			todo = append(strings.Split(next.target, "/"), todo...)
			continue
		}
		here = next
		stack = append(stack, next)
	}
	return here, real(), nil
}

func (t *FS) read(op, name string, n *node) ([]byte, error) {
	fail := func(err error) ([]byte, error) { return nil, &fs.PathError{Op: op, Path: name, Err: err} }
	switch n.kind {
	case file:
	case folder:
		return fail(errors.New("a folder, not a file"))
	case submodule:
		return fail(ErrSubmodule)
	default:
		return fail(ErrSpecial)
	}
	size, err := n.content.Size()
	if err != nil {
		return fail(err)
	}
	if size > t.limits.FileBytes {
		return fail(fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, size, t.limits.FileBytes))
	}
	data, err := n.content.Read()
	if err != nil {
		return fail(err)
	}
	return data, nil
}

func (t *FS) sized(op, name string, n *node) (fs.FileInfo, error) {
	i := t.info(n, path.Base(name))
	if n.kind == file {
		size, err := n.content.Size()
		if err != nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: err}
		}
		i.size = size
	}
	return i, nil
}

func (t *FS) info(n *node, name string) *info {
	i := &info{name: name}
	switch n.kind {
	case folder:
		i.mode = fs.ModeDir | 0o555
	case file:
		i.mode = 0o444
	case link:
		i.mode, i.size = fs.ModeSymlink|0o777, int64(len(n.target))
	case submodule:
		// A folder, so that a walk tries to list it and meets the refusal: what
		// is skipped in silence would be taken for empty.
		i.mode = fs.ModeDir | 0o555
	case special:
		i.mode = fs.ModeIrregular
	}
	return i
}

func (t *FS) list(n *node) []fs.DirEntry {
	out := make([]fs.DirEntry, 0, len(n.names))
	for _, name := range n.names {
		out = append(out, &entry{tree: t, node: n.children[name]})
	}
	return out
}

type info struct {
	name string
	mode fs.FileMode
	size int64
}

func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.size }
func (i *info) Mode() fs.FileMode  { return i.mode }
func (i *info) ModTime() time.Time { return time.Time{} }
func (i *info) IsDir() bool        { return i.mode.IsDir() }
func (i *info) Sys() any           { return nil }

// entry asks for a size only when somebody wants it: a Git tree does not hold it.
type entry struct {
	tree *FS
	node *node
}

func (e *entry) Name() string               { return e.node.name }
func (e *entry) IsDir() bool                { return e.Type().IsDir() }
func (e *entry) Type() fs.FileMode          { return e.tree.info(e.node, e.node.name).mode.Type() }
func (e *entry) Info() (fs.FileInfo, error) { return e.tree.sized("stat", e.node.name, e.node) }
func (e *entry) String() string             { return fs.FormatDirEntry(e) }

type openFile struct {
	info *info
	*bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openFolder struct {
	info    *info
	entries []fs.DirEntry
	next    int
}

func (f *openFolder) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFolder) Close() error               { return nil }
func (f *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.name, Err: errors.New("a folder, not a file")}
}

func (f *openFolder) ReadDir(count int) ([]fs.DirEntry, error) {
	rest := f.entries[f.next:]
	if count > 0 {
		if len(rest) == 0 {
			return nil, io.EOF
		}
		rest = rest[:min(count, len(rest))]
	}
	f.next += len(rest)
	return rest, nil
}
