package e2e

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/internal/names"
)

// Clusters of one namespace are adopted one by one. Of the others nothing is written, neither by the
// command nor by the daemon, also where the name of one begins with that of another.
func TestAnAdoptionTouchesNoOtherClusterOfTheNamespace(t *testing.T) {
	t.Parallel()
	o := operate(t, "adopt-neighbour")
	daemon := o.expected()
	o.neighbour("orders-2")
	before := o.theirsOf("orders-2")
	require.Len(t, before, 8)
	o.adopt()
	o.settled(cutCluster)
	gone := o.canary()
	o.deleted()
	o.eventually("the garbage collector has taken the canary", restartPatience, gone)
	assert.Equal(t, before, o.theirsOf("orders-2"))
	o.untouched("after the CrateDB object is gone")
	o.stop(daemon)
}

// neighbour is another cluster of crate-operator's in this namespace, whose only node is suspended.
func (o *operated) neighbour(name string) {
	o.Helper()
	renamed := func(object *unstructured.Unstructured, uid string) *unstructured.Unstructured {
		text, err := yaml.Marshal(object.Object)
		require.NoError(o, err)
		out := &unstructured.Unstructured{}
		require.NoError(o, yaml.Unmarshal([]byte(strings.NewReplacer("orders", name, string(o.owner.GetUID()), uid).Replace(string(text))), &out.Object))
		return out
	}
	owner, err := o.client.Resource(cratedbs).Namespace(o.ns).Create(o.ctx, renamed(o.objects("object.yaml")[0], ""), metav1.CreateOptions{FieldManager: "OpenAPI-Generator"})
	require.NoError(o, err)
	for _, object := range o.objects("orders.yaml") {
		made := renamed(object, string(owner.GetUID()))
		if made.GetKind() == "StatefulSet" {
			require.NoError(o, unstructured.SetNestedField(made.Object, int64(0), "spec", "replicas"))
			claims, _, err := unstructured.NestedSlice(made.Object, "spec", "volumeClaimTemplates")
			require.NoError(o, err)
			claim := &unstructured.Unstructured{Object: claims[0].(map[string]any)}
			claim.SetAPIVersion("v1")
			claim.SetKind("PersistentVolumeClaim")
			claim.SetLabels(map[string]string{names.NameLabel: name, names.ComponentLabel: names.Component})
			claim.SetName(claim.GetName() + "-" + made.GetName() + "-0")
			_, err = o.client.Resource(o.resourceOf(claim)).Namespace(o.ns).Create(o.ctx, claim, metav1.CreateOptions{})
			require.NoError(o, err)
		}
		_, err := o.client.Resource(o.resourceOf(made)).Namespace(o.ns).Create(o.ctx, made, metav1.CreateOptions{FieldManager: "OpenAPI-Generator"})
		require.NoError(o, err, "%s %s", made.GetKind(), made.GetName())
	}
	o.eventually("controllers have seen it", restartPatience, func() bool {
		set := o.set("crate-data-hot-" + name)
		return set.Status.ObservedGeneration == set.Generation
	})
}

// theirsOf is theirs of one cluster alone. Pods and claims end in their number, which may be the end
// of a cluster's name.
func (o *operated) theirsOf(name string) map[string]string {
	o.Helper()
	out := o.theirs()
	maps.DeleteFunc(out, func(object, _ string) bool {
		numbered := strings.HasPrefix(object, "pods ") || strings.HasPrefix(object, "persistentvolumeclaims ")
		return !strings.Contains(object, name+"-") && (numbered || !strings.HasSuffix(object, name))
	})
	return out
}
