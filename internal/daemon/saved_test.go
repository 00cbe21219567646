package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/ops"
)

func statefulSet(name, image string) *unstructuredObject {
	return &unstructuredObject{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "StatefulSet",
		"metadata": map[string]any{"name": name, "namespace": "ns"},
		"spec": map[string]any{
			"replicas": int64(3), "serviceName": "s",
			"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "crate", "image": image}}}},
		},
	}}
}

func TestADamagedPartOfTheRecordCostsOnlyItself(t *testing.T) {
	packed, err := ops.Pack([]*unstructuredObject{statefulSet("hot", "crate:1"), statefulSet("cold", "crate:1")})
	require.NoError(t, err)
	sets := []ops.RecordedSet{{Name: "hot"}, {Name: "cold"}}
	for _, c := range []struct {
		name  string
		saved ops.Saved
		kept  []string
	}{
		{"all of it is there", packed, []string{"hot", "cold"}},
		{"one cannot be read", ops.Saved{"hot": packed["hot"], "cold": "damaged"}, []string{"hot"}},
		{"one is missing", ops.Saved{"hot": packed["hot"]}, []string{"hot"}},
		{"nothing is there", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorker(t, recordtest.NewConfigMaps())
			// It watches nothing: what is lost stays lost, and is not made up.
			w.live, err = apply.NewLive(&rest.Config{Host: "http://127.0.0.1:1"}, apply.LiveOptions{})
			require.NoError(t, err)
			t.Cleanup(w.live.Close)
			saved := w.completeSaved(ops.Record{Saved: c.saved, Sets: sets})
			var kept []string
			for _, set := range sets {
				if saved[set.Name] != "" {
					kept = append(kept, set.Name)
				}
			}
			assert.Equal(t, c.kept, kept)
			_, err := saved.Unpack()
			require.NoError(t, err, "what is decided with can be read")
		})
	}
}
