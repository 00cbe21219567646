package render

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/render/base"
	"stevedore.dev/stevedore/render/definition"
)

// debugClaims are the class and the size of the claim debug, by StatefulSet.
func debugClaims(t *testing.T, r *Rendered) map[string][2]string {
	t.Helper()
	found := map[string][2]string{}
	for _, set := range ofKind(r, "StatefulSet") {
		claims, _, err := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
		require.NoError(t, err)
		last := claims[len(claims)-1].(map[string]any)
		name, _, _ := unstructured.NestedString(last, "metadata", "name")
		require.Equal(t, "debug", name)
		class, _, _ := unstructured.NestedString(last, "spec", "storageClassName")
		size, _, _ := unstructured.NestedString(last, "spec", "resources", "requests", "storage")
		found[set.GetName()] = [2]string{class, size}
	}
	return found
}

// A class that Kubernetes lacks would keep every pod of a new cluster from
// starting; the class of the data is one that the definition names.
func TestTheClaimDebugHasAClassThatSomebodyNamed(t *testing.T) {
	flags := Config{DebugStorageClass: "cheap", DebugVolumeSize: "8Gi"}
	all := func(class, size string) map[string][2]string {
		return map[string][2]string{"crate-master-orders": {class, size}, "crate-data-hot-orders": {class, size}, "crate-data-cold-orders": {class, size}}
	}
	own := map[string][2]string{"crate-master-orders": {"default", "64Gi"}, "crate-data-hot-orders": {"fast", "64Gi"}, "crate-data-cold-orders": {"slow", "64Gi"}}
	asks := changed(tiers(), func(d *definition.CrateDB) {
		d.Spec.Operations.DebugVolume = definition.DebugVolume{StorageClass: "dumps", Size: "4GiB"}
	})
	first := changed(tiers(), func(d *definition.CrateDB) { d.Spec.Operations.Base = base.V1 })
	for name, c := range map[string]struct {
		cluster Cluster
		cfg     Config
		pins    Pins
		want    map[string][2]string
	}{
		"a new cluster: the group's own":                      {tiers(), Config{}, Pins{}, own},
		"a new cluster: the flags'":                           {tiers(), flags, Pins{}, all("cheap", "8Gi")},
		"a new cluster: the definition's, before the flags'":  {asks, flags, Pins{}, all("dumps", "4Gi")},
		"a new cluster that asks for the first base":          {first, Config{}, Pins{}, all("crate-standard", "64Gi")},
		"a cluster of the first base keeps its class":         {tiers(), flags, Pins{Base: base.V1}, all("crate-standard", "64Gi")},
		"a cluster that was made without flags keeps its own": {tiers(), flags, Pins{Base: base.V2}, own},
		"a cluster that was made with flags keeps theirs":     {tiers(), Config{}, Pins{Base: base.V2, DebugClass: "cheap", DebugSize: "8Gi"}, all("cheap", "8Gi")},
		"what a live cluster's definition asks for is seen":   {asks, Config{}, Pins{Base: base.V1}, all("dumps", "4Gi")},
	} {
		t.Run(name, func(t *testing.T) {
			r := mustRender(t, c.cluster, c.cfg, c.pins)
			assert.Equal(t, c.want, debugClaims(t, r))
			again := mustRender(t, c.cluster, Config{}, r.Pins)
			assert.Equal(t, c.want, debugClaims(t, again), "the record keeps what was made")
		})
	}
}

// Nothing of a running cluster restarts for another base, and the objects are
// compared with crate-operator's by the first one.
func TestTheSecondBaseIsTheFirstSaveWhatTheDocumentationNames(t *testing.T) {
	for name, cluster := range map[string]Cluster{"single": single(), "tiers": tiers()} {
		for _, cloud := range []CloudProvider{CloudNone, CloudAWS, CloudAzure, CloudGCP} {
			t.Run(name+" "+string(cloud), func(t *testing.T) {
				cfg := Config{CloudProvider: cloud, SQLExporterImage: "exporter:1", JMXExporterURL: "https://example.com/x.jar", JMXExporterSHA256: "00"}
				first := mustRender(t, cluster, cfg, Pins{Base: base.V1})
				second := mustRender(t, cluster, cfg, Pins{Base: base.V2})
				assert.NotEqual(t, debugClaims(t, first), debugClaims(t, second))
				for _, objects := range [][]*unstructured.Unstructured{first.Objects, second.Objects} {
					for _, o := range objects {
						claims, has, _ := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates")
						if !has {
							continue
						}
						unstructured.RemoveNestedField(claims[len(claims)-1].(map[string]any), "spec", "storageClassName")
						withoutSecondBase(t, o)
						require.NoError(t, unstructured.SetNestedSlice(o.Object, claims, "spec", "volumeClaimTemplates"))
					}
				}
				assert.Equal(t, first.Objects, second.Objects)
			})
		}
	}
}

// withoutSecondBase takes out what else the second base has and the first has not.
func withoutSecondBase(t *testing.T, set *unstructured.Unstructured) {
	t.Helper()
	unstructured.RemoveNestedField(set.Object, "spec", "template", "spec", "automountServiceAccountToken")
	for _, kind := range []string{"initContainers", "containers"} {
		containers, _, err := unstructured.NestedSlice(set.Object, "spec", "template", "spec", kind)
		require.NoError(t, err)
		for _, each := range containers {
			container := each.(map[string]any)
			delete(container, "terminationMessagePolicy")
			if kind == "initContainers" {
				delete(container, "resources")
			}
		}
		require.NoError(t, unstructured.SetNestedSlice(set.Object, containers, "spec", "template", "spec", kind))
	}
}

// Else each cluster would have another revision after an upgrade of stevedore.
func TestAClaimDebugThatIsLeftOutIsNoPartOfARevision(t *testing.T) {
	text, err := json.Marshal(definition.Operations{})
	require.NoError(t, err)
	assert.NotContains(t, string(text), "Debug")
}
