package apply

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"stevedore.dev/stevedore/apply/compare"
)

// overtaken is a store in which the watch shows another object right after the first look.
type overtaken struct {
	cache.Indexer
	then func()
}

func (o *overtaken) GetByKey(key string) (any, bool, error) {
	item, ok, err := o.Indexer.GetByKey(key)
	if then := o.then; then != nil {
		o.then = nil
		then()
	}
	return item, ok, err
}

// A lookup found the object from before our own write once: the watch showed the write, and its handler dropped the answer
// to it, between the look into the cache and the one for the answer.
func TestOurOwnWriteIsSeenWhileTheWatchShowsIt(t *testing.T) {
	key := compare.Key{Kind: "ConfigMap", Namespace: "n", Name: "c"}
	version := func(v string) *packed { return &packed{key: key, version: v} }
	store := &overtaken{Indexer: cache.NewIndexer(itemKey, cache.Indexers{})}
	require.NoError(t, store.Add(version("2")))
	id := watchID{namespace: "n", kind: schema.GroupKind{Kind: "ConfigMap"}}
	l := &Live{watches: map[watchID]*watched{id: {id: id, store: store}}, writes: map[string]map[compare.Key]*packed{}}
	l.remember(key, version("3"))
	store.then = func() {
		require.NoError(t, store.Add(version("3")))
		l.find(key) // as the watch's handler does
	}
	assert.Equal(t, "3", l.find(key).version)
	assert.Empty(t, l.writes["n"], "and the write is dropped")
	assert.Equal(t, "3", l.find(key).version)
}
