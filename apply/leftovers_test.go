package apply_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

func (w *world) left(wanted ...*unstructured.Unstructured) []string {
	w.t.Helper()
	left, err := w.live.Leftovers(w.t.Context(), w.namespace, "one", wanted)
	require.NoError(w.t, err)
	var all []string
	for _, object := range left {
		all = append(all, object.GetKind()+" "+object.GetName())
	}
	return all
}

// Only what the cluster's inventory names, and what is still the cluster's, counts
// as made no more.
func TestWhatIsMadeNoMoreIsFoundByTheInventory(t *testing.T) {
	w := newWorld(t)
	set := w.statefulSet()
	w.mustSync(set, w.configMap("a"), w.configMap("taken"), w.configMap("moved"), w.configMap("heap"))
	w.settled()
	w.foreignConfigMap("by-hand", map[string]string{names.ClusterLabel: "one"})
	// Somebody took one for another cluster, and made another of their own.
	w.foreignPatch(compare.KeyOf(w.configMap("moved")), types.MergePatchType, `{"metadata":{"labels":{"stevedore.dev/cluster":"two"}}}`, "")
	require.NoError(t, w.admin.CoreV1().ConfigMaps(w.namespace).Delete(t.Context(), "taken", metav1.DeleteOptions{}))
	w.foreignConfigMap("taken", nil)
	for _, when := range []string{"at once", "after a restart"} {
		require.NoError(t, w.live.EnsureNamespace(t.Context(), w.namespace))
		w.eventually(compare.KeyOf(w.configMap("moved")), func(u *unstructured.Unstructured) bool { return u.GetLabels()[names.ClusterLabel] == "two" })
		require.Eventually(t, func() bool { _, ok := w.live.Get(compare.KeyOf(w.configMap("taken"))); return !ok }, deadline, poll)
		assert.Equal(t, []string{"ConfigMap heap", "StatefulSet crate-data-hot-one"}, w.left(w.configMap("a")), when)
		assert.Equal(t, []string{"ConfigMap heap"}, w.left(w.configMap("a"), set), when)
		assert.Equal(t, "crate-data-hot-one", w.live.UsedBy(w.namespace, "one", "heap"), "its template names it")
		assert.Empty(t, w.live.UsedBy(w.namespace, "one", "a"))
		w.restart()
	}
}

// An object is removed as it was when that was decided, or not at all.
func TestAnObjectIsRemovedOnlyAsItWasDecidedOn(t *testing.T) {
	w := newWorld(t)
	set, secret := w.statefulSet(), w.object(`{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: b}}`)
	w.mustSync(set, secret, w.configMap("c"))
	key := compare.KeyOf(w.configMap("c"))
	get := func(u *unstructured.Unstructured) *unstructured.Unstructured {
		live, err := w.dynamic(u).Get(t.Context(), u.GetName(), metav1.GetOptions{})
		require.NoError(t, err)
		return live
	}
	remove := func(u *unstructured.Unstructured, uid, rv string) error {
		return w.applier.Remove(t.Context(), "one", compare.KeyOf(u), uid, rv)
	}
	for _, data := range []*unstructured.Unstructured{set, secret} {
		live := get(data)
		require.ErrorContains(t, remove(data, string(live.GetUID()), live.GetResourceVersion()), "may hold data", data.GetKind())
		get(data)
	}
	old := get(w.configMap("c"))
	w.foreignPatch(key, types.MergePatchType, `{"data":{"x":"y"}}`, "")
	require.True(t, apierrors.IsConflict(remove(old, string(old.GetUID()), old.GetResourceVersion())), "it has changed since")
	now := get(old)
	require.NoError(t, remove(old, "another-uid", now.GetResourceVersion()))
	get(old)
	w.foreignPatch(key, types.MergePatchType, `{"metadata":{"labels":{"stevedore.dev/cluster":"two"}}}`, "")
	now = get(old)
	require.ErrorContains(t, remove(old, string(now.GetUID()), now.GetResourceVersion()), "the cluster two")
	w.foreignPatch(key, types.MergePatchType, `{"metadata":{"labels":{"stevedore.dev/cluster":"one"}}}`, "")
	now = get(old)
	require.NoError(t, remove(old, string(now.GetUID()), now.GetResourceVersion()))
	_, err := w.dynamic(old).Get(t.Context(), "c", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	require.NoError(t, remove(old, string(now.GetUID()), now.GetResourceVersion()), "it is gone already")
}

// Labels and annotations of others stay through every change of ours, and ours that
// the definition makes no more are taken off.
func TestLabelsOfOthersSurviveAndOursThatLeftAreTakenOff(t *testing.T) {
	w := newWorld(t)
	for _, base := range []*unstructured.Unstructured{
		w.statefulSet(), w.configMap("c", "a", "1"),
		w.object(`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{name: http, port: 4200}]}}`),
	} {
		t.Run(base.GetKind(), func(t *testing.T) {
			with := func(labels, annotations map[string]string) *unstructured.Unstructured {
				u := base.DeepCopy()
				all := u.GetLabels()
				if all == nil {
					all = map[string]string{}
				}
				for key, value := range labels {
					all[key] = value
				}
				u.SetLabels(all)
				u.SetAnnotations(annotations)
				return u
			}
			w.mustSync(with(map[string]string{"ours": "1", "leaves": "1"}, map[string]string{"ours": "1", "leaves": "1"}))
			rv := w.foreignPatch(compare.KeyOf(base), types.MergePatchType,
				`{"metadata":{"labels":{"theirs":"1","ours":"theirs"},"annotations":{"theirs":"1","example.org/leaves":"1"}}}`, "")
			require.Eventually(t, func() bool { return w.live.Seen(compare.KeyOf(base), rv) }, deadline, poll)
			w.mustSync(with(map[string]string{"ours": "2"}, nil))
			live, err := w.dynamic(base).Get(t.Context(), base.GetName(), metav1.GetOptions{})
			require.NoError(t, err)
			labels, annotations := live.GetLabels(), live.GetAnnotations()
			assert.Equal(t, "1", labels["theirs"])
			assert.Equal(t, "2", labels["ours"], "what we name is ours")
			assert.NotContains(t, labels, "leaves")
			assert.Equal(t, "1", annotations["theirs"])
			assert.Equal(t, "1", annotations["example.org/leaves"])
			assert.NotContains(t, annotations, "ours")
			assert.NotContains(t, annotations, "leaves")
			w.settled()
			w.requests.take()
			w.mustSync(with(map[string]string{"ours": "2"}, nil))
			assert.Empty(t, w.writes())
		})
	}
}
