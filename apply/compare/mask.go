package compare

import (
	"strconv"
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
	return kind == "" || strings.HasSuffix(strings.ToLower(kind), "secret") || strings.HasSuffix(kind, "List")
}

// HidesValues says whether no value of the object may be shown: it is a Secret,
// may hold one, or does not say what it is.
func (k Key) HidesValues() bool { return secretive(k.Kind) }

// MaskChanges returns changes of the object k fit to be printed: of a Secret,
// that a key was added, changed or removed, never a value nor its length. Other
// objects keep their values, save the copy of the whole object that kubectl
// leaves in an annotation, a Secret inside of them in any encoding, and what by
// its name is a password, a token or a key. Masking twice is masking once.
func MaskChanges(k Key, changes []FieldChange) []FieldChange {
	if len(changes) == 0 {
		return nil
	}
	result := make([]FieldChange, len(changes))
	for i, change := range changes {
		hide := maskElsewhere
		result[i] = FieldChange{Path: maskPath(change), Op: change.Op}
		if secretive(k.Kind) {
			hide = maskInSecret
			result[i].Path = secretPath(change.Path)
		}
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
	if shown(path, value) {
		return value
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

// secretPath is a path inside a Secret without what may be a value: items of
// lists are named by their content.
func secretPath(path string) string {
	at := strings.IndexByte(path, '[')
	if at < 0 {
		return path
	}
	switch path[:at] {
	case "data", "stringData", "metadata.labels", "metadata.annotations":
		// One quoted key, and nothing below it.
		if key, err := strconv.QuotedPrefix(path[at+1:]); err == nil && path[at+1+len(key):] == "]" {
			return path
		}
	}
	return path[:at]
}

// shown lists what of a Secret may be read by anyone who may see the diff: who
// it is, and texts that only a fixed vocabulary of values is shown of.
func shown(path string, value any) bool {
	text, isText := value.(string)
	switch path {
	case "apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid",
		"metadata.resourceVersion", "metadata.creationTimestamp":
		return isText
	case "immutable":
		_, is := value.(bool)
		return is
	case "type":
		return text == "Opaque" || strings.HasPrefix(text, "kubernetes.io/") || strings.HasPrefix(text, "bootstrap.kubernetes.io/")
	}
	if !isText {
		return false
	}
	if key, ok := strings.CutPrefix(path, "metadata.labels."); ok {
		return plain(key)
	}
	for _, prefix := range []string{`metadata.labels["`, `metadata.annotations["` + names.Prefix} {
		// One key, and nothing below it.
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			return strings.Index(rest, `"]`) == len(rest)-len(`"]`)
		}
	}
	return false
}
