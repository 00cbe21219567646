package apply_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/manifest"
)

// recordedSet is the StatefulSet of a real crate-operator as a take-over makes it again: all that was
// live, what the API server had filled in too.
func recordedSet(t *testing.T, namespace string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile("../internal/daemon/testdata/adopted/sts.yaml")
	require.NoError(t, err)
	text, err = yaml.YAMLToJSON(text)
	require.NoError(t, err)
	list := &unstructured.UnstructuredList{}
	require.NoError(t, list.UnmarshalJSON(text))
	set := &list.Items[0]
	unstructured.RemoveNestedField(set.Object, "status")
	unstructured.RemoveNestedField(set.Object, "metadata")
	set.SetNamespace(namespace)
	set.SetName("crate-data-hot-one")
	set.SetLabels(map[string]string{names.ClusterLabel: "one", names.ManagedByLabel: "crate-operator"})
	set.SetAnnotations(map[string]string{names.AdoptedAnnotation: `{"from":"crate-operator"}`})
	templates, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	for _, each := range templates {
		unstructured.RemoveNestedField(each.(map[string]any), "metadata", "ownerReferences")
		unstructured.RemoveNestedField(each.(map[string]any), "status")
	}
	require.NoError(t, unstructured.SetNestedSlice(set.Object, templates, "spec", "volumeClaimTemplates"))
	return set
}

// What the daemon applies of it lacks what the API server fills in by itself: nothing of the pod
// template is changed by that but what it means to change, and nothing is refused.
func TestAnAdoptedStatefulSetIsAppliedAsItIs(t *testing.T) {
	w := newWorld(t)
	set := recordedSet(t, w.namespace)
	made, err := w.dynamic(set).Apply(t.Context(), set.GetName(), set, metav1.ApplyOptions{FieldManager: names.FieldManager, Force: true})
	require.NoError(t, err)
	w.restart()

	sent := set.DeepCopy()
	sent.SetAnnotations(map[string]string{names.AdoptedAnnotation: `{"from":"crate-operator","desired":"0123"}`})
	unstructured.RemoveNestedField(sent.Object, "spec", "persistentVolumeClaimRetentionPolicy")
	templates, _, _ := unstructured.NestedSlice(sent.Object, "spec", "volumeClaimTemplates")
	for _, each := range templates {
		for _, field := range [][]string{{"spec", "volumeMode"}, {"apiVersion"}, {"kind"}} {
			unstructured.RemoveNestedField(each.(map[string]any), field...)
		}
	}
	require.NoError(t, unstructured.SetNestedSlice(sent.Object, templates, "spec", "volumeClaimTemplates"))
	without := func(o *unstructured.Unstructured) {
		manifest.EachCommand(o, func(arguments []any) []any {
			return slices.DeleteFunc(slices.Clone(arguments), func(a any) bool { return strings.HasPrefix(fmt.Sprint(a), "-Ccluster.initial_master_nodes=") })
		})
	}
	without(sent)
	w.mustSync(sent)
	live, err := w.dynamic(set).Get(t.Context(), set.GetName(), metav1.GetOptions{})
	require.NoError(t, err)
	without(made)
	was, _, _ := unstructured.NestedMap(made.Object, "spec")
	is, _, _ := unstructured.NestedMap(live.Object, "spec")
	assert.Equal(t, was, is)
	assert.Contains(t, live.GetAnnotations()[names.AdoptedAnnotation], "0123")
	assert.Equal(t, made.GetUID(), live.GetUID())

	sent.SetAnnotations(nil) // it has no adopted template any more
	w.mustSync(sent)
	live, err = w.dynamic(set).Get(t.Context(), set.GetName(), metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotContains(t, live.GetAnnotations(), names.AdoptedAnnotation)
	assert.Equal(t, compare.KeyOf(set), compare.KeyOf(live))
}
