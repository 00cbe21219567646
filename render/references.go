package render

import (
	"encoding/json"
	"regexp"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/render/definition"
)

// referencesFile stands beside the wrapper and tells kustomize which fields of a
// definition name a Secret: it follows them when it changes the Secret's name, by a
// prefix or by the hash that a generator appends.
const referencesFile = "references.yaml"

var references = sync.OnceValue(func() []byte {
	var fields []any
	for _, path := range definition.SecretNames() {
		fields = append(fields, map[string]any{"group": definition.Group, "kind": definition.Kind, "path": path})
	}
	text, err := json.Marshal(map[string]any{"nameReference": []any{
		map[string]any{"kind": "Secret", "version": "v1", "fieldSpecs": fields},
	}})
	if err != nil {
		return nil // maps of texts always marshal
	}
	return text
})

// hashed is a name with the hash that kustomize appends to a generated one.
var hashed = regexp.MustCompile(`^(.+)-[bcdfghkmt2456789]{10}$`)

// followGenerated renames what a definition refers to where kustomize does not: a
// generated Secret that names no namespace is put into its cluster's only later, and
// kustomize takes it for one of another namespace.
func followGenerated(items []item) {
	there, called := map[string]bool{}, map[string]string{}
	for _, i := range items {
		if i.isDefinition() || i.object.GetKind() != "Secret" {
			continue
		}
		name := i.object.GetName()
		there[name] = true
		match := hashed.FindStringSubmatch(name)
		if match == nil || !i.generated || i.object.GetNamespace() != "" {
			continue
		}
		if _, twice := called[match[1]]; twice {
			name = "" // two of one name: neither is meant for sure
		}
		called[match[1]] = name
	}
	if len(called) == 0 {
		return
	}
	for _, i := range items {
		if !i.isDefinition() || i.object == nil {
			continue
		}
		renameSecrets(i.object.Object, func(name string) string {
			if there[name] || called[name] == "" {
				return name
			}
			return called[name]
		})
	}
}

// renameSecrets changes the name of every Secret that a definition refers to.
func renameSecrets(value any, rename func(string) string) {
	switch value := value.(type) {
	case []any:
		for _, each := range value {
			renameSecrets(each, rename)
		}
	case map[string]any:
		if name, ok, err := unstructured.NestedString(value, "secretKeyRef", "name"); ok && err == nil {
			_ = unstructured.SetNestedField(value, rename(name), "secretKeyRef", "name") // it was there
			return
		}
		for _, each := range value {
			renameSecrets(each, rename)
		}
	}
}
