package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	yamlv3 "gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"stevedore.dev/stevedore/internal/spelling"
	"stevedore.dev/stevedore/render/definition"
)

// errPatches: the problems say what is wrong.
var errPatches = errors.New("spec.patches cannot be applied")

// resourceMaps reads objects as kustomize does, to ask what a target selects.
var resourceMaps = resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory())

// userPatches applies spec.patches, one at a time and in their order, so that
// each error has the line of the patch it comes from. A patch that fails is
// left out and the others still run: every error at once.
func (m *model) userPatches(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, []definition.Problem) {
	var problems []definition.Problem
	if err := registerSchema(); err != nil {
		return nil, []definition.Problem{m.problem(0, "spec.patches", "%v", err)}
	}
	for i, p := range m.def.Spec.Patches {
		path := fmt.Sprintf("spec.patches[%d]", i)
		for _, one := range singlePatches(p) {
			if one.err != nil {
				problems = append(problems, m.patchProblem(p, path, "%v", one.err))
				continue
			}
			patched, err := applyPatch(objects, one)
			if err != nil {
				problems = append(problems, m.patchProblem(p, path, "%v", err))
				continue
			}
			if broken := protect(objects, patched); len(broken) > 0 {
				for _, b := range broken {
					problems = append(problems, m.patchProblem(p, path, "%s", b))
				}
				continue
			}
			objects = patched
		}
	}
	return objects, problems
}

// patchProblem is one of an entry of spec.patches, where that stands.
func (m *model) patchProblem(p definition.Patch, path, format string, args ...any) definition.Problem {
	problem := m.problem(p.Line, path, format, args...)
	problem.Column = p.Column
	if p.File != "" {
		problem.File = p.File
	}
	return problem
}

// singlePatch is one strategic-merge document or one JSON 6902 list with the
// objects that it is for.
type singlePatch struct {
	text   string
	target types.Selector
	err    error
}

// singlePatches splits one entry of spec.patches. A strategic-merge document
// without a target is for the object that it names; its namespace may be left
// out, since all objects of a cluster are in one.
func singlePatches(p definition.Patch) []singlePatch {
	fail := func(format string, args ...any) []singlePatch {
		return []singlePatch{{err: fmt.Errorf(format, args...)}}
	}
	if p.Patch == "" && p.Path != "" {
		return fail("the patch file %q was not read; write the patch inline as `patch: |`", p.Path)
	}
	for option, on := range p.Options {
		if on {
			return fail("the option %s is not taken: the objects of a cluster keep their kinds and names", option)
		}
	}
	var patches []singlePatch
	decoder := yamlv3.NewDecoder(strings.NewReader(p.Patch))
	for {
		var document yamlv3.Node
		if err := decoder.Decode(&document); err != nil {
			if err.Error() == "EOF" {
				break
			}
			return fail("the patch is no YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if len(document.Content) == 0 {
			continue
		}
		var value any
		if err := document.Decode(&value); err != nil {
			return fail("the patch is no YAML that can be applied: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		text, err := json.Marshal(value)
		if err != nil {
			return fail("the patch has a key that is no text")
		}
		one := singlePatch{text: string(text)}
		switch document.Content[0].Kind {
		case yamlv3.SequenceNode:
			if p.Target == nil {
				return fail("a JSON 6902 patch needs a target: write for example target: {kind: StatefulSet}")
			}
		case yamlv3.MappingNode:
			o := unstructured.Unstructured{}
			if o.Object, _ = value.(map[string]any); o.Object == nil {
				return fail("the patch has a key that is no text")
			}
			gv, err := schema.ParseGroupVersion(o.GetAPIVersion())
			if err != nil || gv.Version == "" || o.GetKind() == "" || o.GetName() == "" {
				return fail("the patch does not name its object: write apiVersion, kind and metadata.name (with a target, any name will do)")
			}
			if p.Target == nil {
				one.target.ResId = resid.ResId{
					Gvk:  resid.Gvk{Group: gv.Group, Version: gv.Version, Kind: o.GetKind()},
					Name: regexp.QuoteMeta(o.GetName()),
				}
			}
		default:
			return fail("the patch is neither a strategic-merge patch (a map) nor a JSON 6902 patch (a list)")
		}
		if t := p.Target; t != nil {
			one.target = types.Selector{
				ResId: resid.ResId{
					Gvk:  resid.Gvk{Group: t.Group, Version: t.Version, Kind: t.Kind},
					Name: t.Name, Namespace: t.Namespace,
				},
				LabelSelector: t.LabelSelector, AnnotationSelector: t.AnnotationSelector,
			}
		}
		patches = append(patches, one)
	}
	if len(patches) == 0 {
		return fail("the patch is empty")
	}
	return patches
}

// applyPatch gives a new list; the old one stays as it is.
func applyPatch(objects []*unstructured.Unstructured, p singlePatch) ([]*unstructured.Unstructured, error) {
	fsys := filesys.MakeFsInMemory()
	var files []string
	all := resmap.New()
	for i, o := range objects {
		data, err := o.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		one, err := resourceMaps.NewResMapFromBytes(data)
		if err == nil {
			err = all.AppendAll(one)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		file := fmt.Sprintf("%03d.json", i)
		if err := fsys.WriteFile("/"+file, data); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	// A target that selects nothing is no error to kustomize, but surely a
	// mistake of its writer.
	selected, err := all.Select(p.target)
	if err != nil {
		return nil, fmt.Errorf("the target cannot be read: %s", kustomizeMessage(err))
	}
	if len(selected) == 0 {
		return nil, fmt.Errorf("the patch matches nothing; %sthe cluster's own objects are %s", meantObject(objects, p.target), list(objects))
	}
	text, err := json.Marshal(types.Kustomization{
		TypeMeta:  types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		Resources: files, Patches: []types.Patch{{Patch: p.text, Target: &p.target}},
	})
	if err != nil {
		return nil, err
	}
	if err := fsys.WriteFile("/kustomization.yaml", text); err != nil {
		return nil, err
	}
	result, err := kustomize(fsys, "/")
	if err != nil {
		return nil, fmt.Errorf("the patch cannot be applied: %s", kustomizeMessage(err))
	}
	return objectsOf(result)
}

// meantObject asks for the object whose name is near that of a target.
func meantObject(objects []*unstructured.Unstructured, target types.Selector) string {
	var names []string
	for _, o := range objects {
		if target.Kind == "" || target.Kind == o.GetKind() {
			names = append(names, o.GetName())
		}
	}
	if near := spelling.Nearest(strings.ReplaceAll(target.Name, "\\", ""), names); near != "" {
		return "did you mean " + near + "? "
	}
	return ""
}

// list names objects for a person.
func list(objects []*unstructured.Unstructured) string {
	var texts []string
	for _, o := range objects {
		texts = append(texts, o.GetKind()+" "+o.GetName())
	}
	return strings.Join(slices.Compact(texts), ", ")
}
