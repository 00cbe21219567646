package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

func classes(names ...string) model.Storage {
	s := model.Storage{Known: true, Free: []string{}}
	for _, name := range names {
		s.Classes = append(s.Classes, gates.StorageClass{Name: name, Provisioner: "example.com/disk", Default: name == "default"})
	}
	return s
}

func asks(set, class string) []model.ClaimClass {
	return []model.ClaimClass{{Set: set, Class: class, Claims: []string{"data0", "debug"}}}
}

// Its pods would wait for ever, and the class of a claim never changes.
func TestNothingIsMadeOfAStorageClassThatIsNotThere(t *testing.T) {
	fresh := func(class string, s model.Storage) *situation {
		d := wantedCluster(3)
		d.Storage = asks(hot, class)
		return &situation{d: d, o: model.Observed{At: newWorld(t, d).now, Storage: s}}
	}
	grown := func(class string, s model.Storage) *situation {
		m := made(t)
		m.d.Revision = "rev-x"
		m.d.Sets = append(m.d.Sets, model.Set{Name: cold, Group: "cold", Data: true, Replicas: 2})
		m.d.Storage = append(asks(hot, "gone"), asks(cold, class)...)
		m.o.Storage = s
		return m
	}
	free := classes("fast")
	free.Free = []string{"local", ""}
	dead := model.Storage{Known: true, Classes: []gates.StorageClass{{Name: "old", Provisioner: "kubernetes.io/glusterfs"}}}
	for _, c := range []struct {
		name    string
		s       *situation
		refused string // what its words have; "": it is not refused
	}{
		{"a new cluster, the class is there", fresh("fast", classes("fast", "slow")), ""},
		{"a new cluster, the class is missing", fresh("quick", classes("slow", "fast")), "crate-data-hot-c (data0, debug): the storage class quick does not exist (there are fast, slow)"},
		{"a new cluster, there is no class at all", fresh("quick", classes()), "(there is none)"},
		{"a new cluster without a class, one is the default", fresh("", classes("default", "fast")), ""},
		{"a new cluster without a class, none is the default", fresh("", classes("fast")), "none is the default one (there are fast)"},
		{"a new cluster, nothing is known of classes", fresh("quick", model.Storage{Unread: "forbidden"}), ""},
		{"a new cluster, the class is only that of free volumes", fresh("local", free), ""},
		{"a new cluster without a class, volumes without one are free", fresh("", free), ""},
		{"a new cluster, the provisioner is in Kubernetes no more", fresh("old", dead), "kubernetes.io/glusterfs, which Kubernetes has no more"},
		{"a new group, the class is there", grown("fast", classes("fast")), ""},
		{"a new group, the class is missing", grown("quick", classes("fast")), "crate-data-cold-c (data0, debug): the storage class quick"},
		{"a new group, nothing is known of classes", grown("quick", model.Storage{}), ""},
		{"a running cluster whose class has gone", grown("fast", classes("fast")), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := c.s.decide()
			if c.refused == "" {
				assert.NotContains(t, reasons(d.Refusals), "storage-class-missing")
				return
			}
			require.Equal(t, []string{"storage-class-missing"}, reasons(d.Refusals))
			assert.Contains(t, d.Refusals[0].Message, c.refused)
			assert.NotContains(t, d.Refusals[0].Message, "gone", "what runs is no matter")
			assert.Equal(t, model.Refuse, d.Verdict)
			require.Len(t, d.Reports, 1)
			assert.Equal(t, model.StatusFailure, d.Reports[0].Status)
			if len(c.s.o.Sets) == 0 {
				assert.False(t, d.Apply, "nothing is made")
				assert.Empty(t, d.Actions())
				assert.Empty(t, d.Record.Sets)
			}
			for _, e := range d.Effective.Sets {
				assert.Equal(t, e.Name == cold, e.Absent)
			}

			// It goes on by itself once the class is there.
			c.s.r = d.Record
			assert.Empty(t, c.s.decide().Reports, "it is said once")
			c.s.o.Storage = classes("default", "fast", "quick", "old")
			d = c.s.decide()
			assert.Empty(t, d.Refusals)
			assert.True(t, d.Apply)
		})
	}
}

// What is there, a set or a claim of it, is never held up by a class.
func TestAStorageClassThatHasGoneHoldsNothingUpThatIsMade(t *testing.T) {
	claimed := made(t)
	claimed.d.Storage = asks(hot, "gone")
	claimed.o.Storage = classes("fast")
	claimed.o.Sets = nil // deleted by hand, its pods left
	lost := made(t)
	lost.d.Storage, lost.o.Storage, lost.r = asks(hot, "gone"), classes("fast"), model.Record{}
	half := made(t)
	half.d.Sets = append(half.d.Sets, model.Set{Name: cold, Group: "cold", Data: true, Replicas: 2})
	half.d.Storage, half.o.Storage = asks(cold, "gone"), classes("fast")
	half.o.Claims = append(half.o.Claims, model.Claim{Name: "data0-" + cold + "-0", Set: cold, ClusterID: half.r.ClusterID})
	for name, s := range map[string]*situation{"a deleted StatefulSet": claimed, "a lost record": lost, "a claim of a new group": half} {
		t.Run(name, func(t *testing.T) {
			if len(s.o.Claims) == 0 {
				s.o.Claims = []model.Claim{{Name: "data0-" + hot + "-0", Set: hot, ClusterID: s.r.ClusterID}}
			}
			assert.NotContains(t, reasons(s.decide().Refusals), "storage-class-missing")
		})
	}
}

func TestTheClassesThatStatefulSetsAskFor(t *testing.T) {
	claim := func(name string, spec map[string]any) any {
		return map[string]any{"metadata": map[string]any{"name": name}, "spec": spec}
	}
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": hot},
		"spec": map[string]any{"volumeClaimTemplates": []any{
			claim("data0", map[string]any{"storageClassName": "fast"}), claim("data1", map[string]any{"storageClassName": "fast"}),
			claim("static", map[string]any{"storageClassName": ""}), claim("debug", map[string]any{}),
		}},
	}}
	assert.Equal(t, []model.ClaimClass{
		{Set: hot, Class: "fast", Claims: []string{"data0", "data1"}}, {Set: hot, Claims: []string{"debug"}},
	}, manifest.ClaimClasses([]*unstructured.Unstructured{set}))
}

// The advice to replace the volumes, which deletes them, came for a class that a typing mistake had made.
func TestAClassThatIsNotThereIsSaidBeforeTheAdviceThatDeletesVolumes(t *testing.T) {
	for name, classes := range map[string]struct {
		there    model.Storage
		refusals []string
	}{
		"a typing mistake": {classes("fast"), []string{"storage-class-missing", "volume-change-not-supported"}},
		"it is there":      {classes("fast", "slow"), []string{"volume-change-not-supported"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := made(t)
			s.o.Volumes = []model.VolumeTemplate{{Set: hot, Name: "data0", Class: "fast"}}
			s.d.Volumes = []model.VolumeTemplate{{Set: hot, Name: "data0", Class: "slow"}}
			s.d.Changes = []model.Change{{Set: hot, Path: "spec.volumeClaimTemplates[data0].spec.storageClassName", Old: "fast", New: "slow", Class: model.ChangeVolumes}}
			s.d.Revision, s.o.Storage = "rev-typing", classes.there
			assert.Equal(t, classes.refusals, reasons(s.decide().Refusals))
		})
	}
}
