package apply_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// An object that exists becomes the cluster's only as the policy says, and one
// that another looks after is refused with whose it is.
func TestAnObjectOfAnotherIsTakenOnlyAsThePolicySays(t *testing.T) {
	const never, unowned, always = apply.AdoptNever, apply.AdoptUnowned, apply.AdoptAlways
	owners := []metav1.OwnerReference{{APIVersion: "cloud.crate.io/v1", Kind: "CrateDB", Name: "shop", UID: "u"}}
	for _, c := range []struct {
		name   string
		meta   metav1.ObjectMeta
		owner  string
		taken  []apply.Adoption
		spared []apply.Adoption
	}{
		{"nobody's", metav1.ObjectMeta{Labels: map[string]string{"app": "x"}}, "", []apply.Adoption{unowned, always}, []apply.Adoption{never}},
		{"labelled for this cluster", metav1.ObjectMeta{Labels: map[string]string{names.ClusterLabel: "one"}}, "", []apply.Adoption{never, unowned, always}, nil},
		{"another cluster's", metav1.ObjectMeta{Labels: map[string]string{names.ClusterLabel: "two"}}, "the cluster two", nil, []apply.Adoption{never, unowned, always}},
		{"of an owner", metav1.ObjectMeta{OwnerReferences: owners}, "CrateDB shop", []apply.Adoption{always}, []apply.Adoption{never, unowned}},
		{"Helm's", metav1.ObjectMeta{Annotations: map[string]string{"meta.helm.sh/release-name": "shop"}}, "the Helm release shop", []apply.Adoption{always}, []apply.Adoption{unowned}},
		{"Argo CD's", metav1.ObjectMeta{Annotations: map[string]string{"argocd.argoproj.io/tracking-id": "shop:/ConfigMap:a/b"}}, "the Argo CD application shop", nil, []apply.Adoption{unowned}},
		{"Argo CD's, by label", metav1.ObjectMeta{Labels: map[string]string{"argocd.argoproj.io/instance": "shop"}}, "the Argo CD application shop", nil, []apply.Adoption{unowned}},
		{"Flux's", metav1.ObjectMeta{Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "shop"}}, "the Flux Kustomization shop", nil, []apply.Adoption{unowned}},
		{"another ApplySet's", metav1.ObjectMeta{Labels: map[string]string{"applyset.kubernetes.io/part-of": "applyset-x-v1"}}, "the ApplySet applyset-x-v1", nil, []apply.Adoption{unowned}},
		{"of a manager that says so", metav1.ObjectMeta{Labels: map[string]string{names.ManagedByLabel: "crate-operator"}}, "crate-operator", nil, []apply.Adoption{unowned}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			make := func() *corev1.ConfigMap {
				_ = w.admin.CoreV1().ConfigMaps(w.namespace).Delete(t.Context(), "c", metav1.DeleteOptions{})
				object := &corev1.ConfigMap{ObjectMeta: *c.meta.DeepCopy(), Data: map[string]string{"theirs": "1", "a": "theirs"}}
				object.Name = "c"
				object, err := w.admin.CoreV1().ConfigMaps(w.namespace).Create(t.Context(), object, metav1.CreateOptions{FieldManager: "someone"})
				require.NoError(t, err)
				return object
			}
			get := func() *corev1.ConfigMap {
				live, err := w.admin.CoreV1().ConfigMaps(w.namespace).Get(t.Context(), "c", metav1.GetOptions{})
				require.NoError(t, err)
				return live
			}
			for _, adopt := range c.spared {
				before := make()
				_, err := w.applier.Sync(t.Context(), w.namespace, "one", []*unstructured.Unstructured{w.configMap("c", "a", "ours")}, adopt)
				var notOurs *apply.NotOursError
				require.ErrorAs(t, err, &notOurs, adopt)
				assert.Contains(t, notOurs.Owner, c.owner)
				assert.Contains(t, err.Error(), c.owner)
				assert.Equal(t, before.ResourceVersion, get().ResourceVersion, "%s: it was written to", adopt)
			}
			for _, adopt := range c.taken {
				before := make()
				w.restart()
				_, err := w.applier.Sync(t.Context(), w.namespace, "one", []*unstructured.Unstructured{w.configMap("c", "a", "ours")}, adopt)
				require.NoError(t, err, adopt)
				live := get()
				assert.Equal(t, before.UID, live.UID, "it was recreated")
				assert.Equal(t, map[string]string{"theirs": "1", "a": "ours"}, live.Data, "what we do not name stays theirs")
				for key, value := range c.meta.Labels {
					assert.Equal(t, value, live.Labels[key], "a label of theirs")
				}
				assert.Equal(t, "one", live.Labels[names.ClusterLabel])
				assert.Equal(t, c.meta.OwnerReferences, live.OwnerReferences)
			}
		})
	}
}

