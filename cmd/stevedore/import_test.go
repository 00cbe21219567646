package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// recordedCluster is cluster orders of namespace shop, as a crate-operator left it, on an API server.
func recordedCluster(t *testing.T) *apiServer {
	t.Helper()
	api := newAPIServer(t, "shop", "empty")
	files, err := filepath.Glob("../../internal/derive/testdata/live/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		for _, o := range objectsIn(t, file) {
			api.putRecorded(o)
		}
	}
	for _, name := range []string{"user-system-orders", "orders-app"} {
		api.putRecorded(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"password": "aHVudGVyMg=="},
			"metadata": map[string]any{"name": name, "namespace": "shop", "annotations": map[string]any{"operator.cloud.crate.io/last": "aHVudGVyMg=="}},
		}})
	}
	return api
}

func objectsIn(t *testing.T, file string) (objects []*unstructured.Unstructured) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		var o map[string]any
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return objects
		} else {
			require.NoError(t, err)
		}
		text, err := json.Marshal(o)
		require.NoError(t, err)
		u := &unstructured.Unstructured{}
		require.NoError(t, u.UnmarshalJSON(text))
		objects = append(objects, u)
	}
}

func TestImportWritesADefinitionThatIsGoodAndSaysWhatDiffers(t *testing.T) {
	recordedCluster(t)
	dir := filepath.Join(t.TempDir(), "clusters")
	end := stevedore(t, "import", "-n", "shop", "orders", "--out", dir)
	require.Zero(t, end.code, "%s", end.err)
	var written []string
	for _, name := range []string{"orders.yaml", "sql-exporter-orders.yaml", "kustomization.yaml"} {
		written = append(written, filepath.Join(dir, name))
	}
	assert.Equal(t, written, strings.Fields(end.out))
	for _, want := range []string{
		"Differs from what is live, and comes at the next restart of the pods:\n",
		"spec.template.spec.containers[crate].lifecycle: {",
		"Differs from what is live, and comes in place:\n",
		"PersistentVolumeClaim data0-crate-data-hot-orders-0 and 9 more metadata.ownerReferences: CrateDB orders -> (none) (with this owner",
		"PodDisruptionBudget crate-data-hot-orders is not rendered (a pod under two budgets",
	} {
		assert.Contains(t, end.err, want)
	}
	assert.NotContains(t, end.err, "cannot be changed")

	good := stevedore(t, "validate", dir, "--trusted")
	assert.Zero(t, good.code, "%s", good.err)
	assert.Equal(t, "shop/orders: good, 5 objects\n", good.out)

	before, err := os.ReadFile(written[0])
	require.NoError(t, err)
	require.NoError(t, os.Remove(written[2]))
	again := stevedore(t, "import", "shop/orders", "--out", dir)
	assert.Equal(t, exitError, again.code)
	assert.Contains(t, again.err, "orders.yaml is there already, and is not written over")
	after, err := os.ReadFile(written[0])
	require.NoError(t, err)
	assert.Equal(t, before, after)
	assert.NoFileExists(t, written[2], "all or nothing")
}

func TestImportPrintsYAMLAloneSoThatItCanBeKept(t *testing.T) {
	recordedCluster(t)
	end := stevedore(t, "import", "orders")
	require.Zero(t, end.code, "%s", end.err)
	dir := t.TempDir()
	write(t, dir, map[string]string{"all.yaml": end.out})
	good := stevedore(t, "validate", dir, "--trusted")
	assert.Zero(t, good.code, "%s%s", good.out, good.err)

	end = stevedore(t, "import", "orders", "-o", "json")
	require.Zero(t, end.code, "%s", end.err)
	var said struct {
		Namespace, Cluster string
		Files              []struct{ Name, Text string }
		Notes              []any
		Differences        []struct {
			Object       map[string]string
			Path, Effect string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(end.out), &said))
	assert.Equal(t, "shop", said.Namespace)
	assert.Len(t, said.Files, 3)
	assert.NotEmpty(t, said.Differences)
	assert.Empty(t, said.Notes)
	assert.NotContains(t, end.out+end.err, "aHVudGVyMg", "a value of a Secret")
}

func TestImportSaysWhatIsLeftForAPerson(t *testing.T) {
	for _, c := range []struct {
		name  string
		given func(api *apiServer)
		args  []string
		code  int
		want  string // in what is said
	}{
		{"a Secret is missing", func(api *apiServer) { delete(api.objects, "/api/v1/namespaces/shop/secrets/orders-app") }, []string{"orders"}, exitProblem,
			"to do: Secret orders-app is needed for the user app, and is not there\n"},
		{"Secrets may not be read", func(api *apiServer) {
			api.forbidden = func(path string) bool { return strings.Contains(path, "/secrets") }
		}, []string{"orders"}, exitOK, "note: which Secrets there are could not be read: the definition needs user-system-orders, orders-app\n"},
		{"budgets may not be read", func(api *apiServer) {
			api.forbidden = func(path string) bool { return strings.HasSuffix(path, "/poddisruptionbudgets") }
		}, []string{"orders"}, exitOK, "note: poddisruptionbudgets may not be read: they are not among the differences\n"},
		{"StatefulSets may not be read", func(api *apiServer) {
			api.forbidden = func(path string) bool { return strings.HasSuffix(path, "/statefulsets") }
		}, []string{"orders"}, exitError, "listing statefulsets of namespace shop: "},
		{"there is no CrateDB object", func(api *apiServer) {
			delete(api.objects, "/apis/cloud.crate.io/v1/namespaces/shop/cratedbs/orders")
		}, []string{"orders"}, exitProblem, "to do: there is no CrateDB object, and nothing else says which users the cluster has"},
		{"no such cluster", func(*apiServer) {}, []string{"order"}, exitError,
			"cluster shop/order: no StatefulSet of namespace shop belongs to a cluster order; the clusters there are orders"},
		{"no such namespace", func(*apiServer) {}, []string{"shopp/orders"}, exitError, "namespace shopp does not exist"},
		{"another format", func(*apiServer) {}, []string{"orders", "-o", "toml"}, exitError, `-o "toml" is not known: write yaml or json`},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := recordedCluster(t)
			c.given(api)
			end := stevedore(t, append([]string{"import"}, c.args...)...)
			assert.Equal(t, c.code, end.code, "%s", end.err)
			assert.Contains(t, end.err, c.want)
			assert.Equal(t, c.code == exitError, end.out == "", "a definition is printed unless there is an error")
		})
	}
}

func TestImportRefusesAStatefulSetThatSomebodyWroteByName(t *testing.T) {
	api := newAPIServer(t, "shop")
	for _, o := range objectsIn(t, "../../internal/derive/testdata/handwritten.yaml") {
		api.putRecorded(o)
	}
	dir := filepath.Join(t.TempDir(), "clusters")
	end := stevedore(t, "import", "crate", "--out", dir)
	assert.Equal(t, exitError, end.code)
	assert.Contains(t, end.err, "StatefulSet crate runs CrateDB, and not as crate-operator makes it: ")
	assert.Contains(t, end.err, "docs/moving-in.md")
	assert.NoDirExists(t, dir)
}
