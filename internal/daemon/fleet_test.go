package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/definition"
)

func key(name string) record.Cluster { return record.Cluster{Namespace: "ns", Name: name} }

// defined is a build's cluster; clusterName is spec.cluster.name.
func defined(name, clusterName string) render.Cluster {
	d := &definition.CrateDB{}
	d.Spec.Cluster.Name = clusterName
	return render.Cluster{Namespace: "ns", Name: name, Definition: d}
}

func faulty(name string) render.Cluster {
	return render.Cluster{Namespace: "ns", Name: name, Problems: []definition.Problem{{Message: "a typo"}}}
}

func build(clusters ...render.Cluster) *render.Build { return &render.Build{Clusters: clusters} }

func broken(clusters ...render.Cluster) *render.Build {
	return &render.Build{Clusters: clusters, Problems: []definition.Problem{{Message: "no YAML"}}}
}

func TestTheFleetIsTheNewestGoodWordOfEachSource(t *testing.T) {
	for _, c := range []struct {
		name   string
		tell   func(*fleet)
		owner  string // as recorded
		expect func(*testing.T, wanted, bool)
	}{
		{"nobody names it", func(f *fleet) { f.take("a", "1", build()) }, "a", func(t *testing.T, _ wanted, ok bool) { assert.False(t, ok) }},
		{"a broken definition leaves the last good one", func(f *fleet) {
			f.take("a", "1", build(defined("c", "x")))
			f.take("a", "2", build(faulty("c")))
		}, "a", func(t *testing.T, w wanted, _ bool) {
			assert.Equal(t, "1", w.commit)
			assert.NotNil(t, w.cluster.Definition)
			assert.Len(t, w.problems, 1)
		}},
		{"a broken build removes nothing", func(f *fleet) {
			f.take("a", "1", build(defined("c", "x")))
			f.take("a", "2", broken())
		}, "a", func(t *testing.T, w wanted, _ bool) {
			assert.False(t, w.removed)
			assert.Len(t, w.problems, 1)
		}},
		{"a good build without it removes it, and it comes back", func(f *fleet) {
			f.take("a", "1", build(defined("c", "x")))
			f.take("a", "2", build())
			f.take("a", "3", build(defined("c", "x")))
		}, "a", func(t *testing.T, w wanted, _ bool) {
			assert.False(t, w.removed)
			assert.Empty(t, w.problems)
			assert.Equal(t, "3", w.commit)
		}},
		{"what was removed stays so through a broken build", func(f *fleet) {
			f.take("a", "1", build(defined("c", "x")))
			f.take("a", "2", build())
			f.take("a", "3", broken())
		}, "a", func(t *testing.T, w wanted, _ bool) { assert.True(t, w.removed) }},
		{"two sources: the recorded owner's goes first, the other is named", func(f *fleet) {
			f.take("a", "1", build(defined("c", "x")))
			f.take("b", "1", build(defined("c", "y")))
		}, "b", func(t *testing.T, w wanted, _ bool) {
			assert.Equal(t, "b", w.owner)
			assert.Equal(t, "a", w.otherOwner)
		}},
		{"two sources: the one that consents takes it from the recorded one", func(f *fleet) {
			f.take("a", "1", build(defined("c", "x")))
			moved := defined("c", "x")
			moved.Definition.Spec.Operations.Consent = []definition.Consent{definition.ConsentTakeOver}
			f.take("b", "1", build(moved))
		}, "a", func(t *testing.T, w wanted, _ bool) {
			assert.Equal(t, "b", w.owner)
			assert.Equal(t, "a", w.otherOwner)
		}},
		{"two sources, the owner took it out: the other does not inherit it silently", func(f *fleet) {
			f.take("a", "1", build(defined("c", "x")))
			f.take("b", "1", build(defined("c", "y")))
			f.take("a", "2", build())
		}, "a", func(t *testing.T, w wanted, _ bool) {
			assert.Equal(t, "b", w.owner, "decided against the recorded owner")
			assert.Empty(t, w.otherOwner)
		}},
		{"after a restart a recorded cluster that no definition names is removed", func(f *fleet) {
			f.take("a", "1", build())
			assert.True(t, f.adopt(key("c"), "a", "x"))
		}, "a", func(t *testing.T, w wanted, ok bool) { assert.True(t, ok && w.removed) }},
		{"after a restart into a broken build it is not", func(f *fleet) {
			f.take("a", "1", broken())
			assert.True(t, f.adopt(key("c"), "a", "x"))
		}, "a", func(t *testing.T, w wanted, ok bool) { assert.True(t, ok && !w.removed && len(w.problems) == 1) }},
		{"before the source was read nothing is adopted", func(f *fleet) {
			assert.False(t, f.adopt(key("c"), "a", "x"))
		}, "a", func(t *testing.T, _ wanted, ok bool) { assert.False(t, ok) }},
		{"another daemon's cluster is not adopted", func(f *fleet) {
			f.take("a", "1", build())
			assert.False(t, f.adopt(key("c"), "somebody", "x"))
		}, "somebody", func(t *testing.T, _ wanted, ok bool) { assert.False(t, ok) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet()
			c.tell(f)
			w, ok := f.get(key("c"), c.owner)
			c.expect(t, w, ok)
		})
	}
}

