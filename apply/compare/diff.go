package compare

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Op says what would happen to a field.
type Op string

const (
	OpAdd    Op = "add"
	OpChange Op = "change"
	OpRemove Op = "remove"
)

// FieldChange is one field that differs.
type FieldChange struct {
	// Path is a JSON path; items of lists are named by their merge key:
	// spec.template.spec.containers[name=crate].image. "" is the whole object.
	Path string `json:"path"`
	// From is the live value, nil for OpAdd; To is the wanted one, nil for
	// OpRemove.
	From any `json:"from,omitempty"`
	To   any `json:"to,omitempty"`
	Op   Op  `json:"op"`
}

// Diff lists what an apply of wanted would change in live, sorted by path.
//
// Fields of live that wanted does not name are silent (defaults, and what
// others own), except those in owned, the set of fields that we applied
// before: these are removals. A nil owned is taken from live's own
// managedFields where they are there. Quantities, durations, whole numbers as
// floats, and empty against absent are equal where their meaning is. Our own
// bookkeeping (the hash annotation, the ApplySet label) is silent.
func Diff(wanted, live *unstructured.Unstructured, owned *fieldpath.Set) []FieldChange {
	return nil
}
