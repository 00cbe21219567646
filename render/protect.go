package render

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
)

// protection is a place of a cluster's own object that a patch must leave as
// it is, and what to do instead.
type protection struct {
	kind string
	path []string
	why  string
}

const (
	immutable = "Kubernetes never lets it change afterwards, and clusters of crate-operator have it so"
	byLabels  = "the nodes are found by it"
	byDecide  = "it is decided at run time, from the state of the data"
)

// protections are about what Kubernetes cannot change, what identifies a
// cluster, and what an operation has to do step by step.
var protections = []protection{
	{"StatefulSet", []string{"spec", "serviceName"}, immutable},
	{"StatefulSet", []string{"spec", "selector"}, immutable},
	{"StatefulSet", []string{"spec", "podManagementPolicy"}, immutable},
	{"StatefulSet", []string{"spec", "volumeClaimTemplates"}, immutable + "; change resources.disk in spec.nodes"},
	{"StatefulSet", []string{"spec", "updateStrategy"}, "a pod restarts only when its node may leave, hence OnDelete"},
	{"StatefulSet", []string{"spec", "replicas"}, "change replicas in spec.nodes: a node is added and removed step by step"},
	{"StatefulSet", []string{"spec", "ordinals"}, "node names and cluster.initial_master_nodes count from 0"},
	{"StatefulSet", []string{"spec", "persistentVolumeClaimRetentionPolicy"}, "volume claims are never deleted with a StatefulSet"},
	{"Service", []string{"spec", "selector"}, byLabels},
	{"PodDisruptionBudget", []string{"spec", "selector"}, byLabels},
	{"PodDisruptionBudget", []string{"spec", "maxUnavailable"}, byDecide},
	{"PodDisruptionBudget", []string{"spec", "minAvailable"}, byDecide},
}

// ownedLabels are those that we, informers and selectors know objects by.
var ownedLabels = []string{
	names.ClusterLabel, names.ManagedByLabel, names.ComponentLabel, names.NameLabel,
	names.PartOfLabel, names.NodeNameLabel, names.NodeDataLabel,
}

// protect says what a patch did that it must not.
func protect(before, after []*unstructured.Unstructured) []string {
	var broken []string
	now := map[string]*unstructured.Unstructured{}
	for _, o := range after {
		now[identityOf(o)] = o
	}
	for _, b := range before {
		what := b.GetKind() + " " + b.GetName()
		a, ok := now[identityOf(b)]
		if !ok {
			broken = append(broken, fmt.Sprintf("the patch removes, renames or moves %s; an object of the cluster keeps its kind, name and namespace", what))
			continue
		}
		delete(now, identityOf(b))
		for _, p := range protections {
			if p.kind == b.GetKind() && !same(b, a, p.path...) {
				broken = append(broken, fmt.Sprintf("the patch changes %s of %s: %s", strings.Join(p.path, "."), what, p.why))
			}
		}
		broken = append(broken, protectLabels(b, a, what, "metadata", "labels")...)
		for _, key := range slices.Sorted(maps.Keys(a.GetAnnotations())) {
			if strings.HasPrefix(key, names.Prefix) && a.GetAnnotations()[key] != b.GetAnnotations()[key] {
				broken = append(broken, fmt.Sprintf("the patch sets the annotation %s of %s: annotations of %s are stevedore's own", key, what, names.Prefix))
			}
		}
		switch b.GetKind() {
		case "StatefulSet":
			if _, there := a.GetAnnotations()[names.NamesAnnotation]; !there && b.GetAnnotations()[names.NamesAnnotation] != "" {
				broken = append(broken, fmt.Sprintf("the patch takes the annotation %s off %s: the group is known by it", names.NamesAnnotation, what))
			}
			broken = append(broken, protectLabels(b, a, what, "spec", "template", "metadata", "labels")...)
			broken = append(broken, protectContainer(b, a, what)...)
		case "Service":
			if b.GetName() == names.DiscoveryService(b.GetLabels()[names.ClusterLabel]) &&
				(!same(b, a, "spec", "clusterIP") || !same(b, a, "spec", "publishNotReadyAddresses")) {
				broken = append(broken, fmt.Sprintf("the patch changes clusterIP or publishNotReadyAddresses of %s: the nodes find each other by it before they are ready", what))
			}
		}
	}
	for _, added := range slices.Sorted(maps.Keys(now)) {
		broken = append(broken, fmt.Sprintf("the patch makes a new object, %s: put it into the kustomization, it travels with the cluster", strings.TrimPrefix(added, "/")))
	}
	return broken
}

func identityOf(o *unstructured.Unstructured) string {
	gk := o.GroupVersionKind()
	return gk.GroupVersion().String() + "/" + gk.Kind + "/" + o.GetNamespace() + "/" + o.GetName()
}

func same(a, b *unstructured.Unstructured, path ...string) bool {
	x, foundX, _ := unstructured.NestedFieldNoCopy(a.Object, path...)
	y, foundY, _ := unstructured.NestedFieldNoCopy(b.Object, path...)
	return foundX == foundY && reflect.DeepEqual(x, y)
}

func protectLabels(before, after *unstructured.Unstructured, what string, path ...string) []string {
	b, _, _ := unstructured.NestedStringMap(before.Object, path...)
	a, _, err := unstructured.NestedStringMap(after.Object, path...)
	if err != nil {
		return []string{fmt.Sprintf("the patch makes %s of %s something else than a map of texts", strings.Join(path, "."), what)}
	}
	var broken []string
	for _, key := range ownedLabels {
		if a[key] != b[key] {
			broken = append(broken, fmt.Sprintf("the patch changes the label %s in %s of %s: %s", key, strings.Join(path, "."), what, byLabels))
		}
	}
	return broken
}

// protectContainer guards what operations read from the crate container: its
// version, its settings, and where its data is.
func protectContainer(before, after *unstructured.Unstructured, what string) []string {
	b, a := container(before, "crate"), container(after, "crate")
	if a == nil {
		return []string{fmt.Sprintf("the patch removes the container crate of %s", what)}
	}
	var broken []string
	if !reflect.DeepEqual(b["image"], a["image"]) {
		broken = append(broken, fmt.Sprintf("the patch changes the image of crate in %s: change spec.cluster.imageRegistry and version, an upgrade goes node by node", what))
	}
	if !reflect.DeepEqual(b["command"], a["command"]) || a["args"] != nil {
		broken = append(broken, fmt.Sprintf("the patch changes the command of crate in %s: write CrateDB's settings into spec.cluster.settings or a group's settings", what))
	}
	for _, mount := range named(b["volumeMounts"]) {
		if !slices.ContainsFunc(named(a["volumeMounts"]), func(m map[string]any) bool { return reflect.DeepEqual(m, mount) }) {
			broken = append(broken, fmt.Sprintf("the patch changes the mount of volume %v of crate in %s: CrateDB's data is there", mount["name"], what))
		}
	}
	return broken
}

func container(o *unstructured.Unstructured, name string) map[string]any {
	containers, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "template", "spec", "containers")
	for _, c := range named(containers) {
		if c["name"] == name {
			return c
		}
	}
	return nil
}

// named gives the maps of a list.
func named(v any) []map[string]any {
	items, _ := v.([]any)
	var result []map[string]any
	for _, i := range items {
		if m, ok := i.(map[string]any); ok {
			result = append(result, m)
		}
	}
	return result
}
