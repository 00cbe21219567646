package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/base"
	"stevedore.dev/stevedore/render/definition"
)

type liveObjects []*unstructured.Unstructured

func (l liveObjects) Objects(string, string) []*unstructured.Unstructured { return l }

func groupsOf(classes map[string]string) render.Cluster {
	def := &definition.CrateDB{Name: "orders", Namespace: "test"}
	def.Spec.Cluster = definition.Cluster{Name: "orders", ImageRegistry: "crate", Version: "6.4.3"}
	def.Spec.Ports = definition.Ports{HTTP: 4200, Postgres: 5432, JMX: 6666, Prometheus: 7071, Exporter: 9399, Transport: 4300}
	for _, name := range []string{"hot", "cold"} {
		if classes[name] == "" {
			continue
		}
		def.Spec.Nodes.Data = append(def.Spec.Nodes.Data, definition.NodeGroup{Name: name, Replicas: 3, Resources: definition.Resources{
			LimitCPU: 1, RequestCPU: 1, LimitMemory: "4Gi", RequestMemory: "4Gi", HeapRatio: 0.25,
			Disk: definition.Disk{Count: 2, Size: "16GiB", StorageClass: classes[name]},
		}})
	}
	return render.Cluster{Namespace: "test", Name: "orders", Definition: def}
}

// With the record lost, a live cluster is rendered with the claims that it has,
// whatever the flags say by now.
func TestALostRecordRendersTheClaimsThatAreLive(t *testing.T) {
	two := groupsOf(map[string]string{"hot": "fast", "cold": "slow"})
	for name, made := range map[string]struct {
		cluster render.Cluster
		config  render.Config
		pins    render.Pins
	}{
		"the first base": {two, render.Config{}, render.Pins{Base: base.V1}},
		"the first base, crate-operator's class for data": {groupsOf(map[string]string{"hot": "crate-standard"}), render.Config{}, render.Pins{Base: base.V1}},
		"each group's own class":                          {two, render.Config{}, render.Pins{}},
		"a class for all":                                 {two, render.Config{DebugStorageClass: "cheap"}, render.Pins{}},
		"the class of one of the groups":                  {two, render.Config{DebugStorageClass: "fast"}, render.Pins{}},
		"a size":                                          {two, render.Config{DebugVolumeSize: "8Gi"}, render.Pins{}},
	} {
		t.Run(name, func(t *testing.T) {
			before, problems := render.Render(made.cluster, made.config, made.pins)
			require.Empty(t, problems)
			lost := PinsOf(model.Record{}, liveObjects(before.Objects), "test", "orders")
			after, problems := render.Render(made.cluster, render.Config{DebugStorageClass: "other", DebugVolumeSize: "1Gi"}, lost)
			require.Empty(t, problems)
			assert.Equal(t, before.Objects, after.Objects)
			assert.Equal(t, before.Revision, after.Revision)
		})
	}
}

func TestPinsAreTheRecordsOrThoseOfANewCluster(t *testing.T) {
	rendered, problems := render.Render(groupsOf(map[string]string{"hot": "fast"}), render.Config{}, render.Pins{})
	require.Empty(t, problems)
	live := liveObjects(rendered.Objects)
	recorded := model.Pins{Base: base.V1, MasterGroup: "hot"}
	assert.Equal(t, render.Pins(recorded), PinsOf(model.Record{Pins: recorded}, live, "test", "orders"))
	assert.Equal(t, render.Pins{}, PinsOf(model.Record{}, liveObjects{}, "test", "orders"))
	assert.Equal(t, render.Pins{}, PinsOf(model.Record{}, liveObjects{{Object: map[string]any{
		"kind": "StatefulSet", "metadata": map[string]any{"name": "cache"},
		"spec": map[string]any{"volumeClaimTemplates": []any{map[string]any{"metadata": map[string]any{"name": "debug"}, "spec": map[string]any{"storageClassName": "x"}}}},
	}}}, "test", "orders"), "a StatefulSet of the user's own says nothing of the cluster's")
}
