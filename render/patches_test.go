package render

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/render/definition"
)

// merge is a strategic-merge patch of the hot group's StatefulSet.
func merge(spec string) string {
	return "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: crate-data-hot-orders}\nspec: " + spec + "\n"
}

func containerPatch(fields string) string {
	return merge("{template: {spec: {containers: [{name: crate, " + fields + "}]}}}")
}

var statefulSets = &definition.Target{Kind: "StatefulSet"}

func TestAPatchThatWouldBreakOperationsIsRefusedByName(t *testing.T) {
	for _, situation := range []struct {
		name  string
		patch definition.Patch
		want  string
	}{
		{"matches nothing by name", definition.Patch{Patch: strings.Replace(merge("{}"), "hot", "warm", 1)}, "the patch matches nothing; did you mean crate-data-hot-orders? the cluster's own objects are Service crate-orders, "},
		{"matches nothing by target", definition.Patch{Patch: `[{"op": "remove", "path": "/spec"}]`, Target: &definition.Target{Kind: "Deployment"}}, "the patch matches nothing"},
		{"a list without a target", definition.Patch{Patch: `[{"op": "remove", "path": "/spec"}]`}, "needs a target"},
		{"no YAML", definition.Patch{Patch: "a: [b"}, "is no YAML"},
		{"a text", definition.Patch{Patch: "swordfish"}, "neither a strategic-merge patch"},
		{"nothing", definition.Patch{Patch: "# nothing"}, "is empty"},
		{"a file that was not read", definition.Patch{Path: "p.yaml"}, `"p.yaml" was not read`},
		{"no name and no target", definition.Patch{Patch: "apiVersion: v1\nkind: Service\n"}, "does not name its object"},
		{"an operation that fails", definition.Patch{Patch: `[{"op": "remove", "path": "/spec/nothing"}]`, Target: statefulSets}, "cannot be applied"},
		{"an option", definition.Patch{Patch: merge("{}"), Options: map[string]bool{"allowNameChange": true}}, "allowNameChange is not taken"},
		{"the replicas", definition.Patch{Patch: merge("{replicas: 9}")}, "spec.replicas of StatefulSet crate-data-hot-orders: change replicas in spec.nodes"},
		{"an immutable field", definition.Patch{Patch: merge("{serviceName: other}")}, "spec.serviceName"},
		{"the claims", definition.Patch{Patch: `[{"op": "remove", "path": "/spec/volumeClaimTemplates/0"}]`, Target: statefulSets}, "spec.volumeClaimTemplates"},
		{"the update strategy", definition.Patch{Patch: merge("{updateStrategy: {type: RollingUpdate}}")}, "OnDelete"},
		{"a label that nodes are found by", definition.Patch{Patch: merge("{template: {metadata: {labels: {app.kubernetes.io/name: x}}}}")}, "label app.kubernetes.io/name in spec.template.metadata.labels"},
		{"our own label", definition.Patch{Patch: `[{"op": "remove", "path": "/metadata/labels/stevedore.dev~1cluster"}]`, Target: &definition.Target{Kind: "Service"}}, "label stevedore.dev/cluster"},
		{"our own annotation", definition.Patch{Patch: `[{"op": "add", "path": "/metadata/annotations", "value": {"stevedore.dev/applied": "x"}}]`, Target: &definition.Target{Kind: "Service", Name: "crate-orders"}}, "stevedore's own"},
		{"the name", definition.Patch{Patch: `[{"op": "replace", "path": "/metadata/name", "value": "x"}]`, Target: &definition.Target{Kind: "Service", Name: "crate-orders"}}, "keeps its kind, name and namespace"},
		{"the namespace", definition.Patch{Patch: `[{"op": "replace", "path": "/metadata/namespace", "value": "x"}]`, Target: &definition.Target{Kind: "Service", Name: "crate-orders"}}, "keeps its kind, name and namespace"},
		{"an object is removed", definition.Patch{Patch: "apiVersion: v1\nkind: Service\nmetadata: {name: crate-orders}\n$patch: delete\n"}, "removes, renames or moves Service crate-orders"},
		{"the image", definition.Patch{Patch: containerPatch("image: crate:1.0")}, "change spec.cluster.imageRegistry and version"},
		{"the command", definition.Patch{Patch: containerPatch("command: [sh]")}, "spec.cluster.settings"},
		{"the arguments", definition.Patch{Patch: containerPatch("args: [-Ca=b]")}, "spec.cluster.settings"},
		{"the container", definition.Patch{Patch: containerPatch("$patch: delete")}, "removes the container crate"},
		{"where the data is", definition.Patch{Patch: `[{"op": "remove", "path": "/spec/template/spec/containers/0/volumeMounts/1"}]`, Target: &definition.Target{Name: "crate-data-hot-orders"}}, "mount of volume data0"},
		{"a budget", definition.Patch{Patch: "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: crate-data-orders}\nspec: {maxUnavailable: 2}\n"}, "decided at run time"},
		{"a service's selector", definition.Patch{Patch: "apiVersion: v1\nkind: Service\nmetadata: {name: crate-orders}\nspec: {selector: {a: b}}\n"}, "spec.selector"},
		{"discovery", definition.Patch{Patch: "apiVersion: v1\nkind: Service\nmetadata: {name: crate-discovery-orders}\nspec: {publishNotReadyAddresses: false}\n"}, "find each other"},
	} {
		t.Run(situation.name, func(t *testing.T) {
			situation.patch.Line = 42
			rendered, problems := Render(changed(tiers(), func(d *definition.CrateDB) {
				d.Spec.Patches = []definition.Patch{situation.patch}
			}), Config{}, Pins{})
			assert.Nil(t, rendered)
			require.NotEmpty(t, problems)
			said := strings.Join(texts(problems), "\n")
			assert.Contains(t, said, situation.want)
			assert.True(t, strings.HasPrefix(said, "tiers.yaml:42: spec.patches[0]: "), said)
			assert.NotContains(t, said, "swordfish")
			assert.Equal(t, "prod/orders", problems[0].Cluster)
		})
	}
}

