package render

import (
	"fmt"
	"io/fs"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	sigsyaml "sigs.k8s.io/yaml"
)

// assembly is a kustomization in the making: the base's documents under their
// real names, and JSON 6902 patches of them. It is carried out here: kustomize,
// which would make the same of it (a test says so), takes ten times as long, and a
// fleet of a thousand is assembled at each start.
type assembly struct {
	version   string
	base      fs.FS
	namespace string
	resources []baseDocument
	patches   []objectPatch
	err       error // the first one; the base is ours, so there is no second
}

// baseDocument is a document of the base and the name that it gets.
type baseDocument struct{ file, name string }

func (a *assembly) resource(file, name string) {
	a.resources = append(a.resources, baseDocument{file, name})
}

// objectPatch is everything that is done to one object.
type objectPatch struct {
	kind, name string
	operations []operation
}

// patchFile adds one of the base's own patches.
func (a *assembly) patchFile(kind, name, file string) {
	operations, err := baseFile(a, "patches/"+file, func(data []byte) (read []operation, err error) {
		err = sigsyaml.UnmarshalStrict(data, &read)
		return read, err
	})
	if err != nil && a.err == nil {
		a.err = err
	}
	a.patch(kind, name, operations...)
}

// patch adds operations behind those that the object has.
func (a *assembly) patch(kind, name string, operations ...operation) {
	for i := range a.patches {
		if a.patches[i].kind == kind && a.patches[i].name == name {
			a.patches[i].operations = append(a.patches[i].operations, operations...)
			return
		}
	}
	a.patches = append(a.patches, objectPatch{kind, name, append([]operation(nil), operations...)})
}

// baseFiles are the files of all bases, as they were read: they never change.
var baseFiles sync.Map

// baseFile gives a file of the base, which nobody may change.
func baseFile[T any](a *assembly, file string, parse func([]byte) (T, error)) (T, error) {
	key := a.version + "/" + file
	if known, ok := baseFiles.Load(key); ok {
		if parsed, ok := known.(T); ok {
			return parsed, nil
		}
	}
	var parsed T
	data, err := fs.ReadFile(a.base, file)
	if err == nil {
		parsed, err = parse(data)
	}
	if err != nil {
		return parsed, fmt.Errorf("reading %s of the base: %w", file, err)
	}
	baseFiles.Store(key, parsed)
	return parsed, nil
}

// baseObject reads a document as the API machinery reads objects.
func baseObject(data []byte) (map[string]any, error) {
	text, err := sigsyaml.YAMLToJSON(data)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	err = object.UnmarshalJSON(text)
	return object.Object, err
}

func (a *assembly) run() ([]*unstructured.Unstructured, error) {
	if a.err != nil {
		return nil, a.err
	}
	objects := make([]*unstructured.Unstructured, 0, len(a.resources))
	for _, r := range a.resources {
		content, err := baseFile(a, r.file, baseObject)
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
		object.SetName(r.name)
		object.SetNamespace(a.namespace)
		for _, p := range a.patches {
			if p.kind != object.GetKind() || p.name != r.name {
				continue
			}
			for _, o := range p.operations {
				if err := o.on(object.Object); err != nil {
					return nil, fmt.Errorf("computing %s %s: %w", p.kind, p.name, err)
				}
			}
		}
		objects = append(objects, object)
	}
	return objects, nil
}
