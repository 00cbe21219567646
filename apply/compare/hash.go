package compare

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
)

// serverOwned are the fields under metadata that only the API server writes.
var serverOwned = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp",
	"generation", "managedFields", "resourceVersion", "selfLink", "uid",
}

// Normalize returns a copy of u as it should be sent to the API server: no
// status, no field that the server owns, no null, whole numbers as int64, and
// a Secret's stringData folded into data (stringData is write-only: the server
// answers with data alone, so the two would differ for ever).
func Normalize(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u == nil {
		return nil
	}
	object, _ := clean(u.Object).(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		for _, field := range serverOwned {
			delete(metadata, field)
		}
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, names.AppliedAnnotation)
			if len(annotations) == 0 {
				delete(metadata, "annotations")
			}
		}
	}
	result := &unstructured.Unstructured{Object: object}
	if KeyOf(result).IsSecret() {
		foldStringData(object)
	}
	return result
}

// foldStringData moves stringData into data; as in the API server, stringData
// wins where both have a key.
func foldStringData(object map[string]any) {
	plain, ok := object["stringData"].(map[string]any)
	if !ok {
		return
	}
	data, _ := object["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for _, value := range plain {
		if _, ok := value.(string); !ok {
			return // the API server refuses it
		}
	}
	for key, value := range plain {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value.(string)))
	}
	delete(object, "stringData")
	if len(data) > 0 {
		object["data"] = data
	}
}

// clean copies v without nulls and with one type for whole numbers.
func clean(v any) any {
	switch v := v.(type) {
	case map[string]any:
		result := make(map[string]any, len(v))
		for key, item := range v {
			if item = clean(item); item != nil {
				result[key] = item
			}
		}
		return result
	case []any:
		result := make([]any, len(v))
		for i, item := range v {
			result[i] = clean(item)
		}
		return result
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case uint32:
		return int64(v)
	case float32:
		return clean(float64(v))
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
		return v
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			return clean(f)
		}
		return v.String()
	default:
		return v
	}
}

// Hash is the canonical hash of an effective object: the order of keys, nulls,
// the spelling of whole numbers, and what only the server writes do not count.
// It is 32 hexadecimal digits. nil has the hash "".
func Hash(u *unstructured.Unstructured) string {
	if u == nil {
		return ""
	}
	return HashNormalized(Normalize(u))
}

// HashNormalized is Hash of an object that is Normalize's result already.
func HashNormalized(u *unstructured.Unstructured) string {
	encoded, err := json.Marshal(u.Object) // sorts keys
	if err != nil {
		return "" // equal to no annotation, so the object is applied and the server says what is wrong
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:16])
}
