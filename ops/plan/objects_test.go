package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/ops/plan"
)

func TestFieldsAreWeighedByWhatTheyAskFor(t *testing.T) {
	for _, situation := range []struct {
		name   string
		change func(*wish)
		path   string
		class  plan.Class
		gate   string
	}{
		{"gateway counts", func(w *wish) { w.hot = 4 }, "spec.template.spec.containers[name=crate].command", plan.RestartWhenDue, ""},
		{"more nodes", func(w *wish) { w.hot = 4 }, "spec.replicas", plan.ByOperation, ""},
		{"more memory", func(w *wish) { w.memory = "8Gi" }, "spec.template.spec.containers[name=crate].resources.limits.memory", plan.Restart, ""},
		{"another version", func(w *wish) { w.version = "6.4.3" }, "spec.template.spec.containers[name=crate].image", plan.ByOperation, ""},
		{"an older version", func(w *wish) { w.version = "6.2.1" }, "spec.template.spec.containers[name=crate].image", plan.Refused, "downgrade-refused"},
		{"a larger disk", func(w *wish) { w.diskSize = "128GiB" }, "spec.volumeClaimTemplates[name=data0].spec.resources.requests.storage", plan.ByOperation, ""},
		{"a VolumeAttributesClass", func(w *wish) { w.diskSize += ", volumeAttributesClass: gold" }, "spec.volumeClaimTemplates[name=data0].spec.volumeAttributesClassName", plan.ByOperation, ""},
		{"a smaller disk", func(w *wish) { w.diskSize = "8GiB" }, "spec.volumeClaimTemplates[name=data0].spec.resources.requests.storage", plan.Refused, "volume-cannot-shrink"},
		{"a mount", func(w *wish) {
			w.pod = "{containers: [{name: crate, volumeMounts: [{name: debug, mountPath: /elsewhere}]}]}"
		}, "spec.template.spec.containers[name=crate].volumeMounts[mountPath=/elsewhere]", plan.Restart, ""},
		{"a port", func(w *wish) { w.pod = "{containers: [{name: crate, ports: [{name: more, containerPort: 9100}]}]}" }, "spec.template.spec.containers[name=crate].ports[containerPort=9100]", plan.Restart, ""},
		{"a name of a host", func(w *wish) { w.pod = "{hostAliases: [{ip: 10.0.0.1, hostnames: [kdc]}]}" }, "spec.template.spec.hostAliases", plan.Restart, ""},
		{"how pods are spread", func(w *wish) {
			w.pod = "{topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}"
		}, "spec.template.spec.topologySpreadConstraints", plan.Restart, ""},
		{"what waits behind a refusal", func(w *wish) { w.diskSize, w.memory = "8GiB", "8Gi" }, "spec.template.spec.containers[name=crate].resources.limits.memory", plan.Refused, "volume-cannot-shrink"},
	} {
		t.Run(situation.name, func(t *testing.T) {
			from, to := basic(), basic()
			situation.change(&to)
			course := between(t, from, to, nil)
			weighed := weigh(t, from, to, &course)
			require.NotEmpty(t, weighed)
			for _, field := range weighed[0].Fields {
				if field.Path == situation.path {
					assert.Equal(t, situation.class, field.Class)
					assert.Equal(t, situation.gate, field.Gate)
					assert.Equal(t, situation.class == plan.Refused, field.Why != "")
					return
				}
			}
			t.Errorf("no field %s among %v", situation.path, weighed[0].Fields)
		})
	}
}

func TestOurOwnNotesOnAStatefulSetAreNoDifference(t *testing.T) {
	course := between(t, basic(), basic(), nil)
	wanted := basic().render(t).rendered.Objects
	one := plan.Object{Key: compare.Key{Group: "apps", Kind: "StatefulSet", Namespace: "prod", Name: "crate-data-hot-orders"}, Change: plan.Changed}
	for _, note := range []string{"hold", "suspended", "settings"} {
		one.Fields = append(one.Fields, plan.Field{FieldChange: compare.FieldChange{Path: `metadata.annotations["stevedore.dev/` + note + `"]`, From: "{}", Op: compare.OpRemove}})
	}
	assert.Empty(t, plan.Weigh([]plan.Object{one}, wanted, nil, &course))
	one.Fields = append(one.Fields, plan.Field{FieldChange: compare.FieldChange{Path: `metadata.annotations["example.com/team"]`, To: "a", Op: compare.OpAdd}})
	weighed := plan.Weigh([]plan.Object{one}, wanted, nil, &course)
	require.Len(t, weighed, 1)
	assert.Len(t, weighed[0].Fields, 1)
}

func TestDifferencesOfWhatIsNotLiveGoBothWaysAndHideSecrets(t *testing.T) {
	object := func(data map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a", "namespace": "n"}, "data": data,
		}}
	}
	changes := plan.Differences(object(map[string]any{"new": "c2VjcmV0", "kept": "YQ=="}), object(map[string]any{"old": "c2VjcmV0", "kept": "YQ=="}))
	require.Len(t, changes, 2)
	assert.Equal(t, compare.FieldChange{Path: "data.new", To: compare.Masked, Op: compare.OpAdd}, changes[0])
	assert.Equal(t, compare.FieldChange{Path: "data.old", From: compare.Masked, Op: compare.OpRemove}, changes[1])
}
