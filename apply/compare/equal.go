package compare

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// place is where a value stands.
type place struct {
	text string
	// name is the field's own name (for an item, that of its list), parent the
	// field's around it, and quantities whether values here are quantities.
	name, parent string
	quantities   bool
}

var root place

// Field is the path of a field below another, as in FieldChange.
func Field(path, name string) string { return place{text: path}.field(name).text }

func (p place) field(name string) place {
	text := p.text
	switch {
	case !plain(name):
		text += "[" + strconv.Quote(name) + "]"
	case text == "":
		text = name
	default:
		text += "." + name
	}
	return place{
		text: text, name: name, parent: p.name,
		quantities: slices.Contains(quantityMaps, p.name) || slices.Contains(quantityFields, name),
	}
}

func (p place) item(name string) place {
	p.text += "[" + name + "]"
	return p
}

// plain says whether a name needs no quotes in a path.
func plain(name string) bool {
	if name == "" {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

var (
	quantityMaps   = []string{"limits", "requests", "capacity", "hard", "allocatable", "allocatedResources"}
	quantityFields = []string{"sizeLimit", "divisor", "averageValue"}
	// In these maps of strings a key with an empty value is there.
	stringMaps = []string{
		"data", "stringData", "binaryData", "labels", "annotations", "matchLabels", "nodeSelector",
		"selector", "parameters",
	}
	// For these, an empty object says something that its absence does not.
	meaningfulEmpty = []string{"emptyDir", "podSelector", "namespaceSelector", "rules", "http"}
)

// builtinGroup says whether a group is of Kubernetes itself.
func builtinGroup(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// absent says whether an apply of value where live has nothing changes nothing:
// built-in kinds drop what is empty.
func (d *differ) absent(at place, value any) bool {
	if slices.Contains(stringMaps, at.parent) {
		return false
	}
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0 && !slices.Contains(meaningfulEmpty, at.name)
	case []any:
		return len(value) == 0 && !slices.Contains(meaningfulEmpty, at.name)
	case string:
		return value == "" && d.builtin
	case bool:
		return !value && d.builtin
	case int64:
		return value == 0 && d.builtin
	case float64:
		return value == 0 && d.builtin
	}
	return false
}

func (d *differ) equalScalar(at place, wanted, live any) bool {
	if deepEqual(wanted, live) {
		return true
	}
	if d.key.IsSecret() && at.parent == "data" {
		return equalBase64(wanted, live)
	}
	if at.quantities || at.name == "storage" {
		if equalQuantity(wanted, live) {
			return true
		}
	}
	if !d.builtin && !slices.Contains(stringMaps, at.parent) {
		if equalDuration(wanted, live) {
			return true
		}
	}
	return false
}

func equalQuantity(a, b any) bool {
	first, err := resource.ParseQuantity(fmt.Sprint(a))
	if err != nil {
		return false
	}
	second, err := resource.ParseQuantity(fmt.Sprint(b))
	return err == nil && first.Cmp(second) == 0
}

func equalDuration(a, b any) bool {
	first, ok1 := a.(string)
	second, ok2 := b.(string)
	if !ok1 || !ok2 {
		return false
	}
	firstDuration, err := time.ParseDuration(first)
	if err != nil {
		return false
	}
	secondDuration, err := time.ParseDuration(second)
	return err == nil && firstDuration == secondDuration
}

// equalBase64 ignores line breaks inside the encoding.
func equalBase64(a, b any) bool {
	first, ok1 := a.(string)
	second, ok2 := b.(string)
	if !ok1 || !ok2 {
		return false
	}
	firstData, err := base64.StdEncoding.DecodeString(first)
	if err != nil {
		return false
	}
	secondData, err := base64.StdEncoding.DecodeString(second)
	return err == nil && string(firstData) == string(secondData)
}
