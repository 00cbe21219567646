package render

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/render/definition"
)

// Heap dumps need no more IOPS.
func TestEachDiskOfAGroupHasItsVolumeAttributesClassAndTheClaimDebugHasNone(t *testing.T) {
	r := mustRender(t, changed(tiers(), func(d *definition.CrateDB) {
		d.Spec.Nodes.Master.Resources.Disk.VolumeAttributesClass = "silver"
		d.Spec.Nodes.Data[0].Resources.Disk.VolumeAttributesClass = "gold"
	}), Config{}, Pins{})
	got := map[string]map[string]string{}
	for _, set := range ofKind(r, "StatefulSet") {
		claims, _, err := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
		require.NoError(t, err)
		got[set.GetName()] = map[string]string{}
		for _, claim := range claims {
			name, _, _ := unstructured.NestedString(claim.(map[string]any), "metadata", "name")
			class, named, _ := unstructured.NestedString(claim.(map[string]any), "spec", "volumeAttributesClassName")
			if got[set.GetName()][name] = class; !named {
				got[set.GetName()][name] = "none"
			}
		}
	}
	assert.Equal(t, map[string]map[string]string{
		"crate-master-orders":    {"data0": "silver", "debug": "none"},
		"crate-data-hot-orders":  {"data0": "gold", "data1": "gold", "debug": "none"},
		"crate-data-cold-orders": {"data0": "none", "debug": "none"},
	}, got)
}