// A StatefulSet never becomes a cluster's by a policy, a Secret only by the widest.
func TestWhatHoldsDataIsNotAdopted(t *testing.T) {
	w := newWorld(t)
	set := w.statefulSet()
	_, err := w.dynamic(set).Create(t.Context(), set.DeepCopy(), metav1.CreateOptions{})
	require.NoError(t, err)
	secret := w.object(`{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: theirs}}`)
	_, err = w.dynamic(secret).Create(t.Context(), secret.DeepCopy(), metav1.CreateOptions{})
	require.NoError(t, err)
	for _, adopt := range []apply.Adoption{apply.AdoptUnowned, apply.AdoptAlways} {
		result, err := w.applier.Sync(t.Context(), w.namespace, "one", []*unstructured.Unstructured{set, secret}, adopt)
		require.Error(t, err)
		var refused []string
		for _, failed := range result.Failed {
			refused = append(refused, failed.Key.Kind)
		}
		assert.Contains(t, refused, "StatefulSet")
		assert.Equal(t, adopt == apply.AdoptUnowned, len(refused) == 2, "%s: %v", adopt, refused)
	}
	_, found := w.live.Get(compare.KeyOf(set))
	assert.False(t, found, "it carries our label now")
}

// Whoever makes an object theirs between our look and our write keeps it.
func TestAnObjectThatGetsAnOwnerMeanwhileIsNotAdopted(t *testing.T) {
	var w *world
	claimed := false
	w = faulty(t, func(request *http.Request) (*http.Response, error, bool) {
		if request.Method != http.MethodPatch || !strings.HasSuffix(request.URL.Path, "/configmaps/c") || claimed {
			return nil, nil, false
		}
		claimed = true
		live, err := w.admin.CoreV1().ConfigMaps(w.namespace).Get(request.Context(), "c", metav1.GetOptions{})
		if assert.NoError(t, err) {
			live.Labels = map[string]string{names.ManagedByLabel: "Helm"}
			_, err = w.admin.CoreV1().ConfigMaps(w.namespace).Update(request.Context(), live, metav1.UpdateOptions{FieldManager: "helm"})
			assert.NoError(t, err)
		}
		return nil, nil, false
	})
	w.foreignConfigMap("c", nil)
	_, err := w.applier.Sync(t.Context(), w.namespace, "one", []*unstructured.Unstructured{w.configMap("c", "a", "ours")}, apply.AdoptUnowned)
	require.True(t, claimed)
	require.True(t, apierrors.IsConflict(err) || strings.Contains(err.Error(), "belongs to Helm"), "%v", err)
	_, err = w.applier.Sync(t.Context(), w.namespace, "one", []*unstructured.Unstructured{w.configMap("c", "a", "ours")}, apply.AdoptUnowned)
	require.ErrorContains(t, err, "belongs to Helm")
	live, err := w.admin.CoreV1().ConfigMaps(w.namespace).Get(t.Context(), "c", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Empty(t, live.Data)
}
