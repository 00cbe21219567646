package render

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"stevedore.dev/stevedore/internal/spelling"
	"stevedore.dev/stevedore/render/guard"
)

// afterPatches are the fields of a kustomization that change names and labels when its
// patches have been applied.
var afterPatches = []string{"namePrefix", "nameSuffix", "namespace", "labels", "commonLabels", "commonAnnotations",
	"patchesJson6902", "replicas", "images", "replacements", "vars"}

// madeKinds are those that stevedore makes of a definition when kustomize is done.
var madeKinds = []string{"StatefulSet", "Service", "PodDisruptionBudget", "Pod"}

// advise says what a target may have meant, of what is there when its patch is applied.
func advise(build func(wrapper []byte, instead map[string][]byte) (resmap.ResMap, error), tree fs.FS, whole guard.Build, patch guard.Patch) string {
	dir, instead := whole.Dir, map[string][]byte(nil)
	if !patch.Component {
		text, ok := edited(tree, patch.File, func(root *yaml.Node) bool {
			list, entry := entryOf(root, patch)
			if entry == nil {
				return false
			}
			list.Content = list.Content[:patch.Index]
			kept := root.Content[:0]
			for i := 0; i+1 < len(root.Content); i += 2 {
				if key := root.Content[i].Value; key == patch.Field || !slices.Contains(afterPatches, key) {
					kept = append(kept, root.Content[i], root.Content[i+1])
				}
			}
			root.Content = kept
			return true
		})
		if ok {
			dir, instead = patch.Dir, map[string][]byte{patch.File: text}
		}
	}
	const unknown = "look at its target"
	wrapper, err := wrapperOf(dir)
	if err != nil {
		return unknown
	}
	m, err := build(wrapper, instead)
	if err != nil {
		return unknown
	}
	return nearest(m, *patch.Target)
}

// nearest names what a target nearly selects.
func nearest(m resmap.ResMap, target guard.Selector) string {
	selected := func(s types.Selector) []*resource.Resource {
		found, err := m.Select(s)
		if err != nil {
			return nil
		}
		return found
	}
	ofKind := selected(types.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Kind: target.Kind}}})
	gvk := resid.Gvk{Group: target.Group, Version: target.Version, Kind: target.Kind}
	ofType := selected(types.Selector{ResId: resid.ResId{Gvk: gvk}})
	named := selected(types.Selector{ResId: resid.ResId{Gvk: gvk, Name: target.Name}})
	switch {
	case m.Size() == 0:
		return "nothing is there when it is applied"
	case len(ofKind) == 0:
		return noKind(m, target.Kind)
	case len(ofType) == 0:
		return fmt.Sprintf("%s is of apiVersion %s", described(ofKind[0]), ofKind[0].GetApiVersion())
	case len(named) == 0:
		return noName(ofType, target)
	case target.Namespace != "" && len(selected(types.Selector{ResId: resid.ResId{Gvk: gvk, Name: target.Name, Namespace: target.Namespace}})) == 0:
		if namespace := named[0].GetNamespace(); namespace != "" {
			return fmt.Sprintf("%s is in namespace %s", described(named[0]), namespace)
		}
		return fmt.Sprintf("%s names no namespace when it is applied: leave namespace out of the target", described(named[0]))
	case target.LabelSelector != "" && len(selected(types.Selector{ResId: resid.ResId{Gvk: gvk, Name: target.Name}, LabelSelector: target.LabelSelector})) == 0:
		return fmt.Sprintf("%s has %s", described(named[0]), pairs(named[0].GetLabels(), "label"))
	case target.AnnotationSelector != "":
		return fmt.Sprintf("%s has %s", described(named[0]), pairs(named[0].GetAnnotations(), "annotation"))
	}
	return "there are " + listed(m.Resources())
}

// noKind is for a target of a kind that no object is of.
func noKind(m resmap.ResMap, kind string) string {
	var kinds []string
	for _, r := range m.Resources() {
		if !slices.Contains(kinds, r.GetKind()) {
			kinds = append(kinds, r.GetKind())
		}
	}
	if slices.Contains(madeKinds, kind) {
		return fmt.Sprintf("no %s is there when it is applied; an object that stevedore makes of a definition is changed by spec.patches of the definition", kind)
	}
	if near := spelling.Nearest(kind, kinds); near != "" {
		return fmt.Sprintf("nothing is of kind %q: did you mean %s?", kind, near)
	}
	return fmt.Sprintf("nothing is of kind %q; there are %s", kind, listed(m.Resources()))
}

func noName(candidates []*resource.Resource, target guard.Selector) string {
	var names []string
	for _, r := range candidates {
		names = append(names, nameOf(r))
	}
	kind := "object"
	if target.Kind != "" {
		kind = target.Kind
	}
	if near := spelling.Nearest(target.Name, names); near != "" {
		return fmt.Sprintf("no %s is called %q: did you mean %s?", kind, target.Name, near)
	}
	return fmt.Sprintf("no %s is called %q; there are %s", kind, target.Name, listed(candidates))
}

// nameOf is a name as a target knows it: the hash of a generated one comes later.
func nameOf(r *resource.Resource) string {
	origin, err := r.GetOrigin()
	if match := hashed.FindStringSubmatch(r.GetName()); match != nil && err == nil && origin != nil && origin.Path == "" {
		return match[1]
	}
	return r.GetName()
}

func described(r *resource.Resource) string { return r.GetKind() + " " + nameOf(r) }

// maxListed is how many objects a message lists.
const maxListed = 10

func listed(objects []*resource.Resource) string {
	var texts []string
	for _, r := range objects {
		if text := described(r); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if more := len(texts) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:maxListed], ", "), more)
	}
	return strings.Join(texts, ", ")
}

var ownAnnotation = regexp.MustCompile(`^(internal\.|alpha\.)?config\.kubernetes\.io/|^` + mark)

func pairs(all map[string]string, word string) string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !ownAnnotation.MatchString(key) {
			texts = append(texts, key+"="+all[key])
		}
	}
	switch len(texts) {
	case 0:
		return "no " + word
	case 1:
		return "the " + word + " " + texts[0]
	}
	return "the " + word + "s " + strings.Join(texts[:min(len(texts), maxListed)], ", ")
}