func TestARenameIsKnownByTheClusterThatIsNotNamedAnyMore(t *testing.T) {
	for _, c := range []struct {
		name string
		tell func(*fleet)
		from string
	}{
		{"the old name is gone", func(f *fleet) {
			f.take("a", "1", build(defined("old", "x")))
			f.take("a", "2", build(defined("new", "x")))
		}, "ns/old"},
		{"in a build that is broken elsewhere", func(f *fleet) {
			f.take("a", "1", build(defined("old", "x")))
			f.take("a", "2", broken(defined("new", "x")))
		}, "ns/old"},
		{"while nobody looked", func(f *fleet) {
			f.take("a", "2", build(defined("new", "x")))
			f.adopt(key("old"), "a", "x")
		}, "ns/old"},
		{"while nobody looked, broken elsewhere", func(f *fleet) {
			f.take("a", "2", broken(defined("new", "x")))
			f.adopt(key("old"), "a", "x")
		}, "ns/old"},
		{"the old name is still there", func(f *fleet) {
			f.take("a", "1", build(defined("old", "x"), defined("new", "x")))
		}, ""},
		{"the old name came back", func(f *fleet) {
			f.take("a", "1", build(defined("old", "x")))
			f.take("a", "2", build(defined("new", "x")))
			f.take("a", "3", build(defined("old", "x"), defined("new", "x")))
		}, ""},
		{"another spec.cluster.name", func(f *fleet) {
			f.take("a", "1", build(defined("old", "y")))
			f.take("a", "2", build(defined("new", "x")))
		}, ""},
		{"it moved in from another source", func(f *fleet) {
			f.take("b", "1", build(defined("old", "x")))
			f.take("b", "2", build())
			f.take("a", "1", build(defined("new", "x")))
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet()
			c.tell(f)
			w, ok := f.get(key("new"), "")
			require.True(t, ok)
			assert.Equal(t, c.from, w.renamedFrom)
		})
	}
}

// In a repository of a thousand, the others need no look for a commit.
func TestACommitWakesTheClustersThatItTouches(t *testing.T) {
	c, e := defined("c", "x"), defined("e", "y")
	travels := func(data string) render.Cluster {
		with := e // a file that is as it was is not read again
		with.Others = []*unstructured.Unstructured{{Object: map[string]any{"kind": "ConfigMap", "data": map[string]any{"a": data}}}}
		return with
	}
	f := newFleet()
	for _, step := range []struct {
		name  string
		build *render.Build
		wakes []record.Cluster
	}{
		{"the first", build(c, e), []record.Cluster{key("c"), key("e")}},
		{"the same again", build(defined("c", "x"), defined("e", "y")), []record.Cluster{}},
		{"one is defined otherwise", build(defined("c", "z"), defined("e", "y")), []record.Cluster{key("c")}},
		{"something travels with the other", build(defined("c", "z"), travels("1")), []record.Cluster{key("e")}},
		{"which changes", build(defined("c", "z"), travels("2")), []record.Cluster{key("e")}},
		{"a mistake in one", build(faulty("c"), travels("2")), []record.Cluster{key("c")}},
		{"which stays", build(faulty("c"), travels("2")), []record.Cluster{key("c")}},
		{"and is corrected", build(defined("c", "z"), travels("2")), []record.Cluster{key("c")}},
		{"one is gone", build(defined("c", "z")), []record.Cluster{key("e")}},
		{"and stays so", build(defined("c", "z")), []record.Cluster{}},
		{"a third comes", build(defined("c", "z"), defined("new", "n")), []record.Cluster{key("new")}},
		{"the one that was gone comes back", build(defined("c", "z"), defined("new", "n"), travels("2")), []record.Cluster{key("e")}},
	} {
		assert.Equal(t, step.wakes, f.take("a", step.name, step.build), step.name)
		now, ok := f.get(key("c"), "a")
		require.True(t, ok)
		assert.Equal(t, step.name, now.newest, step.name)
	}
}
