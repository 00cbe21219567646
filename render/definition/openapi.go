package definition

import (
	"encoding/json"
	"sync"

	"stevedore.dev/stevedore/render/internal/located"
)

// Schema is the definition as an OpenAPI v2 document for kustomize's
// openapi.AddSchema: without it a strategic merge replaces spec.nodes.data and
// spec.users as a whole. The callers must not change the result.
var Schema = sync.OnceValue(func() []byte {
	schema := schemaOf(root)
	schema["x-kubernetes-group-version-kind"] = []any{
		map[string]any{"group": Group, "version": Version, "kind": Kind},
	}
	document := map[string]any{
		"swagger":     "2.0",
		"info":        map[string]any{"title": Kind, "version": Version},
		"paths":       map[string]any{},
		"definitions": map[string]any{"io.crate.cloud.v1." + Kind: schema},
	}
	data, err := json.Marshal(document)
	if err != nil {
		return nil // maps of texts always marshal
	}
	return data
})

// MergeKeys are the lists that are merged by the name of their entries, by
// path.
func MergeKeys() map[string]string {
	keys := map[string]string{}
	var visit func(f *located.Field, path string)
	visit = func(f *located.Field, path string) {
		if f.MergeKey != "" {
			keys[path] = f.MergeKey
		}
		for _, child := range f.Fields {
			next := child.Name
			if path != "" {
				next = path + "." + child.Name
			}
			visit(child, next)
		}
	}
	visit(root, "")
	return keys
}

// SecretNames are the fields that hold the name of a Secret, with / between the
// steps and no step for the entries of a list, as kustomize writes them.
func SecretNames() []string {
	var fields []string
	var visit func(f *located.Field, path string)
	visit = func(f *located.Field, path string) {
		for _, child := range f.Fields {
			next := child.Name
			if path != "" {
				next = path + "/" + child.Name
			}
			if child.Name == secretKeyRefField {
				fields = append(fields, next+"/name")
				continue
			}
			if child.Kind == located.List {
				child = child.Items
			}
			visit(child, next)
		}
	}
	visit(root, "")
	return fields
}

func schemaOf(f *located.Field) map[string]any {
	switch f.Kind {
	case located.Object:
		properties := map[string]any{}
		for _, child := range f.Fields {
			properties[child.Name] = schemaOf(child)
		}
		return map[string]any{"type": "object", "properties": properties}
	case located.List:
		s := map[string]any{"type": "array", "items": schemaOf(f.Items)}
		if f.MergeKey != "" {
			s["x-kubernetes-patch-merge-key"] = f.MergeKey
			s["x-kubernetes-patch-strategy"] = "merge"
		}
		return s
	case located.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(f.Items)}
	case located.Text:
		return map[string]any{"type": "string"}
	case located.Number, located.Integer:
		return map[string]any{"type": "number"}
	case located.Boolean:
		return map[string]any{"type": "boolean"}
	}
	return map[string]any{}
}