func TestPatchesOfAUserComeLast(t *testing.T) {
	field := func(r *Rendered, kind, name string, path ...string) any {
		v, _, _ := unstructured.NestedFieldNoCopy(find(t, r, kind, name).Object, path...)
		return v
	}
	r := mustRender(t, changed(tiers(), func(d *definition.CrateDB) {
		d.Spec.Patches = []definition.Patch{
			{Patch: merge("{template: {spec: {priorityClassName: database}}}") + "---\napiVersion: v1\nkind: Service\nmetadata: {name: crate-orders, namespace: prod}\nspec: {type: ClusterIP}\n"},
			{Patch: containerPatch("resources: {limits: {memory: 9Gi}}, env: [{name: A, value: b}]")},
			{Patch: `[{"op": "add", "path": "/spec/template/spec/nodeSelector", "value": {"a": "b"}}]`, Target: statefulSets},
			{Patch: "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: any}\nspec:\n  template:\n    spec:\n      containers:\n      - name: sidecar\n        image: sidecar:1\n", Target: &definition.Target{Kind: "StatefulSet", Name: "crate-data-cold-orders"}},
		}
	}), Config{}, Pins{})
	assert.Equal(t, "database", field(r, "StatefulSet", "crate-data-hot-orders", "spec", "template", "spec", "priorityClassName"))
	assert.Nil(t, field(r, "StatefulSet", "crate-data-cold-orders", "spec", "template", "spec", "priorityClassName"))
	assert.Equal(t, "ClusterIP", field(r, "Service", "crate-orders", "spec", "type"))
	for _, set := range []string{"crate-master-orders", "crate-data-hot-orders", "crate-data-cold-orders"} {
		assert.Equal(t, map[string]any{"a": "b"}, field(r, "StatefulSet", set, "spec", "template", "spec", "nodeSelector"))
		assert.NotNil(t, container(find(t, r, "StatefulSet", set), "crate"), "a patch of one container leaves the others")
	}
	assert.NotNil(t, container(find(t, r, "StatefulSet", "crate-data-cold-orders"), "sidecar"))
	hot := container(find(t, r, "StatefulSet", "crate-data-hot-orders"), "crate")
	assert.Len(t, hot["env"], 5)
	assert.Equal(t, "9Gi", hot["resources"].(map[string]any)["limits"].(map[string]any)["memory"])
}

func TestEveryErrorOfEveryPatchIsSaidAtOnce(t *testing.T) {
	_, problems := Render(changed(tiers(), func(d *definition.CrateDB) {
		d.Spec.Patches = []definition.Patch{
			{Line: 1, Patch: merge("{replicas: 9, serviceName: x}")},
			{Line: 5, Patch: merge("{template: {spec: {priorityClassName: ok}}}")},
			{Line: 9, Patch: "a: [b"},
		}
	}), Config{}, Pins{})
	require.Len(t, problems, 3)
	assert.Equal(t, []int{1, 1, 9}, []int{problems[0].Line, problems[1].Line, problems[2].Line})
}
