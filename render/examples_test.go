package render

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func identities(objects []*unstructured.Unstructured) []string {
	var result []string
	for _, o := range objects {
		result = append(result, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
	}
	return result
}

func TestEveryExampleRenders(t *testing.T) {
	for _, example := range []struct {
		dir  string
		want []string
	}{
		{"single", []string{
			"Service cratedb/crate-my-cluster", "Service cratedb/crate-discovery-my-cluster",
			"PodDisruptionBudget cratedb/crate-data-my-cluster",
			"StatefulSet cratedb/crate-data-hot-my-cluster",
		}},
		{"tiers", []string{
			"Service cratedb/crate-orders", "Service cratedb/crate-discovery-orders",
			"PodDisruptionBudget cratedb/crate-data-orders", "PodDisruptionBudget cratedb/crate-master-orders",
			"StatefulSet cratedb/crate-master-orders", "StatefulSet cratedb/crate-data-hot-orders", "StatefulSet cratedb/crate-data-cold-orders",
		}},
		{"overlays/dev", []string{
			"Service metrics-dev/crate-metrics", "Service metrics-dev/crate-discovery-metrics",
			"PodDisruptionBudget metrics-dev/crate-data-metrics",
			"StatefulSet metrics-dev/crate-data-hot-metrics", "StatefulSet metrics-dev/crate-data-cold-metrics",
		}},
		{"overlays/prod", []string{
			"Service metrics-prod/crate-metrics", "Service metrics-prod/crate-discovery-metrics",
			"PodDisruptionBudget metrics-prod/crate-data-metrics",
			"StatefulSet metrics-prod/crate-data-hot-metrics", "StatefulSet metrics-prod/crate-data-cold-metrics", "StatefulSet metrics-prod/crate-data-frozen-metrics",
			"ConfigMap metrics-prod/metrics-dashboard", "NetworkPolicy metrics-prod/metrics-clients",
		}},
	} {
		t.Run(example.dir, func(t *testing.T) {
			// In the whole repository, since an overlay's base is beside it.
			build := BuildFolder(context.Background(), os.DirFS("../examples"), example.dir, Config{})
			require.Empty(t, build.Problems)
			i := slices.IndexFunc(build.Clusters, func(c Cluster) bool {
				return "Service "+c.Namespace+"/crate-"+c.Name == example.want[0]
			})
			require.GreaterOrEqual(t, i, 0)
			rendered, problems := Render(build.Clusters[i], Config{}, Pins{})
			require.Empty(t, problems)
			assert.Equal(t, example.want, identities(rendered.Objects))
		})
	}
}
