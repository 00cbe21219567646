package ops_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

const setWithTwoDisks = `{
 "apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"crate-data-hot-c","namespace":"ns"},
 "spec":{"replicas":3,"template":{"metadata":{"labels":{"a":"b"}},"spec":{
   "containers":[{"name":"crate","image":"crate:6.4.3",
     "command":["crate","-Cpath.data=/data/data0,/data/data1","-Cblobs.path=/data/data0/blobs,/data/data1/blobs"],
     "volumeMounts":[{"name":"debug","mountPath":"/debug"},{"name":"data0","mountPath":"/data/data0"},{"name":"data1","mountPath":"/data/data1"}]}]}},
  "volumeClaimTemplates":[
   {"metadata":{"name":"data0"},"spec":{"resources":{"requests":{"storage":"1Gi"}}}},
   {"metadata":{"name":"data1"},"spec":{"resources":{"requests":{"storage":"1Gi"}}}},
   {"metadata":{"name":"debug"},"spec":{"resources":{"requests":{"storage":"1Gi"}}}}]}}`

func twoDisksSet(t *testing.T) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	require.NoError(t, o.UnmarshalJSON([]byte(setWithTwoDisks)))
	return o
}

// A template mounts a disk only where its StatefulSet has the claim template: Kubernetes refuses any
// other. What has one disk only is the same template again, by its hash, so that no pod restarts for it.
func TestATemplateMountsTheDisksThatItsStatefulSetHas(t *testing.T) {
	const both, first = model.SizeList("data0=1Gi,data1=1Gi,debug=1Gi"), model.SizeList("data0=1Gi,debug=1Gi")
	put := func(saved model.Saved, e model.EffectiveSet) (*unstructured.Unstructured, model.Saved, string) {
		e.Name, e.Replicas = "crate-data-hot-c", 3
		objects, next, err := manifest.Materialise([]*unstructured.Unstructured{twoDisksSet(t)}, saved, model.Effective{Sets: []model.EffectiveSet{e}})
		require.NoError(t, err)
		text, err := json.Marshal(objects[0].Object)
		require.NoError(t, err)
		return objects[0], next, string(text)
	}
	one, saved, text := put(nil, model.EffectiveSet{Sizes: first})
	assert.NotContains(t, text, "data1")
	assert.Contains(t, text, "-Cpath.data=/data/data0\"")
	assert.Len(t, manifest.VolumeTemplatesOf(one), 2)
	var classes []string
	for _, c := range manifest.Classify([]*unstructured.Unstructured{twoDisksSet(t)}, []*unstructured.Unstructured{one}) {
		if c.Class != model.ChangeInPlace {
			classes = append(classes, c.Class.String()+" "+c.Path)
		}
	}
	assert.ElementsMatch(t, []string{
		"disks spec.template.spec.containers[crate].command[path.data]", "disks spec.template.spec.containers[crate].command[blobs.path]",
		"disks spec.template.spec.containers[crate].volumeMounts[mountPath=/data/data1]", "disks spec.volumeClaimTemplates[data1]",
	}, classes)

	// It is recreated with the claim template, and its pods stay as they are.
	recreated, saved, text := put(saved, model.EffectiveSet{Template: model.TemplateKept, Sizes: both})
	assert.Equal(t, manifest.TemplateOf(one), manifest.TemplateOf(recreated))
	assert.NotContains(t, text, "/data/data1")
	assert.Equal(t, both, model.Sizes(manifest.VolumeTemplatesOf(recreated), "crate-data-hot-c"))
	assert.Equal(t, "data1", manifest.VolumeTemplatesOf(recreated)[1].Name, "before the claim of heap dumps")

	// Then they restart.
	whole, saved, text := put(saved, model.EffectiveSet{Sizes: both, Live: manifest.TemplateOf(recreated), Remember: true})
	assert.NotEqual(t, manifest.TemplateOf(one), manifest.TemplateOf(whole))
	assert.Contains(t, text, "-Cpath.data=/data/data0,/data/data1\"")

	// One that is recreated without the disk has the template of before.
	back, saved, text := put(saved, model.EffectiveSet{Template: model.TemplateKept, Sizes: first, Remember: true})
	assert.Equal(t, manifest.TemplateOf(one), manifest.TemplateOf(back))
	assert.NotContains(t, text, "data1")
	again, _, text := put(saved, model.EffectiveSet{Template: model.TemplateKept, Sizes: both})
	assert.Equal(t, manifest.TemplateOf(one), manifest.TemplateOf(again))
	assert.NotContains(t, text, "/data/data1")
	assert.Len(t, manifest.VolumeTemplatesOf(again), 3)

	// Fewer disks are no further ones.
	fewer := manifest.Classify([]*unstructured.Unstructured{one}, []*unstructured.Unstructured{whole})
	assert.Contains(t, fewer, model.Change{Class: model.ChangeFewerDisks, Set: "crate-data-hot-c", Path: "spec.volumeClaimTemplates[data1]", Old: "{2 fields}"})
}

// materialises makes a StatefulSet of three pods what is to be applied of it.
func materialises(t *testing.T) func(wanted *unstructured.Unstructured, saved model.Saved, e model.EffectiveSet) (*unstructured.Unstructured, model.Saved) {
	return func(wanted *unstructured.Unstructured, saved model.Saved, e model.EffectiveSet) (*unstructured.Unstructured, model.Saved) {
		t.Helper()
		e.Name, e.Replicas = "crate-data-hot-c", 3
		objects, next, err := manifest.Materialise([]*unstructured.Unstructured{wanted}, saved, model.Effective{Sets: []model.EffectiveSet{e}})
		require.NoError(t, err)
		return objects[0], next
	}
}

