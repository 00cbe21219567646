package render

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"stevedore.dev/stevedore/render/definition"
)

// kustomized has kustomize carry out what run does.
func (a *assembly) kustomized(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	fsys := filesys.MakeFsInMemory()
	var files []string
	for i, r := range a.resources {
		data, err := fs.ReadFile(a.base, r.file)
		require.NoError(t, err)
		node, err := yaml.Parse(string(data))
		require.NoError(t, err)
		require.NoError(t, node.SetName(r.name))
		require.NoError(t, node.SetNamespace(a.namespace))
		text, err := node.String()
		require.NoError(t, err)
		file := fmt.Sprintf("%02d-%s", i, r.file)
		require.NoError(t, fsys.WriteFile("/"+file, []byte(text)))
		files = append(files, file)
	}
	patches := []any{}
	for _, p := range a.patches {
		text, err := json.Marshal(p.operations)
		require.NoError(t, err)
		patches = append(patches, map[string]any{
			"patch": string(text), "target": map[string]string{"kind": p.kind, "name": regexp.QuoteMeta(p.name)},
		})
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": files, "patches": patches,
	})
	require.NoError(t, err)
	require.NoError(t, fsys.WriteFile("/kustomization.yaml", text))
	m, err := kustomize(fsys, "/")
	require.NoError(t, err)
	objects, err := objectsOf(m)
	require.NoError(t, err)
	return objects
}

// The base is one of kustomize's, whoever carries it out.
func TestAnAssemblyIsWhatKustomizeMakesOfIt(t *testing.T) {
	configs := map[string]Config{
		"no cloud": {},
		"exporters": {CloudProvider: CloudAWS, SQLExporterImage: "exporter:1", JMXExporterURL: "https://example.com/x.jar", JMXExporterSHA256: "00", InitImage: "init:1",
			DebugStorageClass: "slow", DebugVolumeSize: "1Gi"},
		"azure": {CloudProvider: CloudAzure}, "gcp": {CloudProvider: CloudGCP},
	}
	clusters := map[string]Cluster{
		"single": single(), "tiers": tiers(),
		"all kinds of words": changed(tiers(), func(d *definition.CrateDB) {
			d.Labels = map[string]string{"a": "true", "b": "1e3", "c/d~e": "x"}
			d.Spec.Cluster.ExternalDNS = "db.example.com"
			d.Spec.Cluster.ServiceAnnotations = map[string]string{"a/b~c": "no", "number": "010", "text": "<a> & \"b\"\n# no comment: {x}", "nothing": "null"}
			d.Spec.Cluster.AllowedCIDRs = []string{"192.0.2.0/24", "2001:db8::/32"}
			d.Spec.Nodes.Data[0].Annotations = map[string]string{"when": "2026-11-21", "on": "off"}
			d.Spec.Nodes.Data[0].Nodepool = "shared"
			d.Spec.Nodes.Data[0].Resources.Disk.Count = 3
			d.Spec.Cluster.SSL = &definition.SSL{Keystore: definition.SecretKeyRef{Name: "k", Key: "x"}}
		}),
	}
	for _, cluster := range slices.Sorted(maps.Keys(clusters)) {
		for _, config := range slices.Sorted(maps.Keys(configs)) {
			t.Run(cluster+", "+config, func(t *testing.T) {
				m, problems := newModel(clusters[cluster], configs[config], Pins{})
				require.Empty(t, problems)
				a, err := m.assembly()
				require.NoError(t, err)
				objects, err := a.run()
				require.NoError(t, err)
				assert.Equal(t, withoutEmpty(a.kustomized(t)), withoutEmpty(objects))
				again, err := a.run()
				require.NoError(t, err)
				assert.Equal(t, objects, withoutEmpty(again), "what was made is not in the base")
			})
		}
	}
}

func TestAnOperationWantsItsPlaceToBeThere(t *testing.T) {
	for _, c := range []struct {
		op, path string
		want     string // JSON; "" is an error
	}{
		{"add", "/a", `{"a":7,"l":[1,{"b":2}]}`},
		{"add", "/l/0", `{"l":[7,1,{"b":2}]}`},
		{"add", "/l/2", `{"l":[1,{"b":2},7]}`},
		{"add", "/l/-", `{"l":[1,{"b":2},7]}`},
		{"replace", "/l/0", `{"l":[7,{"b":2}]}`},
		{"add", "/l/1/b", `{"l":[1,{"b":7}]}`},
		{"replace", "/l/1/b", `{"l":[1,{"b":7}]}`},
		{"add", "/a~1b~0c", `{"a/b~c":7,"l":[1,{"b":2}]}`},
		{"replace", "/a", ""}, {"add", "/a/b", ""}, {"add", "/l/3", ""}, {"replace", "/l/2", ""}, {"replace", "/l/-", ""},
		{"add", "/l/-1", ""}, {"add", "/l/0/x", ""}, {"add", "/l/x", ""}, {"add", "/l/2/b", ""}, {"remove", "/l", ""}, {"add", "l", ""},
	} {
		t.Run(c.op+" "+c.path, func(t *testing.T) {
			object := map[string]any{"l": []any{int64(1), map[string]any{"b": int64(2)}}}
			err := operation{c.op, c.path, 7}.on(object)
			if c.want == "" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			text, err := json.Marshal(object)
			require.NoError(t, err)
			assert.JSONEq(t, c.want, string(text))
		})
	}
}
