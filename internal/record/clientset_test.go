package record_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
)

// A record whose label somebody took off is not seen by the watch, and cannot
// be created either: nothing would ever be written again.
func TestARecordThatTheWatchDoesNotShowIsFoundAndLabelledAgain(t *testing.T) {
	client := fake.NewClientset()
	cached := func(namespace, name string) (*corev1.ConfigMap, error) {
		object, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && object.Labels[names.ClusterLabel] == "" {
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
		}
		return object, err
	}
	type value struct {
		A string `json:"a"`
	}
	cluster := record.Cluster{Namespace: "ns", Name: "c"}
	save := func(store *record.Store, text string) (was string, err error) {
		var old value
		entry, err := store.Load(t.Context(), cluster, record.Operation, &old)
		if err == nil {
			_, err = store.Save(t.Context(), entry, value{A: text})
		}
		return old.A, err
	}
	_, err := save(record.NewStore(record.OverClient(client.CoreV1(), cached)), "one")
	require.NoError(t, err)
	name := record.Operation.Name("c")
	object, err := client.CoreV1().ConfigMaps("ns").Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	delete(object.Labels, names.ClusterLabel)
	_, err = client.CoreV1().ConfigMaps("ns").Update(t.Context(), object, metav1.UpdateOptions{})
	require.NoError(t, err)

	store := record.NewStore(record.OverClient(client.CoreV1(), cached))
	_, err = save(store, "blind")
	require.ErrorIs(t, err, record.ErrConflict)
	was, err := save(store, "two")
	require.NoError(t, err)
	assert.Equal(t, "one", was, "what it held was read before it was written")
	object, err = cached("ns", name)
	require.NoError(t, err, "the watch shows it again")
	assert.Contains(t, object.Data[names.DataKey], "two")
}
