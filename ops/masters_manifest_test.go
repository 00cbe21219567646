package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// Dedicated masters that are refused, or that run on after the definition has lost them: the Service selects
// the pods that it selected, and a budget is there for masters that are.
func TestServicesAndBudgetsAreThoseOfTheMastersThatThereAre(t *testing.T) {
	const data, master = "crate-data-hot-c", "crate-master-c"
	set := func(name, isData string) *unstructured.Unstructured {
		return statefulSet(t, data, name, `"metadata":{"labels":{"a":"b"}}`, `"metadata":{"labels":{"cloud.crate.io/node-data":"`+isData+`"}}`)
	}
	object := func(kind, name string, spec map[string]any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"kind": kind, "spec": spec}}
		o.SetName(name)
		o.SetLabels(map[string]string{names.ClusterLabel: "c"})
		return o
	}
	service := func(name string, selector map[string]any) *unstructured.Unstructured {
		return object("Service", name, map[string]any{"selector": selector})
	}
	all, onlyData := map[string]any{"app": "crate"}, map[string]any{"app": "crate", names.NodeDataLabel: "true"}
	budget := func(name string) *unstructured.Unstructured {
		return object("PodDisruptionBudget", name, map[string]any{"maxUnavailable": int64(1)})
	}
	without := []*unstructured.Unstructured{service("crate-c", all), service("crate-mine", all), budget("crate-data-c"), set(data, "true")}
	with := []*unstructured.Unstructured{service("crate-c", onlyData), service("crate-mine", onlyData), budget("crate-data-c"), budget("crate-master-c"), set(data, "true"), set(master, "false")}
	runs := func(name string) model.EffectiveSet { return model.EffectiveSet{Name: name, Replicas: 3} }
	both := manifest.Pack([]*unstructured.Unstructured{set(data, "true"), set(master, "false")})
	for _, c := range []struct {
		name     string
		wanted   []*unstructured.Unstructured
		saved    model.Saved
		sets     []model.EffectiveSet
		selector map[string]any
		budgets  []string
	}{
		{"none are desired, and none are there", without, nil, []model.EffectiveSet{runs(data)}, all, []string{"crate-data-c"}},
		{"a new cluster has them", with, nil, []model.EffectiveSet{runs(data), runs(master)}, onlyData, []string{"crate-data-c", "crate-master-c"}},
		{"they are refused", with, nil, []model.EffectiveSet{runs(data), {Name: master, Absent: true}}, all, []string{"crate-data-c"}},
		{"they are gone from the definition, and run on", without, both, []model.EffectiveSet{runs(data), {Name: master, Replicas: 3, Template: model.TemplateKept}}, onlyData, []string{"crate-data-c"}},
		{"their StatefulSet is being recreated", with, both, []model.EffectiveSet{runs(data), {Name: master, Gap: true}}, onlyData, []string{"crate-data-c", "crate-master-c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := manifest.Materialise(c.wanted, c.saved, model.Effective{Sets: c.sets})
			require.NoError(t, err)
			var budgets []string
			for _, o := range got {
				selector, _, _ := unstructured.NestedMap(o.Object, "spec", "selector")
				switch o.GetName() {
				case "crate-c":
					assert.Equal(t, c.selector, selector, "the Service of the cluster")
				case "crate-mine":
					assert.Equal(t, c.wanted[1].Object["spec"].(map[string]any)["selector"], selector, "somebody's own Service")
				}
				if o.GetKind() == "PodDisruptionBudget" {
					budgets = append(budgets, o.GetName())
				}
			}
			assert.Equal(t, c.budgets, budgets)
		})
	}
	assert.Equal(t, onlyData, with[0].Object["spec"].(map[string]any)["selector"], "what is desired was changed")
	assert.Equal(t, all, without[0].Object["spec"].(map[string]any)["selector"], "what is desired was changed")
}
