package tree_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/sources/tree"
)

// build makes a tree of "name", "name/", "name -> target" and "name !submodule".
func build(t *testing.T, limits tree.Limits, entries ...string) *tree.Builder {
	t.Helper()
	b := tree.NewBuilder(limits)
	for _, e := range entries {
		var err error
		if name, target, ok := strings.Cut(e, " -> "); ok {
			err = b.Link(name, target)
		} else if name, ok := strings.CutSuffix(e, " !submodule"); ok {
			err = b.Submodule(name)
		} else if name, ok := strings.CutSuffix(e, "/"); ok {
			err = b.Folder(name)
		} else {
			err = b.File(e, tree.Bytes("content of "+e))
		}
		require.NoError(t, err)
	}
	return b
}

func TestATreeIsAFileSystem(t *testing.T) {
	f, err := build(t, tree.Limits{}, "b", "a/", "a/y", "a/x", "a/deep/", "a/deep/z").FS("")
	require.NoError(t, err)
	require.NoError(t, fstest.TestFS(f, "b", "a/x", "a/y", "a/deep/z"))
	sub, err := fs.Sub(f, "a")
	require.NoError(t, err)
	require.NoError(t, fstest.TestFS(sub, "x", "y", "deep/z"))

	data, err := f.ReadFile("b")
	require.NoError(t, err)
	data[0] = 'X'
	again, err := f.ReadFile("b")
	require.NoError(t, err)
	assert.Equal(t, "content of b", string(again), "what was read is the reader's own")
}

func TestWhereALinkLeads(t *testing.T) {
	entries := []string{"top", "in/", "in/own", "in/deep/", "in/deep/z",
		"in/sibling -> own", "in/up -> ../top", "in/folder -> deep", "in/chain -> sibling", "in/through -> folder/z",
		"in/back -> deep/../own", "in/out -> ../../top", "in/far -> ../in/../../../etc/passwd", "in/abs -> /top", "in/empty -> ",
		"in/self -> self", "in/a -> b", "in/b -> a", "in/gone -> nowhere", "in/file -> own/x", "in/here -> .", "in/root -> ..", "in/win -> ..\\top",
		"jump -> in/deep", "in/parent -> ../jump/../own"}
	whole, err := build(t, tree.Limits{}, entries...).FS(".")
	require.NoError(t, err)
	inside, err := build(t, tree.Limits{}, entries...).FS("in")
	require.NoError(t, err)
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{"sibling", "in/own", nil},
		{"up", "top", nil},
		{"folder/z", "in/deep/z", nil},
		{"chain", "in/own", nil},
		{"through", "in/deep/z", nil},
		{"back", "in/own", nil},
		{"here/here/own", "in/own", nil},
		{"root/top", "top", nil},
		{"parent", "in/own", nil}, // as the kernel does: the folder above what the link leads to
		{"out", "", tree.ErrLinkLeavesTree},
		{"far", "", tree.ErrLinkLeavesTree},
		{"abs", "", tree.ErrLinkLeavesTree},
		{"empty", "", tree.ErrLinkLeavesTree},
		{"self", "", tree.ErrLinkLoop},
		{"a", "", tree.ErrLinkLoop},
		{"gone", "", fs.ErrNotExist},
		{"file", "", fs.ErrNotExist},
		{"win", "", fs.ErrNotExist},
		{"../top", "", fs.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			for prefix, f := range map[string]*tree.FS{"in/": whole, "": inside} {
				name := prefix + c.name
				data, err := f.ReadFile(name)
				if c.err != nil {
					require.ErrorIs(t, err, c.err, name)
					pe, ok := errors.AsType[*fs.PathError](err)
					require.True(t, ok)
					assert.Equal(t, name, pe.Path)
					if !errors.Is(c.err, fs.ErrInvalid) {
						_, err = f.Lstat(name)
						assert.NoError(t, err, "what it is can be seen")
					}
					continue
				}
				require.NoError(t, err, name)
				assert.Equal(t, "content of "+c.want, string(data))
				info, err := f.Stat(name)
				require.NoError(t, err)
				assert.True(t, info.Mode().IsRegular())
				assert.Equal(t, int64(len(data)), info.Size())
			}
		})
	}
	target, err := inside.ReadLink("out")
	require.NoError(t, err)
	assert.Equal(t, "../../top", target)
}

func TestNamesAndSizesThatAreRefusedWhenATreeIsBuilt(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/../b", "/a", "a//b", "a/", "a\x00b", "a\\b", "missing/folder"} {
		assert.Error(t, tree.NewBuilder(tree.Limits{}).File(name, tree.Bytes("")), "%q", name)
	}
	b := build(t, tree.Limits{}, "a", "link -> /etc")
	assert.ErrorContains(t, b.Folder("a"), "twice")
	assert.Error(t, b.File("a/b", tree.Bytes("")), "below a file")
	assert.Error(t, b.File("link/b", tree.Bytes("")), "below a link")

	b = tree.NewBuilder(tree.Limits{Entries: 2, Depth: 2})
	require.NoError(t, b.Folder("a"))
	require.NoError(t, b.Folder("a/b"))
	assert.ErrorIs(t, b.Folder("c"), tree.ErrTooLarge)
	b = tree.NewBuilder(tree.Limits{Depth: 2})
	require.NoError(t, b.Folder("a"))
	require.NoError(t, b.Folder("a/b"))
	assert.ErrorIs(t, b.Folder("a/b/c"), tree.ErrTooLarge)

	for root, want := range map[string]error{"nowhere": fs.ErrNotExist, "sub": tree.ErrSubmodule, "out": tree.ErrLinkLeavesTree} {
		_, err := build(t, tree.Limits{}, "f", "sub !submodule", "out -> ..").FS(root)
		assert.ErrorIs(t, err, want)
	}
	_, err := build(t, tree.Limits{}, "f").FS("f")
	assert.ErrorContains(t, err, "not a folder")
}

func TestATreeIsReadBySeveralGoroutines(t *testing.T) {
	b := build(t, tree.Limits{}, "a/", "l -> a")
	for i := range 50 {
		require.NoError(t, b.File(fmt.Sprintf("a/%d", i), tree.Bytes("x")))
	}
	f, err := b.FS("")
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 50 {
				data, err := f.ReadFile(fmt.Sprintf("l/%d", i))
				assert.NoError(t, err)
				assert.Equal(t, "x", string(data))
			}
		})
	}
	group.Wait()
}
