package render

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/spelling"
	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/guard"
	"stevedore.dev/stevedore/render/internal/located"
)

// patchEntry is an entry of a list that a patch merges by name.
type patchEntry struct {
	patch        guard.Patch
	path         []any
	list, name   string
	deletes      bool
	line, column int
	// of is the name of the object that the patch names itself; "" with a target.
	of string
}

// patchEntries are those of all patches of a build.
func patchEntries(build guard.Build) []patchEntry {
	var all []patchEntry
	keys := definition.MergeKeys()
	for _, p := range build.Patches {
		documents, _ := located.Parse(p.Data)
		for _, d := range documents {
			add := func(list string, n *yaml.Node, path []any) {
				at := located.Get(n, keys[list])
				name, ok := located.String(at)
				if !ok {
					return
				}
				e := patchEntry{patch: p, path: append(slices.Clone(path), keys[list]), list: list, name: name}
				directive, _ := located.String(located.Get(n, "$patch"))
				e.deletes = directive == "delete"
				e.line, e.column = p.Options.Place(at.Line+d.Line, at.Column)
				if p.Target == nil {
					e.of, _ = located.String(located.Get(d.Node, "metadata", "name"))
				}
				all = append(all, e)
			}
			if p.JSON {
				for i, operation := range located.Items(d.Node) {
					pointer, _ := located.String(located.Get(operation, "path"))
					list := strings.ReplaceAll(strings.Trim(pointerEnd.ReplaceAllString(pointer, ""), "/"), "/", ".")
					if keys[list] != "" {
						add(list, located.Get(operation, "value"), []any{i, "value"})
					}
				}
				continue
			}
			for list := range maps.Keys(keys) {
				var path []any
				for _, step := range strings.Split(list, ".") {
					path = append(path, step)
				}
				for i, n := range located.Items(located.Get(d.Node, strings.Split(list, ".")...)) {
					add(list, n, append(slices.Clone(path), i))
				}
			}
		}
	}
	return all
}

var pointerEnd = regexp.MustCompile(`/(-|[0-9]+)$`)

// listWords are what an entry of each list is to a person.
var listWords = map[string]string{"spec.nodes.data": "group", "spec.users": "user"}

// newEntries finds the entries that a patch has made by accident: merged by a name that
// nothing has, they lack what the base would have given. What was said of them, at the
// base, is taken away. And it finds those that a patch takes out and that are not there.
func newEntries(entries []patchEntry, src source, object map[string]any, problems []definition.Problem) []definition.Problem {
	if src.root == nil || len(entries) == 0 {
		return problems
	}
	for list, key := range definition.MergeKeys() {
		steps := strings.Split(list, ".")
		var before []string
		for _, n := range located.Items(located.Get(src.root, steps...)) {
			if name, ok := located.String(located.Get(n, key)); ok {
				before = append(before, name)
			}
		}
		built, _, _ := unstructured.NestedSlice(object, steps...)
		for i := range built {
			entry, _ := built[i].(map[string]any)
			name, _ := entry[key].(string)
			prefix := list + "[" + strconv.Itoa(i) + "]."
			var lacks []string
			for _, p := range problems {
				if strings.HasPrefix(p.Path, prefix) && strings.HasPrefix(p.Message, "is missing") {
					lacks = append(lacks, strings.TrimPrefix(p.Path, prefix))
				}
			}
			at := slices.IndexFunc(entries, func(e patchEntry) bool { return e.list == list && e.name == name && !e.deletes })
			if len(lacks) == 0 || at < 0 || slices.Contains(before, name) {
				continue
			}
			problems = slices.DeleteFunc(problems, func(p definition.Problem) bool {
				return strings.HasPrefix(p.Path, prefix) && strings.HasPrefix(p.Message, "is missing")
			})
			e := entries[at]
			problems = append(problems, e.problem(fmt.Sprintf("makes a new %s %q, which lacks %s: %s", listWords[list], name,
				strings.Join(lacks, ", "), meant(name, before, listWords[list]))))
		}
		problems = append(problems, deletesNothing(entries, list, before, src)...)
	}
	return problems
}

func deletesNothing(entries []patchEntry, list string, before []string, src source) []definition.Problem {
	var problems []definition.Problem
	own, _ := located.String(located.Get(src.root, "metadata", "name"))
	for _, e := range entries {
		made := slices.ContainsFunc(entries, func(other patchEntry) bool {
			return other.list == list && other.name == e.name && !other.deletes
		})
		if e.list != list || !e.deletes || e.of != own || made || slices.Contains(before, e.name) {
			continue
		}
		p := e.problem(fmt.Sprintf("takes out a %s %q that is not there: %s", listWords[list], e.name, meant(e.name, before, listWords[list])))
		p.Warning = e.patch.Component
		problems = append(problems, p)
	}
	return problems
}

func (e patchEntry) problem(message string) definition.Problem {
	return definition.Problem{File: e.patch.Source, Line: e.line, Column: e.column, Path: located.Format(e.path), Message: message}
}

func meant(name string, there []string, word string) string {
	if near := spelling.Nearest(name, there); near != "" {
		return "did you mean " + near + "?"
	}
	if len(there) == 0 {
		return "there is no " + word + " before the patch"
	}
	return "before the patch there are " + strings.Join(there, ", ")
}

// placePatches finds where the entries of spec.patches stand that an overlay brought: by
// their text, for kustomize keeps no more of them.
func placePatches(build guard.Build, src source, db *definition.CrateDB) {
	same := func(n *yaml.Node, p definition.Patch) bool {
		text, _ := located.String(located.Get(n, "patch"))
		path, _ := located.String(located.Get(n, "path"))
		return text == p.Patch && path == p.Path
	}
	for i := range db.Spec.Patches {
		p := &db.Spec.Patches[i]
		if slices.ContainsFunc(located.Items(located.Get(src.root, "spec", "patches")), func(n *yaml.Node) bool { return same(n, *p) }) {
			continue
		}
		for _, brought := range build.Patches {
			documents, _ := located.Parse(brought.Data)
			for _, d := range documents {
				for _, n := range located.Items(located.Get(d.Node, "spec", "patches")) {
					if same(n, *p) {
						p.File = brought.Source
						p.Line, _ = brought.Options.Place(n.Line+d.Line, n.Column)
					}
				}
			}
		}
	}
}
