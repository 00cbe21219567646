package compare

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// statefulSetMutable are the fields of a StatefulSet's spec that the API server
// lets change (its validation names them in the error that we avoid).
var statefulSetMutable = []string{
	"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
	"persistentVolumeClaimRetentionPolicy", "minReadySeconds",
}

// Immutable finds, among the changes from live (Diff's result), those that the
// API server would refuse because the field cannot change for the life of the
// object, and says what to do about them. None: nil and "".
func Immutable(live *unstructured.Unstructured, changes []FieldChange) (refusedChanges []FieldChange, remedy string) {
	key := KeyOf(live)
	var refused func(path string) bool
	remedy = "take the change back, or delete the object, which is then recreated"
	switch {
	case key.Group == "apps" && key.Kind == "StatefulSet":
		refused = func(path string) bool { return under(path, "spec") && !anyUnder(path, "spec", statefulSetMutable) }
		remedy = "take the change back: of its claim templates only a size, a class, a VolumeAttributesClass or a further disk is taken from a definition"
	case key.Group == "apps" && (key.Kind == "Deployment" || key.Kind == "DaemonSet"):
		refused = func(path string) bool { return under(path, "spec.selector") }
	case key.Group == "batch" && key.Kind == "Job":
		refused = func(path string) bool {
			return anyUnder(path, "spec", []string{"selector", "template", "completionMode", "podFailurePolicy"})
		}
	case key.Group == "" && key.Kind == "Service":
		kind, _, _ := unstructured.NestedString(live.Object, "spec", "type")
		refused = func(path string) bool {
			return kind != "ExternalName" && anyUnder(path, "spec", []string{"clusterIP", "clusterIPs", "ipFamilies"}) ||
				kind == "LoadBalancer" && under(path, "spec.loadBalancerClass")
		}
		if ip, _, _ := unstructured.NestedString(live.Object, "spec", "clusterIP"); ip == "" {
			refused = func(string) bool { return false }
		}
	case key.Group == "" && key.Kind == "PersistentVolumeClaim":
		refused = func(path string) bool {
			return under(path, "spec") && !under(path, "spec.resources") && !under(path, "spec.volumeAttributesClassName")
		}
		remedy = "take the change back: a claim keeps its storage class, access modes and volume for life"
	case key.Group == "" && (key.Kind == "Secret" || key.Kind == "ConfigMap"):
		frozen, _, _ := unstructured.NestedBool(live.Object, "immutable")
		refused = func(path string) bool {
			if key.Kind == "Secret" && path == "type" {
				return true
			}
			return frozen && (under(path, "data") || under(path, "binaryData") || path == "immutable")
		}
		if frozen {
			remedy = "it is marked `immutable: true`; give the new content a new name, or delete the object, which is then recreated"
		}
	case key.Group == "rbac.authorization.k8s.io" && strings.HasSuffix(key.Kind, "RoleBinding"):
		refused = func(path string) bool { return under(path, "roleRef") }
	default:
		return nil, ""
	}
	for _, change := range changes {
		if refused(change.Path) {
			refusedChanges = append(refusedChanges, change)
		}
	}
	if len(refusedChanges) == 0 {
		return nil, ""
	}
	return refusedChanges, remedy
}

// under says whether a path is the field or stands below it.
func under(path, field string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func anyUnder(path, parent string, fields []string) bool {
	for _, field := range fields {
		if under(path, parent+"."+field) {
			return true
		}
	}
	return false
}
