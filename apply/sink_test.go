package apply

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

func listed(name, version string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	u.SetName(name)
	u.SetNamespace("ns")
	u.SetResourceVersion(version)
	u.SetLabels(map[string]string{names.ClusterLabel: name})
	return u
}

// A list after a while without a watch tells of what happened meanwhile, and of
// nothing else.
func TestAListTellsWhatIsOtherThanBefore(t *testing.T) {
	var told []string
	live := &Live{options: LiveOptions{OnChange: func(_, cluster string) { told = append(told, cluster) }}}
	w := &watched{synced: make(chan struct{})}
	w.store = cache.NewIndexer(itemKey, cache.Indexers{})
	s := &sink{live: live, watched: w, strip: transform}
	assert.False(t, w.listed())
	for _, step := range []struct {
		name string
		do   func() error
		told []string
		kept []string
	}{
		{"the first list", func() error { return s.Replace([]any{listed("a", "1"), listed("b", "2")}, "3") }, []string{"a", "b"}, []string{"ns/a", "ns/b"}},
		{"an object comes", func() error { return s.Add(listed("c", "4")) }, []string{"c"}, []string{"ns/a", "ns/b", "ns/c"}},
		{"one changes", func() error { return s.Update(listed("c", "5")) }, []string{"c"}, []string{"ns/a", "ns/b", "ns/c"}},
		{"one goes", func() error { return s.Delete(listed("a", "6")) }, []string{"a"}, []string{"ns/b", "ns/c"}},
		{"the same list", func() error { return s.Replace([]any{listed("b", "2"), listed("c", "5")}, "7") }, nil, []string{"ns/b", "ns/c"}},
		{"another list", func() error { return s.Replace([]any{listed("c", "8"), listed("d", "9")}, "9") }, []string{"c", "d", "b"}, []string{"ns/c", "ns/d"}},
		{"an empty list", func() error { return s.Replace(nil, "10") }, []string{"c", "d"}, nil},
	} {
		told = nil
		require.NoError(t, step.do(), step.name)
		assert.ElementsMatch(t, step.told, told, step.name)
		assert.ElementsMatch(t, step.kept, w.store.ListKeys(), step.name)
		assert.True(t, w.listed(), step.name)
	}
	assert.True(t, w.reachedVersion("9"))
}

// An answer is kept as maps, and a thousand new clusters have six each: nobody asks for
// them until the last one is made.
func TestAnAnswerIsKeptUntilTheWatchHasShownIt(t *testing.T) {
	for name, test := range map[string]struct {
		before, after string
		kept          bool
	}{
		"the watch shows it later":           {after: "5"},
		"the watch was sooner":               {before: "5"},
		"the watch shows a later write":      {after: "6"},
		"the watch shows an earlier one":     {before: "3", after: "4", kept: true},
		"the watch shows another object yet": {kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			answer := newObject(listed("a", "5"))
			key := compare.KeyOf(answer.Unstructured)
			w := &watched{id: watchID{namespace: "ns", kind: answer.GroupVersionKind().GroupKind()}, synced: make(chan struct{})}
			w.store = cache.NewIndexer(itemKey, cache.Indexers{})
			live := &Live{watches: map[watchID]*watched{w.id: w}, writes: map[string]map[compare.Key]*packed{}}
			s := &sink{live: live, watched: w, strip: transform}
			shows := func(name, version string) {
				if version != "" {
					require.NoError(t, s.Update(listed(name, version)))
				}
			}
			shows("a", test.before)
			live.wrote(key, answer)
			shows("b", "4")
			shows("a", test.after)
			assert.Equal(t, test.kept, live.writes["ns"][key] != nil)
			found, ok := live.Get(key)
			require.True(t, ok)
			assert.Equal(t, max("5", test.before, test.after), found.GetResourceVersion())
		})
	}
}
