package directory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/sources/tree"
)

// entry is what a scan sees of a file without reading it.
type entry struct {
	name    string
	mode    fs.FileMode
	size    int64
	changed time.Time // of the file's status (ctime) where the system has it: it cannot be set back
	inode   uint64
	target  string // of a link
}

// scan is a whole tree as it looked, in the order of names.
type scan struct {
	entries []entry
	newest  time.Time // the last change of any file
}

func (s *scan) equal(o *scan) bool {
	if s == nil || o == nil || len(s.entries) != len(o.entries) {
		return false
	}
	for i, e := range s.entries {
		f := o.entries[i]
		if e.name != f.name || e.mode != f.mode || e.size != f.size || e.inode != f.inode || e.target != f.target || !e.changed.Equal(f.changed) {
			return false
		}
	}
	return true
}

// look lists the tree below root. A file that vanishes meanwhile is left out;
// the second scan tells.
func (o *Options) look(ctx context.Context, root *os.Root) (*scan, error) {
	s := &scan{}
	var visit func(dir string, depth int) error
	visit = func(dir string, depth int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if depth > o.Limits.Depth {
			return fmt.Errorf("folders more than %d deep, at %s: %w", o.Limits.Depth, dir, tree.ErrTooLarge)
		}
		f, err := root.Open(dir)
		if err != nil {
			if dir != "." && errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		list, err := f.ReadDir(-1)
		_ = f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		sortEntries(list)
		for _, d := range list {
			if ignored(d.Name()) {
				continue
			}
			name := path.Join(dir, d.Name())
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if len(s.entries) >= o.Limits.Entries {
				return fmt.Errorf("more than %d files and folders: %w", o.Limits.Entries, tree.ErrTooLarge)
			}
			e := entry{name: name, mode: info.Mode().Type()}
			switch {
			case info.IsDir():
				// A folder's own times change with each ignored file in it.
				s.entries = append(s.entries, e)
				if err := visit(name, depth+1); err != nil {
					return err
				}
				continue
			case info.Mode()&fs.ModeSymlink != 0:
				if e.target, err = root.Readlink(name); err != nil {
					if errors.Is(err, fs.ErrNotExist) {
						continue
					}
					return err
				}
			case info.Mode().IsRegular():
				e.size = info.Size()
			}
			e.changed, e.inode = status(info)
			if e.changed.After(s.newest) {
				s.newest = e.changed
			}
			s.entries = append(s.entries, e)
		}
		return nil
	}
	if err := visit(".", 0); err != nil {
		return nil, err
	}
	return s, nil
}

var errVanished = errors.New("a file changed while it was read")

// read copies the files of a scan into memory.
func (o *Options) read(ctx context.Context, root *os.Root, s *scan) ([]tree.Content, error) {
	contents := make([]tree.Content, len(s.entries))
	var total int64
	for i, e := range s.entries {
		if !e.mode.IsRegular() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e.size > o.Limits.FileBytes {
			contents[i] = oversized(e.size)
			continue
		}
		if total += e.size; total > o.MaxBytes {
			return nil, fmt.Errorf("its files have more than %d bytes together: %w", o.MaxBytes, tree.ErrTooLarge)
		}
		data, err := readFile(root, e)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, errVanished
			}
			return nil, err
		}
		contents[i] = tree.Bytes(data)
	}
	return contents, nil
}

func readFile(root *os.Root, e entry) ([]byte, error) {
	// Without O_NONBLOCK, a pipe that took the file's place would hold us up.
	f, err := root.OpenFile(e.name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errVanished
	}
	data := make([]byte, 0, e.size+1)
	for int64(len(data)) <= e.size {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if int64(len(data)) != e.size {
		return nil, errVanished
	}
	return data, nil
}

// oversized is a file that is too large to be held; the tree refuses to open it
// by its size.
type oversized int64

func (o oversized) Size() (int64, error)  { return int64(o), nil }
func (o oversized) Read() ([]byte, error) { return nil, tree.ErrTooLarge }

// folders are the folders of a scan, with the root.
func (s *scan) folders() []string {
	out := []string{"."}
	for _, e := range s.entries {
		if e.mode.IsDir() {
			out = append(out, e.name)
		}
	}
	return out
}

// sortEntries makes two scans comparable: ReadDir of a file gives the system's order.
func sortEntries(list []fs.DirEntry) {
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
}
