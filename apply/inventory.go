package apply

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// Labels and annotations of the ApplySet convention (KEP-3659).
const (
	applySetIDLabel    = "applyset.kubernetes.io/id"
	applySetTooling    = "applyset.kubernetes.io/tooling"
	applySetGroupKinds = "applyset.kubernetes.io/contains-group-kinds"
)

// MaxInventory is how many objects one cluster's inventory names; more are
// refused, so that the ConfigMap stays far below the 1 MiB that etcd takes.
const MaxInventory = 2000

// ApplySetID is the id of a cluster's ApplySet, computed as KEP-3659 says from
// its parent, the inventory ConfigMap.
func ApplySetID(namespace, cluster string) string {
	parent := strings.Join([]string{names.InventoryConfigMap(cluster), namespace, "ConfigMap", ""}, ".")
	sum := sha256.Sum256([]byte(parent))
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1"
}

// inventory is the content of the parent.
type inventory struct {
	SchemaVersion int           `json:"schemaVersion"`
	Objects       []compare.Key `json:"objects"`
}

// inventoryObject is the parent as it is applied: its members are the objects
// that are desired and those left over.
func inventoryObject(namespace, cluster, version string, members []compare.Key) (*unstructured.Unstructured, error) {
	if len(members) > MaxInventory {
		return nil, fmt.Errorf("the cluster %s/%s has %d objects, an inventory holds %d: move some into a kustomization of their own",
			namespace, cluster, len(members), MaxInventory)
	}
	members = slices.SortedFunc(slices.Values(members), compare.Key.Compare)
	kinds := map[string]bool{}
	for _, key := range members {
		kinds[key.GroupKind()] = true
	}
	data, err := json.Marshal(inventory{SchemaVersion: names.SchemaVersion, Objects: members})
	if err != nil {
		return nil, fmt.Errorf("writing the inventory of %s/%s: %w", namespace, cluster, err)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": map[string]any{
			"name":      names.InventoryConfigMap(cluster),
			"namespace": namespace,
			"labels": map[string]any{
				names.ClusterLabel:   cluster,
				names.ManagedByLabel: names.FieldManager,
				applySetIDLabel:      ApplySetID(namespace, cluster),
			},
			"annotations": map[string]any{
				applySetTooling:    names.FieldManager + "/" + version,
				applySetGroupKinds: strings.Join(slices.Sorted(maps.Keys(kinds)), ","),
			},
		},
		"data": map[string]any{names.DataKey: string(data)},
	}}, nil
}

// inventoried are the objects that the live inventory names, and what its
// annotation says of their kinds. A damaged one names none: the members' label
// finds them again.
func (l *Live) inventoried(namespace, cluster string) ([]compare.Key, []schema.GroupVersionKind) {
	parent := l.lookup(compare.Key{Kind: "ConfigMap", Namespace: namespace, Name: names.InventoryConfigMap(cluster)})
	if parent == nil {
		return nil, nil
	}
	var kinds []schema.GroupVersionKind
	for _, text := range strings.Split(parent.GetAnnotations()[applySetGroupKinds], ",") {
		if kind := schema.ParseGroupKind(strings.TrimSpace(text)); kind.Kind != "" {
			kinds = append(kinds, kind.WithVersion(""))
		}
	}
	text, _, _ := unstructured.NestedString(parent.Object, "data", names.DataKey)
	var content inventory
	if err := json.Unmarshal([]byte(text), &content); err != nil || content.SchemaVersion != names.SchemaVersion {
		l.log.Warn("the inventory cannot be read and is rebuilt from the members' labels",
			"namespace", namespace, "cluster", cluster)
		return nil, kinds
	}
	return content.Objects, kinds
}

// leftovers are members that are live and not in wanted.
func (l *Live) leftovers(namespace, cluster string, recorded []compare.Key, wanted map[compare.Key]bool) []Leftover {
	id := ApplySetID(namespace, cluster)
	found := map[compare.Key]bool{}
	for _, key := range recorded {
		if object := l.lookup(key); !wanted[key] && object != nil {
			found[key] = true
		}
	}
	for _, object := range l.Objects(namespace, cluster) {
		key := compare.KeyOf(object)
		if !wanted[key] && object.GetLabels()[compare.PartOfLabel] == id {
			found[key] = true
		}
	}
	var result []Leftover
	for _, key := range slices.SortedFunc(maps.Keys(found), compare.Key.Compare) {
		result = append(result, Leftover{Key: key, Data: holdsData(key)})
	}
	return result
}
