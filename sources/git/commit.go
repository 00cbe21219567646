package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"stevedore.dev/stevedore/sources/tree"
)

// maxTarget is Linux' bound of a path, and so of a link's target.
const maxTarget = 4096

// errIncomplete says that objects of a commit are missing or cannot be read.
var errIncomplete = errors.New("objects are missing or damaged")

// objects reads a repository's objects for a tree. A storage of go-git is not
// safe for several goroutines.
type objects struct {
	mu      sync.Mutex
	storage storer.EncodedObjectStorer
	damaged atomic.Bool // set when a file of a finished tree cannot be read

	// folders are Git's trees that were walked, here or for the snapshot before
	// from the same generation, which never loses an object: what a commit did
	// not touch needs no second check.
	generation string
	folders    map[plumbing.Hash][]object.TreeEntry
	before     map[plumbing.Hash][]object.TreeEntry
	// sizes of files that were asked for, here or for the snapshot before, which go-git
	// opens a pack for, each. Guarded by mu.
	sizes map[plumbing.Hash]int64
}

// maxSizes are passed on to the next snapshot at most.
const maxSizes = 1 << 16

// knownSizes is a copy of the sizes for the next snapshot.
func (o *objects) knownSizes() map[plumbing.Hash]int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.sizes) > maxSizes {
		return nil
	}
	return maps.Clone(o.sizes)
}

// commitOf peels annotated tags.
func commitOf(st storer.EncodedObjectStorer, h plumbing.Hash) (*object.Commit, error) {
	for range 8 {
		o, err := st.EncodedObject(plumbing.AnyObject, h)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", errIncomplete, h, err)
		}
		switch o.Type() {
		case plumbing.CommitObject:
			c, err := object.DecodeCommit(st, o)
			if err != nil {
				return nil, fmt.Errorf("%w: commit %s: %w", errIncomplete, h, err)
			}
			return c, nil
		case plumbing.TagObject:
			t, err := object.DecodeTag(st, o)
			if err != nil {
				return nil, fmt.Errorf("%w: tag %s: %w", errIncomplete, h, err)
			}
			h = t.Target
		default:
			return nil, fmt.Errorf("%s is a %s, not a commit", h, o.Type())
		}
	}
	return nil, fmt.Errorf("%s is a tag of tags without an end", h)
}

// tree walks the whole tree of a commit, so that a snapshot exists only when
// every object of it does.
func (o *objects) tree(ctx context.Context, c *object.Commit, limits tree.Limits, inside string) (*tree.FS, error) {
	b := tree.NewBuilder(limits)
	o.folders = map[plumbing.Hash][]object.TreeEntry{}
	defer func() { o.before = nil }()
	if err := o.walk(ctx, b, c.TreeHash, ""); err != nil {
		return nil, err
	}
	return b.FS(inside)
}

func (o *objects) walk(ctx context.Context, b *tree.Builder, h plumbing.Hash, prefix string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, whole := o.before[h]
	if !whole {
		t, err := object.GetTree(o.storage, h)
		if err != nil {
			return fmt.Errorf("%w: folder %q (%s): %w", errIncomplete, prefix, h, err)
		}
		entries = t.Entries
	}
	o.folders[h] = entries
	for _, e := range entries {
		name := path.Join(prefix, e.Name)
		if e.Name == "." || e.Name == ".." || e.Name == "" {
			name = e.Name // so that the builder refuses what Join would resolve
		}
		switch e.Mode {
		case filemode.Dir:
			if err := b.Folder(name); err != nil {
				return err
			}
			if err := o.walk(ctx, b, e.Hash, name); err != nil {
				return err
			}
		case filemode.Submodule:
			if err := b.Submodule(name); err != nil {
				return err
			}
		case filemode.Symlink:
			blob := &blob{objects: o, hash: e.Hash}
			size, err := blob.Size()
			if err == nil && size > maxTarget {
				return fmt.Errorf("the symbolic link %s has a target of %d bytes", name, size)
			}
			target, err := blob.Read()
			if err != nil {
				return fmt.Errorf("%w: link %q (%s): %w", errIncomplete, name, e.Hash, err)
			}
			if err := b.Link(name, string(target)); err != nil {
				return err
			}
		default:
			if !whole {
				if err := o.storage.HasEncodedObject(e.Hash); err != nil {
					return fmt.Errorf("%w: file %q (%s): %w", errIncomplete, name, e.Hash, err)
				}
			}
			if err := b.File(name, &blob{objects: o, hash: e.Hash}); err != nil {
				return err
			}
		}
	}
	return nil
}

// blob is a file's content in the object store.
type blob struct {
	objects *objects
	hash    plumbing.Hash
}

func (b *blob) Size() (int64, error) {
	b.objects.mu.Lock()
	defer b.objects.mu.Unlock()
	if n, known := b.objects.sizes[b.hash]; known {
		return n, nil
	}
	n, err := b.objects.storage.EncodedObjectSize(b.hash)
	if err != nil {
		return n, b.failed(err)
	}
	if b.objects.sizes == nil {
		b.objects.sizes = map[plumbing.Hash]int64{}
	}
	b.objects.sizes[b.hash] = n
	return n, nil
}

func (b *blob) Read() ([]byte, error) {
	b.objects.mu.Lock()
	defer b.objects.mu.Unlock()
	o, err := b.objects.storage.EncodedObject(plumbing.BlobObject, b.hash)
	if err != nil {
		return nil, b.failed(err)
	}
	r, err := o.Reader()
	if err != nil {
		return nil, b.failed(err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, o.Size()+1))
	if err == nil && int64(len(data)) != o.Size() {
		err = fmt.Errorf("%d bytes instead of %d", len(data), o.Size())
	}
	return data, b.failed(err)
}

func (b *blob) failed(err error) error {
	if err == nil {
		return nil
	}
	b.objects.damaged.Store(true)
	return fmt.Errorf("%w: %s: %w", errIncomplete, b.hash, err)
}
