package apply_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// A release, or a person, writes maxUnavailable of a budget. Server-side apply takes away only what
// nobody else has written, and the API server refuses a budget with both: a StatefulSet would wait
// for ever for the budget that keeps its pods.
func TestABudgetKeepsEveryPodWhoeverHasWrittenIt(t *testing.T) {
	w := newWorld(t)
	keeps := w.object(`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {minAvailable: 1000000, selector: {matchLabels: {app: crate}}}}`)
	allows := func(pods int64) *unstructured.Unstructured {
		u := with(keeps, pods, "spec", "maxUnavailable")
		unstructured.RemoveNestedField(u.Object, "spec", "minAvailable")
		return u
	}
	for _, c := range []struct {
		name    string
		before  *unstructured.Unstructured
		patch   string
		by      string
		between *unstructured.Unstructured
	}{
		{"nobody else", allows(1), "", "", nil},
		{"a release while it keeps every pod", keeps, `{"spec":{"minAvailable":null,"maxUnavailable":1}}`, names.FieldManager, nil},
		{"a release while it was closed, long ago", allows(0), `{"spec":{"minAvailable":null,"maxUnavailable":1}}`, names.FieldManager, allows(1)},
		{"a person", allows(0), `{"spec":{"maxUnavailable":1}}`, "kubectl-edit", allows(1)},
		{"a person, of minAvailable", allows(1), `{"spec":{"minAvailable":1,"maxUnavailable":null}}`, "kubectl-edit", allows(1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := compare.KeyOf(keeps)
			w.mustSync(c.before)
			w.settled()
			if c.patch != "" {
				patched, err := w.admin.PolicyV1().PodDisruptionBudgets(w.namespace).Patch(t.Context(), "b", types.MergePatchType, []byte(c.patch), metav1.PatchOptions{FieldManager: c.by})
				require.NoError(t, err)
				w.eventually(name, func(u *unstructured.Unstructured) bool { return u.GetResourceVersion() == patched.GetResourceVersion() })
			}
			if c.between != nil {
				w.mustSync(c.between)
				w.settled()
			}
			w.mustSync(keeps)
			w.settled()
			spec := w.budget("b")
			assert.Nil(t, spec.MaxUnavailable)
			require.NotNil(t, spec.MinAvailable)
			assert.Equal(t, 1_000_000, spec.MinAvailable.IntValue())
			w.writes()
			w.mustSync(keeps)
			assert.Empty(t, w.writes(), "it is in sync")

			w.mustSync(allows(1))
			spec = w.budget("b")
			assert.Nil(t, spec.MinAvailable)
			require.NotNil(t, spec.MaxUnavailable)
			assert.Equal(t, 1, spec.MaxUnavailable.IntValue())
			require.NoError(t, w.admin.PolicyV1().PodDisruptionBudgets(w.namespace).Delete(t.Context(), "b", metav1.DeleteOptions{}))
			require.Eventually(t, func() bool { _, there := w.live.Get(name); return !there }, deadline, poll)
		})
	}
}

func (w *world) budget(name string) policyv1.PodDisruptionBudgetSpec {
	w.t.Helper()
	budget, err := w.admin.PolicyV1().PodDisruptionBudgets(w.namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return budget.Spec
}
