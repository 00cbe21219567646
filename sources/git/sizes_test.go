package git

import (
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// countingSizes counts how often a size is asked for.
type countingSizes struct {
	storer.EncodedObjectStorer
	asked int
}

func (c *countingSizes) EncodedObjectSize(h plumbing.Hash) (int64, error) {
	c.asked++
	return c.EncodedObjectStorer.EncodedObjectSize(h)
}

func TestAFilesSizeIsAskedForOnceForAllSnapshots(t *testing.T) {
	storage := &countingSizes{EncodedObjectStorer: memory.NewStorage()}
	object := storage.NewEncodedObject()
	object.SetType(plumbing.BlobObject)
	writer, err := object.Writer()
	require.NoError(t, err)
	_, err = writer.Write([]byte("content"))
	require.NoError(t, err)
	hash, err := storage.SetEncodedObject(object)
	require.NoError(t, err)

	first := &objects{storage: storage}
	next := &objects{storage: storage}
	for _, snapshot := range []*objects{first, first, next} {
		if snapshot == next {
			next.sizes = first.knownSizes()
		}
		size, err := (&blob{objects: snapshot, hash: hash}).Size()
		require.NoError(t, err)
		assert.Equal(t, int64(7), size)
	}
	assert.Equal(t, 1, storage.asked)

	_, err = (&blob{objects: first, hash: plumbing.NewHash("00000000000000000000000000000000000000aa")}).Size()
	require.ErrorIs(t, err, errIncomplete)
	assert.True(t, first.damaged.Load())
	assert.Len(t, first.knownSizes(), 1, "what is not there has no size")
}
