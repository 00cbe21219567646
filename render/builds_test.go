package render

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func (m *buildMemory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.order, m.known, m.used = nil, nil, 0
}

// begun are the folders that were built since.
func (m *buildMemory) since(before []*rememberedBuild) []string {
	var dirs []string
	for _, b := range m.order {
		if !slices.Contains(before, b) {
			dirs = append(dirs, b.dir)
		}
	}
	slices.Sort(dirs)
	return dirs
}

const overlayPatch = "apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: a}\nspec: {nodes: {data: [{name: hot, replicas: %d}]}}\n"

// overlaid are so many clusters: overlays of one base, and one without it.
func overlaid(clusters int) (fleet files, overlays []string) {
	fleet = files{
		"base/a.yaml": cluster("", "a", "hot"), "base/kustomization.yaml": kustomization("resources: [a.yaml]"),
		"other/kustomization.yaml": kustomization("namespace: other", "resources: [b.yaml]"), "other/b.yaml": cluster("", "b", "hot"),
	}
	for i := range clusters - 1 {
		dir := fmt.Sprintf("o%03d", i)
		overlays = append(overlays, dir)
		fleet[dir+"/kustomization.yaml"] = kustomization(fmt.Sprintf("namespace: n%d", i), "resources: [../base]", "patches:", "- path: p.yaml")
		fleet[dir+"/p.yaml"] = fmt.Sprintf(overlayPatch, 4)
	}
	return fleet, overlays
}

// The result is that of a build of all, whatever is remembered.
func TestACommitBuildsOnlyTheOverlaysThatOpenedOrLookedForWhatItTouched(t *testing.T) {
	fleet, overlays := overlaid(10)
	for _, c := range []struct {
		name   string
		commit func(files)
		builds []string
		broken bool
	}{
		{"nothing", func(files) {}, nil, false},
		{"a file that none opens", func(f files) { f["o001/notes.txt"], f["base/README.md"] = "x", "y" }, nil, false},
		{"the patch of one", func(f files) { f["o001/p.yaml"] = fmt.Sprintf(overlayPatch, 5) }, []string{"o001"}, false},
		{"the kustomization of one", func(f files) { f["o002/kustomization.yaml"] += "commonAnnotations: {a: b}\n" }, []string{"o002"}, false},
		{"the base of all but one", func(f files) { f["base/a.yaml"] = strings.Replace(f["base/a.yaml"], "6.4.3", "6.4.2", 1) }, overlays, false},
		{"a file that one looked for, and that was not there", func(f files) { f["other/Kustomization"] = "resources: []\n" }, nil, true},
		{"a file of one is gone", func(f files) { delete(f, "o003/p.yaml") }, nil, true},
		{"one more", func(f files) { f["o999/kustomization.yaml"] = kustomization("namespace: more", "resources: [../base]") }, []string{"o999"}, false},
		{"one fewer", func(f files) { delete(f, "other/kustomization.yaml"); delete(f, "other/b.yaml") }, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			rememberedBuilds.forget()
			require.Len(t, BuildTree(context.Background(), fleet.fs(), Config{}).Clusters, 10)
			now, before := maps.Clone(fleet), slices.Clone(rememberedBuilds.order)
			c.commit(now)
			build := BuildTree(context.Background(), now.fs(), Config{})
			assert.Equal(t, c.builds, rememberedBuilds.since(before))
			broken := len(build.Problems) > 0 || slices.ContainsFunc(build.Clusters, func(c Cluster) bool { return len(c.Problems) > 0 })
			assert.Equal(t, c.broken, broken, "%v", build.Problems)
			rememberedBuilds.forget()
			assert.Equal(t, BuildTree(context.Background(), now.fs(), Config{}), build)
		})
	}
}

func TestOfHundredsOfOverlaysACommitToOneBuildsOne(t *testing.T) {
	fleet, _ := overlaid(300)
	rememberedBuilds.forget()
	require.Len(t, BuildTree(context.Background(), fleet.fs(), Config{}).Clusters, 300)
	before := slices.Clone(rememberedBuilds.order)
	fleet["o150/p.yaml"] = fmt.Sprintf(overlayPatch, 5)
	build := BuildTree(context.Background(), fleet.fs(), Config{})
	assert.Len(t, build.Clusters, 300)
	assert.Empty(t, build.Problems)
	assert.Equal(t, []string{"o150"}, rememberedBuilds.since(before))
	assert.Less(t, rememberedBuilds.used/300*2000, rememberedBuilds.size, "thousands of them are remembered")
}

// What is made of a build is its own: whoever changes it changes no other.
func TestWhatIsRememberedOfABuildIsNotShared(t *testing.T) {
	tree := files{
		"kustomization.yaml": kustomization("namespace: ns", "resources: [a.yaml, c.yaml]"), "a.yaml": cluster("", "a", "hot"),
		"c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {k: v}\n",
	}
	rememberedBuilds.forget()
	first := BuildTree(context.Background(), tree.fs(), Config{})
	require.Len(t, first.Clusters[0].Others, 1)
	want := first.Clusters[0].Others[0].DeepCopy()
	for range 2 {
		build := BuildTree(context.Background(), tree.fs(), Config{})
		require.Equal(t, want, build.Clusters[0].Others[0])
		build.Clusters[0].Others[0].SetName("changed by whoever has it")
	}
}

func TestTheMemoryOfBuildsHasABoundAndForgetsTheOldestFirst(t *testing.T) {
	m := buildMemory{size: 1000}
	put := func(dir string, bytes int) {
		m.put(dir, &questions{}, []madeItem{{data: make([]byte, bytes)}}, nil)
	}
	put("a", 300)
	put("b", 300)
	put("c", 300)
	assert.Equal(t, []string{"b", "c"}, slices.Sorted(maps.Keys(m.known)))
	put("d", 2000)
	assert.Equal(t, []string{"b", "c"}, slices.Sorted(maps.Keys(m.known)), "one that is too large drives out none")
	for range sameFolder + 2 {
		put("e", 10)
	}
	assert.Len(t, m.known["e"], sameFolder)
	assert.LessOrEqual(t, m.used, m.size)
	m.put("f", &questions{never: true}, nil, nil)
	assert.NotContains(t, m.known, "f", "not everything that it asked is asked again")
}
