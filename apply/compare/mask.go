package compare

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
)

// Masked stands in place of every value that must not be shown, whatever its
// length.
const Masked = "***"

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// secretive says whether an object's values are hidden. It fails closed: what
// does not say what it is, and lists, which may hold Secrets, count as Secrets.
func secretive(kind string) bool {
	return kind == "" || kind == "Secret" || strings.HasSuffix(kind, "List")
}

// MaskChanges returns changes of the object k fit to be printed: of a Secret,
// that a key was added, changed or removed, never a value nor its length. Other
// objects keep their values, save the copy of the whole object that kubectl
// leaves in an annotation.
func MaskChanges(k Key, changes []FieldChange) []FieldChange {
	if len(changes) == 0 {
		return nil
	}
	result := make([]FieldChange, len(changes))
	for i, change := range changes {
		hide := maskElsewhere
		if secretive(k.Kind) {
			hide = maskInSecret
		}
		result[i] = FieldChange{Path: change.Path, Op: change.Op}
		if change.From != nil {
			result[i].From = hide(change.Path, change.From)
		}
		if change.To != nil {
			result[i].To = hide(change.Path, change.To)
		}
	}
	return result
}

// MaskObject returns a copy of u fit to be printed; the items of any list are
// masked as Secrets are.
func MaskObject(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u == nil {
		return nil
	}
	hide := maskElsewhere
	if secretive(u.GetKind()) {
		hide = maskInSecret
	}
	object, ok := hide("", u.DeepCopy().Object).(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	return &unstructured.Unstructured{Object: object}
}

// maskInSecret hides everything of a Secret but what is known to be no secret.
func maskInSecret(path string, value any) any {
	if shown(path) {
		if _, ok := value.(map[string]any); !ok {
			if _, ok := value.([]any); !ok {
				return value
			}
		}
	}
	object, ok := value.(map[string]any)
	if !ok {
		if items, ok := value.([]any); ok && path == "items" {
			result := make([]any, len(items))
			for i, item := range items {
				result[i] = maskInSecret("", item)
			}
			return result
		}
		return Masked
	}
	switch path {
	case "", "metadata", "metadata.labels", "metadata.annotations", "data", "stringData":
	default:
		return Masked
	}
	at := root
	if path != "" {
		at.text = path
	}
	result := make(map[string]any, len(object))
	for name, item := range object {
		if path == "metadata" && name == "managedFields" {
			continue
		}
		result[name] = maskInSecret(at.field(name).text, item)
	}
	return result
}

// shown lists what of a Secret may be read by anyone who may see the diff.
func shown(path string) bool {
	switch path {
	case "apiVersion", "kind", "type", "immutable", "metadata.name", "metadata.namespace", "metadata.uid",
		"metadata.resourceVersion", "metadata.creationTimestamp":
		return true
	}
	if rest, ok := strings.CutPrefix(path, "metadata.labels."); ok {
		return plain(rest)
	}
	for _, prefix := range []string{`metadata.labels["`, `metadata.annotations["` + names.Prefix} {
		// One key, and nothing below it.
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			return strings.Index(rest, `"]`) == len(rest)-len(`"]`)
		}
	}
	return false
}

func maskElsewhere(path string, value any) any {
	if strings.Contains(path, lastApplied) {
		return Masked
	}
	switch value := value.(type) {
	case map[string]any:
		// A Secret inside another object, as in a List.
		if kind, ok := value["kind"].(string); ok && kind == "Secret" {
			return maskInSecret("", value)
		}
		result := make(map[string]any, len(value))
		for name, item := range value {
			result[name] = maskElsewhere(name, item)
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i, item := range value {
			result[i] = maskElsewhere("", item)
		}
		return result
	default:
		return value
	}
}
