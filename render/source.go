package render

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/internal/located"
)

// source is the base document of a definition as it stands in its file:
// kustomize's result has lost its lines and, in merged lists, its order.
type source struct {
	file string
	root *yaml.Node // nil when it could not be found
	line int        // added to the lines of its nodes
}

// findSource looks for the document that a built definition comes from: the one
// of its name, else the only definition of the file (a prefix may have changed
// the name).
func findSource(tree fs.FS, file, namespace, name string, before int) source {
	s := source{file: file}
	if file == "" {
		return s
	}
	data, err := fs.ReadFile(tree, file)
	if err != nil {
		return s
	}
	documents, _ := located.Parse(data)
	var candidates, named, exact []located.Document
	for _, d := range documents {
		if definition.LikenessOf(d.Node) == definition.Other {
			continue
		}
		if found, _ := located.String(located.Get(d.Node, "metadata", "name")); found == name {
			named = append(named, d)
			if found, _ := located.String(located.Get(d.Node, "metadata", "namespace")); found == namespace {
				exact = append(exact, d)
			}
		}
		candidates = append(candidates, d)
	}
	if len(exact) > 0 {
		named = exact
	}
	if len(named) > 0 {
		d := named[min(before, len(named)-1)]
		s.root, s.line = d.Node, d.Line
		return s
	}
	if len(candidates) == 1 {
		s.root, s.line = candidates[0].Node, candidates[0].Line
	}
	return s
}

// locator answers where the value at a path of the built object stands in the
// base document. Entries of lists are found by their name, since a patch moves
// them. What a patch brought is not there, and answers false.
func (s source) locator(object map[string]any) func(path []any) (string, int, int, bool) {
	return func(path []any) (string, int, int, bool) {
		if s.root == nil {
			return s.file, 0, 0, s.file != "" && len(path) == 0
		}
		var value any = object
		node := s.root
		for _, step := range path {
			var next any
			switch step := step.(type) {
			case string:
				if m, ok := value.(map[string]any); ok {
					next = m[step]
				}
				node = located.Get(node, step)
			case int:
				list, _ := value.([]any)
				if step >= 0 && step < len(list) {
					next = list[step]
				}
				node = entry(node, next, step)
			}
			if node == nil {
				return "", 0, 0, false
			}
			value = next
		}
		if node.Kind == yaml.ScalarNode && !sameScalar(node, value) {
			return "", 0, 0, false // a patch changed it
		}
		return s.file, s.line + node.Line, node.Column, node.Line > 0
	}
}

func sameScalar(node *yaml.Node, value any) bool {
	text := fmt.Sprint(value)
	if value == nil {
		text = "null"
	}
	if text == node.Value || node.Tag == "!!null" && value == nil {
		return true
	}
	x, errX := strconv.ParseFloat(text, 64)
	y, errY := strconv.ParseFloat(node.Value, 64)
	return errX == nil && errY == nil && x == y
}

// entry is the item of a list that has the name of v, or without names the one
// at the same place.
func entry(list *yaml.Node, v any, index int) *yaml.Node {
	items := located.Items(list)
	if m, ok := v.(map[string]any); ok {
		if name, ok := m["name"].(string); ok {
			for _, i := range items {
				if found, _ := located.String(located.Get(i, "name")); found == name {
					return i
				}
			}
			return nil
		}
	}
	if index < len(items) {
		return items[index]
	}
	return nil
}

// restoreOrder puts the lists that kustomize merges by name back into the base
// document's order, and what patches added behind. kustomize puts a patch's
// entries first, and the first data group of a new cluster elects the master.
func (s source) restoreOrder(object map[string]any) {
	if s.root == nil {
		return
	}
	for at, key := range definition.MergeKeys() {
		steps := strings.Split(at, ".")
		parent, node := object, s.root
		for _, step := range steps[:len(steps)-1] {
			parent, _ = parent[step].(map[string]any)
			node = located.Get(node, step)
		}
		last := steps[len(steps)-1]
		list, ok := parent[last].([]any)
		if !ok {
			continue
		}
		rank := map[string]int{}
		for i, item := range located.Items(located.Get(node, last)) {
			if name, ok := located.String(located.Get(item, key)); ok {
				rank[name] = i + 1
			}
		}
		slices.SortStableFunc(list, func(a, b any) int {
			return position(rank, a, key) - position(rank, b, key)
		})
	}
}

func position(rank map[string]int, v any, key string) int {
	m, _ := v.(map[string]any)
	name, _ := m[key].(string)
	if r, ok := rank[name]; ok {
		return r
	}
	return len(rank) + 1
}

// readPatchFiles puts the text of spec.patches[].path into the definition: a
// file of the snapshot, beside the definition.
func readPatchFiles(tree fs.FS, db *definition.CrateDB) []definition.Problem {
	var problems []definition.Problem
	for i := range db.Spec.Patches {
		p := &db.Spec.Patches[i]
		if p.Path == "" || p.Patch != "" {
			continue
		}
		file := path.Join(path.Dir(db.File), p.Path)
		data, err := fs.ReadFile(tree, file)
		if path.IsAbs(p.Path) || !fs.ValidPath(file) || err != nil {
			problems = append(problems, definition.Problem{
				File: db.File, Line: p.Line, Path: "spec.patches",
				Message: "the patch file " + p.Path + " cannot be read: its path is relative to the definition's file and stays inside the source",
			})
			continue
		}
		p.Patch = string(data)
	}
	return problems
}
