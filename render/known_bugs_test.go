package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/render/definition"
)

// What users of crate-operator ran into, each as a test of what holds instead.
// The guard of each is taken out in internal/mutations, and its test goes red.

func ofKind(r *Rendered, kind string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(r.Objects), func(o *unstructured.Unstructured) bool { return o.GetKind() != kind })
}

// There, each group had a disruption budget of one name, so that the groups
// beside the first were unprotected.
func TestEachNodeOfEveryGroupIsUnderExactlyOneBudget(t *testing.T) {
	for name, c := range map[string]Cluster{
		"masters and two groups": tiers(),
		"two groups":             changed(tiers(), func(d *definition.CrateDB) { d.Spec.Nodes.Master = nil }),
		"one group":              single(),
	} {
		t.Run(name, func(t *testing.T) {
			r := mustRender(t, c, Config{}, Pins{})
			var names []string
			for _, o := range ofKind(r, "PodDisruptionBudget") {
				names = append(names, o.GetName())
			}
			require.NotEmpty(t, names)
			slices.Sort(names)
			require.Len(t, slices.Compact(slices.Clone(names)), len(names), "no two have one name")
			over := map[string][]string{}
			for _, set := range ofKind(r, "StatefulSet") {
				labels, _, err := unstructured.NestedStringMap(set.Object, "spec", "template", "metadata", "labels")
				require.NoError(t, err)
				for _, o := range ofKind(r, "PodDisruptionBudget") {
					selector, _, err := unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
					require.NoError(t, err)
					matches := len(selector) > 0
					for k, v := range selector {
						matches = matches && labels[k] == v
					}
					if matches {
						over[set.GetName()] = append(over[set.GetName()], o.GetName())
					}
				}
				require.Len(t, over[set.GetName()], 1, "%s: a pod under two budgets cannot be evicted, one under none is not protected", set.GetName())
			}
			data := map[string]bool{}
			for set, budgets := range over {
				if strings.HasPrefix(set, "crate-data-") {
					data[budgets[0]] = true
				}
			}
			assert.Len(t, data, 1, "all data nodes count together: the copies of a shard may be in two groups")
		})
	}
}

// There, a pod's hook was downloaded when the pod started; an empty file was a
// hook that drained nothing, silently.
func TestNoPodDownloadsWhatItNeedsToStopSafely(t *testing.T) {
	r := mustRender(t, tiers(), Config{}, Pins{})
	sets := ofKind(r, "StatefulSet")
	require.Len(t, sets, 3)
	for _, set := range sets {
		for _, list := range []string{"initContainers", "containers"} {
			containers, _, err := unstructured.NestedSlice(set.Object, "spec", "template", "spec", list)
			require.NoError(t, err)
			require.NotEmpty(t, containers)
			for _, c := range named(containers) {
				assert.NotContains(t, c, "lifecycle", "%s of %s has hooks", c["name"], set.GetName())
				for _, key := range []string{"command", "args"} {
					words, _ := c[key].([]any)
					for _, word := range words {
						assert.NotRegexp(t, `https?://|curl|wget`, word, "%s of %s fetches something", c["name"], set.GetName())
					}
				}
			}
		}
	}
}

// There, deleting the definition deleted the volumes: what made them owned them.
func TestNothingThatIsDeletedTakesVolumesWithIt(t *testing.T) {
	r := mustRender(t, tiers(), Config{}, Pins{})
	for _, o := range r.Objects {
		assert.Empty(t, o.GetOwnerReferences(), "%s %s", o.GetKind(), o.GetName())
		assert.NotEqual(t, "PersistentVolumeClaim", o.GetKind(), "a claim is a StatefulSet's own")
	}
	for _, set := range ofKind(r, "StatefulSet") {
		assert.NotContains(t, set.Object["spec"], "persistentVolumeClaimRetentionPolicy", "%s: by default Kubernetes retains them", set.GetName())
		claims, _, err := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
		require.NoError(t, err)
		for _, claim := range named(claims) {
			assert.NotContains(t, claim["metadata"], "ownerReferences", set.GetName())
		}
	}
}
