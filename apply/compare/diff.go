package compare

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"stevedore.dev/stevedore/internal/names"
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

// PartOfLabel marks a member of an ApplySet (KEP-3659); its value is the set's
// id.
const PartOfLabel = "applyset.kubernetes.io/part-of"

// Diff lists what an apply of wanted would change in live, sorted by path.
//
// Fields of live that wanted does not name are silent (defaults, and what
// others own), except those in owned, the set of fields that we applied
// before: these are removals. A nil owned is taken from live's own
// managedFields where they are there. Quantities, durations, whole numbers as
// floats, and empty against absent are equal where their meaning is. Our own
// bookkeeping (the hash annotation, the labels of the ApplySet and the cluster)
// is silent where wanted does not name it. A nil live
// is one OpAdd, a nil wanted one OpRemove, of the whole object.
func Diff(wanted, live *unstructured.Unstructured, owned *fieldpath.Set) []FieldChange {
	switch {
	case wanted == nil && live == nil:
		return nil
	case wanted == nil:
		return []FieldChange{{From: Normalize(live).Object, Op: OpRemove}}
	case live == nil:
		return []FieldChange{{To: Normalize(wanted).Object, Op: OpAdd}}
	}
	if owned == nil {
		owned = OwnedSet(live.GetManagedFields())
	}
	d := &differ{key: KeyOf(wanted)}
	d.builtin = builtinGroup(d.key.Group)
	wantedObject, liveObject := Normalize(wanted).Object, Normalize(live).Object
	for _, object := range []map[string]any{wantedObject, liveObject} {
		delete(object, "apiVersion")
		delete(object, "kind")
		if metadata, ok := object["metadata"].(map[string]any); ok {
			delete(metadata, "name")
			delete(metadata, "namespace")
		}
	}
	d.object(root, wantedObject, liveObject, owned)
	slices.SortStableFunc(d.changes, func(a, b FieldChange) int { return strings.Compare(a.Path, b.Path) })
	return d.changes
}

// OwnedSet is the set of fields that stevedore's last apply owns, taken from
// the managedFields of an object; nil where there is none or it is unreadable.
func OwnedSet(entries []metav1.ManagedFieldsEntry) *fieldpath.Set {
	for _, entry := range entries {
		if entry.Manager != names.FieldManager || entry.Operation != metav1.ManagedFieldsOperationApply ||
			entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			return nil
		}
		return set
	}
	return nil
}

type differ struct {
	key     Key
	builtin bool
	changes []FieldChange
}

func (d *differ) add(at place, to any) {
	d.changes = append(d.changes, FieldChange{Path: at.text, To: to, Op: OpAdd})
}

func (d *differ) change(at place, from, to any) {
	d.changes = append(d.changes, FieldChange{Path: at.text, From: from, To: to, Op: OpChange})
}

func (d *differ) remove(at place, from any) {
	d.changes = append(d.changes, FieldChange{Path: at.text, From: from, Op: OpRemove})
}

// value compares what wanted names; livePresent is false where live has none.
func (d *differ) value(at place, wanted, live any, livePresent bool, owned *fieldpath.Set) {
	if !livePresent {
		if d.absent(at, wanted) {
			return
		}
		d.add(at, wanted)
		return
	}
	switch wanted := wanted.(type) {
	case map[string]any:
		liveObject, ok := live.(map[string]any)
		if !ok {
			d.change(at, live, wanted)
			return
		}
		d.object(at, wanted, liveObject, owned)
	case []any:
		liveList, ok := live.([]any)
		if !ok {
			d.change(at, live, wanted)
			return
		}
		d.list(at, wanted, liveList, owned)
	default:
		if !d.equalScalar(at, wanted, live) {
			d.change(at, live, wanted)
		}
	}
}

func (d *differ) object(at place, wanted, live map[string]any, owned *fieldpath.Set) {
	for name, value := range wanted {
		liveValue, present := live[name]
		d.value(at.field(name), value, liveValue, present, below(owned, fieldpath.FieldNameElement(name)))
	}
	for _, element := range elements(owned) {
		if element.FieldName == nil {
			continue
		}
		name := *element.FieldName
		liveValue, present := live[name]
		if _, ok := wanted[name]; ok || !present || bookkeeping(at, name) {
			continue
		}
		d.removed(at.field(name), liveValue, owned, element)
	}
}

// removed reports what is ours in a live value that wanted no longer names.
func (d *differ) removed(at place, live any, owned *fieldpath.Set, element fieldpath.PathElement) {
	if owned.Members.Has(element) {
		d.remove(at, live)
		return
	}
	inner := below(owned, element)
	switch live := live.(type) {
	case map[string]any:
		d.object(at, nil, live, inner)
	case []any:
		d.list(at, nil, live, inner)
	}
}

func bookkeeping(at place, name string) bool {
	return at.text == "metadata.annotations" && name == names.AppliedAnnotation ||
		at.text == "metadata.labels" && (name == PartOfLabel || name == names.ClusterLabel)
}

// below descends into a set; nil stays nil.
func below(set *fieldpath.Set, element fieldpath.PathElement) *fieldpath.Set {
	if set == nil {
		return nil
	}
	inner, ok := set.Children.Get(element)
	if !ok {
		return nil
	}
	return inner
}

// elements are the path elements directly in a set, each once.
func elements(set *fieldpath.Set) []fieldpath.PathElement {
	if set == nil {
		return nil
	}
	var result []fieldpath.PathElement
	set.Members.Iterate(func(e fieldpath.PathElement) { result = append(result, e) })
	set.Children.Iterate(func(e fieldpath.PathElement) {
		if !set.Members.Has(e) {
			result = append(result, e)
		}
	})
	return result
}

// deepEqual is strict; both sides come from Normalize, so that numbers of one
// value have one type.
func deepEqual(a, b any) bool { return reflect.DeepEqual(a, b) }