// A disk that is not desired any more stays mounted until its StatefulSet is recreated without it, but
// for a moment in which one pod restarts. No process reads anything else for it: the mark stays. What
// was saved may be lost, also in that moment.
func TestATemplateKeepsADiskThatIsToGo(t *testing.T) {
	const both, first = model.SizeList("data0=1Gi,data1=1Gi,debug=1Gi"), model.SizeList("data0=1Gi,debug=1Gi")
	two, desired := twoDisksSet(t), twoDisksSet(t)
	put := materialises(t)
	one, _ := put(two, nil, model.EffectiveSet{Sizes: first})
	desired.Object["spec"] = one.Object["spec"]
	whole, saved := put(two, nil, model.EffectiveSet{Sizes: both})
	mark := manifest.TemplateOf(whole)
	require.NotEqual(t, mark, manifest.TemplateOf(one))
	narrow, _ := put(desired, saved, model.EffectiveSet{Sizes: both, Unused: "data1"})
	lost := manifest.Pack([]*unstructured.Unstructured{narrow})
	for _, c := range []struct {
		name  string
		saved model.Saved
		e     model.EffectiveSet
		has   []string
		paths string
	}{
		{"all have it still", saved, model.EffectiveSet{Sizes: both}, []string{"data0", "data1"}, "/data/data0,/data/data1"},
		{"the template is kept", saved, model.EffectiveSet{Sizes: both, Template: model.TemplateKept}, []string{"data0", "data1"}, "/data/data0,/data/data1"},
		{"one pod restarts", saved, model.EffectiveSet{Sizes: both, Unused: "data1"}, []string{"data0", "data1"}, "/data/data0"},
		{"one pod restarts, and the template is kept", saved, model.EffectiveSet{Sizes: both, Unused: "data1", Template: model.TemplateKept}, []string{"data0", "data1"}, "/data/data0"},
		{"the record was lost in that moment", lost, model.EffectiveSet{Sizes: both}, []string{"data0", "data1"}, "/data/data0,/data/data1"},
		{"it was lost, and the template is kept", lost, model.EffectiveSet{Sizes: both, Template: model.TemplateKept}, []string{"data0", "data1"}, "/data/data0,/data/data1"},
		{"it was lost with the StatefulSet", nil, model.EffectiveSet{Sizes: both}, []string{"data0", "data1"}, "/data/data0,/data/data1"},
		{"no pod has it", saved, model.EffectiveSet{Sizes: first}, []string{"data0"}, "/data/data0"},
		{"it is recreated without it", saved, model.EffectiveSet{Sizes: first, Template: model.TemplateKept}, []string{"data0"}, "/data/data0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, next := put(desired, c.saved, c.e)
			assert.Equal(t, c.paths, manifest.ArgumentOf(set, "path.data"))
			assert.Equal(t, strings.ReplaceAll(c.paths, "data1", "data1/blobs"), strings.ReplaceAll(manifest.ArgumentOf(set, "blobs.path"), "data0/blobs", "data0"))
			var has []string
			for _, v := range manifest.VolumeTemplatesOf(set) {
				if model.DataVolume(v.Name) {
					has = append(has, v.Name)
					assert.Equal(t, "1Gi", v.Text)
				}
			}
			assert.Equal(t, c.has, has)
			assert.Equal(t, c.e.Unused, manifest.UnusedDisksOf(set), "every other disk is mounted")
			if c.saved != nil {
				assert.Equal(t, mark, manifest.TemplateOf(set), "no pod is outdated by it")
			}
			again, _ := put(desired, next, model.EffectiveSet{Sizes: c.e.Sizes})
			assert.Empty(t, manifest.UnusedDisksOf(again), "what is saved has all of them")
		})
	}
	for _, change := range manifest.Classify([]*unstructured.Unstructured{desired}, []*unstructured.Unstructured{whole}) {
		assert.False(t, change.Restarts(), change.Path)
	}
}

// A second mount of the first disk, by a patch, is none that another disk has as well.
func TestADiskThatIsToGoStaysMountedBesideASecondMountOfTheFirst(t *testing.T) {
	for name, mounts := range map[string]string{
		"behind": `{"name":"data0","mountPath":"/data/data0"},{"name":"data0","mountPath":"/more"}`,
		"before": `{"name":"data0","mountPath":"/more"},{"name":"data0","mountPath":"/data/data0"}`,
	} {
		t.Run(name, func(t *testing.T) {
			put := materialises(t)
			two := &unstructured.Unstructured{}
			require.NoError(t, two.UnmarshalJSON([]byte(strings.Replace(setWithTwoDisks, `{"name":"data0","mountPath":"/data/data0"}`, mounts, 1))))
			one, _ := put(two, nil, model.EffectiveSet{Sizes: "data0=1Gi,debug=1Gi"})
			set, _ := put(one, nil, model.EffectiveSet{Sizes: "data0=1Gi,data1=1Gi,debug=1Gi"})
			assert.Equal(t, "/data/data0,/data/data1", manifest.ArgumentOf(set, "path.data"))
			text, err := json.Marshal(set.Object)
			require.NoError(t, err)
			assert.Equal(t, 1, strings.Count(string(text), `"mountPath":"/data/data1"`))
			assert.Equal(t, 1, strings.Count(string(text), `"mountPath":"/more"`))
		})
	}
}
