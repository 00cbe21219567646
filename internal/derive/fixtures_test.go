package derive_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"stevedore.dev/stevedore/internal/derive"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render"
)

// read gives the objects of a file of YAML or JSON, lists resolved.
func read(t testing.TB, file string) (objects []*unstructured.Unstructured) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	if filepath.Ext(file) == ".json" {
		var list []map[string]any
		require.NoError(t, json.Unmarshal(data, &list))
		for _, o := range list {
			objects = append(objects, stored(t, o))
		}
		return objects
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		var o map[string]any
		err := decoder.Decode(&o)
		if err == io.EOF {
			return objects
		}
		require.NoError(t, err)
		objects = append(objects, stored(t, o))
	}
}

// stored is an object with the types that the API server's answers have, without a "$patch" of
// crate-operator's, which the API server drops.
func stored(t testing.TB, o map[string]any) *unstructured.Unstructured {
	t.Helper()
	data, err := json.Marshal(withoutPatch(o))
	require.NoError(t, err)
	u := &unstructured.Unstructured{}
	require.NoError(t, u.UnmarshalJSON(data))
	return u
}

func withoutPatch(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "$patch")
		for key := range v {
			v[key] = withoutPatch(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withoutPatch(v[i])
		}
	}
	return v
}

// recorded is a cluster as a real crate-operator left it.
func recorded(t testing.TB) derive.Input {
	t.Helper()
	in := derive.Input{Namespace: "shop", Cluster: "orders", Secrets: map[string][]string{"user-system-orders": {"password"}, "orders-app": {"password"}}}
	in.Object = read(t, "testdata/live/cratedb.yaml")[0]
	for _, name := range []string{"sts", "svc", "pdb", "cm", "pvc", "role", "rolebinding"} {
		in.Live = append(in.Live, read(t, "testdata/live/"+name+".yaml")...)
	}
	return in
}

// made is what crate-operator makes of a definition on a cloud, as if it ran.
func made(t testing.TB, name, namespace, cloud string) derive.Input {
	t.Helper()
	folder := "../../render/testdata/crate-operator/"
	in := derive.Input{Namespace: namespace, Object: read(t, folder+name+".yaml")[0]}
	in.Cluster = in.Object.GetName()
	for _, o := range read(t, folder+name+"."+cloud+".json") {
		o.SetNamespace(namespace)
		in.Live = append(in.Live, o)
	}
	in.Config.CloudProvider = render.CloudNone
	in.Secrets = map[string][]string{names.SystemSecret(in.Cluster): {"password"}}
	return in
}

// set is the StatefulSet of a group.
func set(t testing.TB, in derive.Input, name string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range in.Live {
		if o.GetKind() == "StatefulSet" && o.GetName() == name {
			return o
		}
	}
	t.Fatalf("there is no StatefulSet %s", name)
	return nil
}
