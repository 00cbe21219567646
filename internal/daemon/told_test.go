package daemon

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// Seed 6000011118: a release had opened the budget, the watch still showed it closed, and the release was taken
// back: it was to be closed, and so it stayed open. What was written is awaited before the next pass.
func TestWhatIsWrittenOfASetOrABudgetIsToldBeforeAWatchShowsIt(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: "u", ResourceVersion: "7", Labels: map[string]string{names.ClusterLabel: "c"}, Annotations: map[string]string{names.HoldAnnotation: "{}"}}
	for kind, write := range map[string]func(o objects) error{
		"StatefulSet.apps":           func(o objects) error { return o.ForgetOwned(context.Background(), "x", "u") },
		"PodDisruptionBudget.policy": func(o objects) error { return o.SetBudget(context.Background(), "x", 1) },
	} {
		t.Run(kind, func(t *testing.T) {
			reported := ""
			o := objects{
				client: fake.NewClientset(&appsv1.StatefulSet{ObjectMeta: meta}, &policyv1.PodDisruptionBudget{ObjectMeta: meta}), cluster: key("c"),
				wrote: func(object *unstructured.Unstructured) {
					reported = compare.KeyOf(object).GroupKind() + " " + object.GetName()
				},
			}
			require.NoError(t, write(o))
			assert.Equal(t, kind+" x", reported)
		})
	}
}
