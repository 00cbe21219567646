package apply_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/apply/compare"
)

// Whether or not the watch has shown it already: the pods that somebody added
// may hold shards.
func TestAStatefulSetIsNeverMadeSmallerByAnApply(t *testing.T) {
	w := newWorld(t)
	set := w.statefulSet()
	w.mustSync(set)
	w.settled()

	w.foreignPatch(compare.KeyOf(set), types.MergePatchType, `{"spec":{"replicas":5}}`, "")
	next := set.DeepCopy()
	next.SetAnnotations(map[string]string{"example.org/x": "1"})
	result, err := w.sync(next)
	require.ErrorContains(t, err, "it has 5 replicas by now and 3 are to be applied")
	assert.Len(t, result.Failed, 1)
	live, err := w.admin.AppsV1().StatefulSets(w.namespace).Get(t.Context(), set.GetName(), metav1.GetOptions{})
	require.NoError(t, err)
	assert.EqualValues(t, 5, *live.Spec.Replicas)

	// Decided again.
	require.NoError(t, unstructured.SetNestedField(next.Object, int64(5), "spec", "replicas"))
	w.mustSync(next)
	live, err = w.admin.AppsV1().StatefulSets(w.namespace).Get(t.Context(), set.GetName(), metav1.GetOptions{})
	require.NoError(t, err)
	assert.EqualValues(t, 5, *live.Spec.Replicas)
	assert.Equal(t, "1", live.Annotations["example.org/x"])
}
