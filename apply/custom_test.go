package apply_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/apply/compare"
)

const gadgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              duration: {type: string}
              mode: {type: string, default: gentle}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, size: {type: integer}, colour: {type: string, default: grey}}
`

func TestAKindWithoutASchemaOfOursIsKnownToBeInSyncToo(t *testing.T) {
	w := newWorld(t)
	client, err := dynamic.NewForConfig(server.Config())
	require.NoError(t, err)
	definition := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(gadgetDefinition), &definition.Object))
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err = definitions.Create(t.Context(), definition, metav1.CreateOptions{})
	require.NoError(t, err)
	gadgets := client.Resource(schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "gadgets"}).Namespace(w.namespace)
	require.Eventually(t, func() bool { _, err := gadgets.List(t.Context(), metav1.ListOptions{}); return err == nil }, deadline, poll)

	gadget := w.object(`{apiVersion: example.org/v1, kind: Gadget, metadata: {name: g},
		spec: {duration: 60s, parts: [{name: a, size: 1}, {name: b, size: 2}]}}`)
	key := compare.KeyOf(gadget)
	w.mustSync(gadget)
	w.settled()
	w.requests.take()
	w.mustSync(gadget)
	assert.Empty(t, w.writes())
	w.restart()
	w.mustSync(gadget)
	assert.Empty(t, w.writes(), "after a restart")

	patched, err := gadgets.Patch(t.Context(), "g", types.JSONPatchType,
		[]byte(`[{"op":"replace","path":"/spec/parts/0/size","value":7}]`), metav1.PatchOptions{FieldManager: "someone"})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return w.live.Seen(key, patched.GetResourceVersion()) }, deadline, poll)
	changes := w.applier.Diff(gadget)
	require.Len(t, changes, 1)
	assert.Equal(t, "spec.parts[name=a].size", changes[0].Path)
	w.requests.take()
	w.mustSync(gadget)
	w.settled()
	w.mustSync(gadget)
	assert.Len(t, w.writes(), 1, "a foreign change of an item costs one patch")
	assert.Empty(t, w.applier.Diff(gadget))
	assert.Empty(t, w.applier.Diff(with(gadget, "1m0s", "spec", "duration")), "one duration in two spellings")
}
