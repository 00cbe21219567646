package apply_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

func TestTheInventoryFollowsTheApplySetConvention(t *testing.T) {
	w := newWorld(t)
	objects := []*unstructured.Unstructured{w.statefulSet(), w.configMap("b"), w.configMap("a")}
	w.mustSync(objects...)
	parent, err := w.admin.CoreV1().ConfigMaps(w.namespace).Get(t.Context(), names.InventoryConfigMap("one"), metav1.GetOptions{})
	require.NoError(t, err)
	id := parent.Labels["applyset.kubernetes.io/id"]
	assert.Equal(t, apply.ApplySetID(w.namespace, "one"), id)
	assert.Equal(t, "stevedore/dev", parent.Annotations["applyset.kubernetes.io/tooling"])
	assert.Equal(t, "ConfigMap,StatefulSet.apps", parent.Annotations["applyset.kubernetes.io/contains-group-kinds"])
	assert.NotContains(t, parent.Labels, "applyset.kubernetes.io/part-of", "the parent is no member")
	var content struct {
		SchemaVersion int
		Objects       []compare.Key
	}
	require.NoError(t, json.Unmarshal([]byte(parent.Data[names.DataKey]), &content))
	assert.Equal(t, 1, content.SchemaVersion)
	assert.Len(t, content.Objects, 3)
	members, err := w.admin.CoreV1().ConfigMaps(w.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "applyset.kubernetes.io/part-of=" + id})
	require.NoError(t, err)
	assert.Len(t, members.Items, 2)
	w.settled()
	assert.Equal(t, []string{"one"}, w.live.Clusters(w.namespace))
}

// The id of the convention's own example: base64(sha256("<name>.<namespace>.<kind>.<group>")),
// the alphabet for URLs, without padding.
func TestTheApplySetsIDIsTheConventions(t *testing.T) {
	id := apply.ApplySetID("ns", "one")
	assert.Regexp(t, `^applyset-[A-Za-z0-9_-]{43}-v1$`, id)
	assert.LessOrEqual(t, len(id), 63, "it must fit a label")
	assert.NotEqual(t, id, apply.ApplySetID("ns", "two"))
	assert.NotEqual(t, id, apply.ApplySetID("other", "one"))
}

func TestWhatIsNoLongerWantedIsReportedAndStays(t *testing.T) {
	w := newWorld(t)
	policy := w.object(`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: p}, spec: {podSelector: {}}}`)
	secret := w.object(`{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: b}}`)
	w.mustSync(w.statefulSet(), w.configMap("a"), w.configMap("b"), policy, secret)
	want := []apply.Leftover{
		{Key: compare.Key{Kind: "ConfigMap", Namespace: w.namespace, Name: "b"}},
		{Key: compare.Key{Group: "networking.k8s.io", Kind: "NetworkPolicy", Namespace: w.namespace, Name: "p"}},
		{Key: compare.Key{Kind: "Secret", Namespace: w.namespace, Name: "s"}, Data: true},
		{Key: compare.Key{Group: "apps", Kind: "StatefulSet", Namespace: w.namespace, Name: "crate-data-hot-one"}, Data: true},
	}
	for _, when := range []string{"at once", "again"} {
		assert.Equal(t, want, w.mustSync(w.configMap("a")).Leftovers, when)
	}
	w.settled()
	w.restart()
	assert.Equal(t, want, w.mustSync(w.configMap("a")).Leftovers, "after a restart, of kinds and Secrets that nothing wanted names any more")
	_, err := w.admin.AppsV1().StatefulSets(w.namespace).Get(t.Context(), "crate-data-hot-one", metav1.GetOptions{})
	require.NoError(t, err)

	// A damaged inventory is rebuilt; the labels find its members.
	_, err = w.admin.CoreV1().ConfigMaps(w.namespace).Patch(t.Context(), names.InventoryConfigMap("one"), types.MergePatchType,
		[]byte(`{"data":{"data.json":"{"}}`), metav1.PatchOptions{FieldManager: "someone"})
	require.NoError(t, err)
	key := compare.Key{Kind: "ConfigMap", Namespace: w.namespace, Name: names.InventoryConfigMap("one")}
	w.eventually(key, func(u *unstructured.Unstructured) bool {
		text, _, _ := unstructured.NestedString(u.Object, "data", names.DataKey)
		return text == "{"
	})
	result := w.mustSync(w.configMap("a"))
	assert.Equal(t, []compare.Key{key}, result.Written)
	assert.Contains(t, result.Leftovers, want[3])

	// What somebody deletes is no longer left over.
	require.NoError(t, w.admin.CoreV1().ConfigMaps(w.namespace).Delete(t.Context(), "b", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { _, ok := w.live.Get(want[0].Key); return !ok }, deadline, poll)
	assert.NotContains(t, w.mustSync(w.configMap("a")).Leftovers, want[0])
}

func TestAnObjectThatIsBeingDeletedIsNotWritten(t *testing.T) {
	w := newWorld(t)
	kept := w.configMap("kept")
	kept.SetFinalizers([]string{"example.org/keep"})
	w.mustSync(kept)
	require.NoError(t, w.admin.CoreV1().ConfigMaps(w.namespace).Delete(t.Context(), "kept", metav1.DeleteOptions{}))
	w.eventually(compare.KeyOf(kept), func(u *unstructured.Unstructured) bool { return u.GetDeletionTimestamp() != nil })
	_, err := w.sync(kept)
	require.ErrorIs(t, err, apply.ErrBeingDeleted)

	// Once it is gone it is recreated.
	_, err = w.admin.CoreV1().ConfigMaps(w.namespace).Patch(t.Context(), "kept", types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{FieldManager: "someone"})
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, ok := w.live.Get(compare.KeyOf(kept)); return !ok }, deadline, poll)
	assert.Contains(t, w.mustSync(kept).Written, compare.KeyOf(kept))
}
