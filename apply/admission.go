package apply

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/apply/compare"
)

// Admission changes an object after the API server has noted whose fields it has,
// and tells nobody. So a field that is still ours and has another value than the one
// we applied was changed by it: another's write would have taken the field from us.
// And what nobody owns was added by it, where the API server itself adds nothing:
// among labels, annotations, containers and volumes.

// Altered is an object that admission stores otherwise than it was applied.
type Altered struct {
	Key compare.Key
	// Fields are paths, sorted, without values: "data.a", "data.b (taken out)",
	// "metadata.labels.injected (added)".
	Fields []string
}

func (a Altered) String() string {
	const most = 5
	fields := a.Fields
	if len(fields) > most {
		fields = append(slices.Clone(fields[:most]), "…")
	}
	return a.Key.Kind + " " + a.Key.Name + ": " + strings.Join(fields, ", ")
}

// OnlyAdded says whether no field that was applied is stored otherwise.
func (a Altered) OnlyAdded() bool {
	return !slices.ContainsFunc(a.Fields, func(field string) bool { return !strings.HasSuffix(field, added) })
}

const added = " (added)"

// altered are the fields of an object in sync that admission has changed.
func altered(p prepared, live *object) []string {
	var fields []string
	for _, change := range compare.Diff(p.sent, live.Unstructured, live.ownedSet()) {
		switch change.Op {
		case compare.OpAdd:
			fields = append(fields, change.Path+" (taken out)")
		case compare.OpChange:
			fields = append(fields, change.Path)
		}
	}
	for _, path := range live.unowned {
		fields = append(fields, path+added)
	}
	slices.Sort(fields)
	return fields
}

// additions are where an object may have entries that its definition does not name
// and the API server does not add.
var additions = [][]string{
	{"metadata", "labels"}, {"metadata", "annotations"},
	{"spec", "template", "metadata", "labels"}, {"spec", "template", "metadata", "annotations"},
	{"spec", "template", "spec", "containers"}, {"spec", "template", "spec", "initContainers"},
	{"spec", "template", "spec", "volumes"},
}

// unowned are the entries of an object that no manager has, by its managedFields.
func unowned(content map[string]any, entries []any) []string {
	var owners []map[string]any
	for _, item := range entries {
		entry, _ := item.(map[string]any)
		if fields, ok := entry["fieldsV1"].(map[string]any); ok {
			owners = append(owners, fields)
		}
	}
	if len(owners) == 0 {
		return nil
	}
	var found []string
	for _, path := range additions {
		var at any = content
		for _, name := range path {
			inner, _ := at.(map[string]any)
			at = inner[name]
		}
		switch at := at.(type) {
		case map[string]any:
			for name := range at {
				if !owned(owners, path, "f:"+name) {
					found = append(found, compare.Field(strings.Join(path, "."), name))
				}
			}
		case []any:
			for _, item := range at {
				inner, _ := item.(map[string]any)
				if name, ok := inner["name"].(string); ok && !owned(owners, path, `k:{"name":"`+name+`"}`) {
					found = append(found, strings.Join(path, ".")+"[name="+name+"]")
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

// owned says whether any manager has an entry, or all that it is among.
func owned(owners []map[string]any, path []string, entry string) bool {
	return slices.ContainsFunc(owners, func(at map[string]any) bool {
		for _, name := range path {
			inner, ok := at["f:"+name].(map[string]any)
			if !ok {
				return false
			}
			if len(inner) == 0 {
				return true
			}
			at = inner
		}
		_, ok := at[entry]
		return ok
	})
}
