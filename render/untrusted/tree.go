package untrusted

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"stevedore.dev/stevedore/sources/tree"
)

// list gives a tree's names, kinds and links, none of its contents; files that
// are asked for are at the same index of the result. A tree that is a folder of
// a larger one is given with all of that one, for a link may lead there.
func list(fsys fs.FS) (whole fs.FS, root string, entries []listed, err error) {
	whole, root = fsys, "."
	if t, ok := fsys.(*tree.FS); ok {
		whole, root = t.Whole(), t.At()
	}
	var size int
	err = fs.WalkDir(whole, ".", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, tree.ErrSubmodule) && len(entries) > 0 && entries[len(entries)-1].Name == name {
			entries[len(entries)-1].Kind = submodule
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing the tree: %w", err)
		}
		if name == "." {
			return nil
		}
		e := listed{Name: name}
		switch d.Type() {
		case 0:
		case fs.ModeDir:
			e.Kind = folder
		case fs.ModeSymlink:
			e.Kind = link
			if e.Target, err = fs.ReadLink(whole, name); err != nil {
				return fmt.Errorf("listing the tree: %w", err)
			}
		default:
			e.Kind = special
		}
		if size += len(e.Name) + len(e.Target) + len(`{"n":"","k":1,"t":""},`); size > maxRequest {
			return fmt.Errorf("listing the tree: its names have more than %d bytes together: use a smaller folder", maxRequest)
		}
		entries = append(entries, e)
		return nil
	})
	return whole, root, entries, err
}

// answer looks a file of a listing up.
func answer(whole fs.FS, entries []listed, q fileQuestion) (kind, []byte) {
	if int64(q.entry) >= int64(len(entries)) || entries[q.entry].Kind != regular {
		return kindNoFile, []byte("there is no such file")
	}
	name := entries[q.entry].Name
	if !q.content {
		info, err := fs.Stat(whole, name)
		if err != nil {
			return kindNoFile, []byte(reason(err))
		}
		return kindContent, binary.BigEndian.AppendUint64(nil, uint64(info.Size()))
	}
	data, err := fs.ReadFile(whole, name)
	if err != nil {
		return kindNoFile, []byte(reason(err))
	}
	if len(data) > maxRequest {
		return kindNoFile, []byte(tree.ErrTooLarge.Error())
	}
	return kindContent, data
}

// reason leaves out the path, which the other side adds.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return err.Error()
}

// unlist makes the tree again, with contents from read.
func unlist(entries []listed, root string, read func(fileQuestion) ([]byte, error)) (fs.FS, error) {
	b := tree.NewBuilder(tree.Limits{})
	for i, e := range entries {
		var err error
		switch e.Kind {
		case regular:
			err = b.File(e.Name, remote{index: uint32(i), read: read})
		case folder:
			err = b.Folder(e.Name)
		case link:
			err = b.Link(e.Name, e.Target)
		case submodule:
			err = b.Submodule(e.Name)
		default:
			err = b.Special(e.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	return b.FS(root)
}

// remote is a file that the other side of the pipe has.
type remote struct {
	index uint32
	read  func(fileQuestion) ([]byte, error)
}

func (r remote) Size() (int64, error) {
	answer, err := r.read(fileQuestion{entry: r.index})
	if err != nil {
		return 0, err
	}
	if len(answer) != 8 {
		return 0, errors.New("the size is none")
	}
	return int64(binary.BigEndian.Uint64(answer)), nil
}

func (r remote) Read() ([]byte, error) {
	return r.read(fileQuestion{entry: r.index, content: true})
}
