package guard

import (
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/internal/located"
)

func (r *reading) patchEntry(n *yaml.Node, at []any, jsonOnly bool) {
	if n.Kind != yaml.MappingNode {
		return
	}
	inline, file := located.Get(n, "patch"), located.Get(n, "path")
	under := func(key string) []any { return append(append([]any{}, at...), key) }
	switch {
	case inline == nil && file == nil:
		r.add(n, at, "has neither path nor patch: write one")
		return
	case inline != nil && file != nil:
		r.add(n, at, "has both path and patch: keep one")
		return
	}
	target := located.Get(n, "target")
	if inline != nil {
		r.inline(inline, target, under("patch"), jsonOnly)
		return
	}
	if data, name, ok := r.open(file, under("path")); ok {
		r.patchText(file, target, under("path"), name, data, definition.RawOptions{}, jsonOnly)
	}
}

// patch is an entry of patchesStrategicMerge: a path, or the patch itself.
func (r *reading) patch(n, target *yaml.Node, at []any) {
	value, ok := located.String(n)
	if !ok {
		return
	}
	if strings.Contains(value, "\n") {
		r.inline(n, target, at, false)
		return
	}
	if data, file, ok := r.open(n, at); ok {
		r.patchText(n, target, at, file, data, definition.RawOptions{}, false)
	}
}

func (r *reading) inline(n, target *yaml.Node, at []any, jsonOnly bool) {
	text, ok := located.String(n)
	if !ok {
		return
	}
	o := definition.RawOptions{Line: n.Line + r.line, Column: n.Column, Flat: true}
	if n.Style&yaml.LiteralStyle != 0 {
		o = definition.RawOptions{Line: n.Line + r.line, Column: r.indentation(n.Line+r.line, text)}
	}
	r.patchText(n, target, at, r.file, []byte(text), o, jsonOnly)
}

// indentation is how far a literal scalar's text stands from the margin.
func (r *reading) indentation(line int, text string) int {
	lines := strings.Split(string(r.data), "\n")
	for i, own := range strings.Split(text, "\n") {
		if strings.TrimSpace(own) == "" || line+i >= len(lines) {
			continue
		}
		spaces := func(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
		return max(0, spaces(lines[line+i])-spaces(own))
	}
	return 0
}

func (r *reading) patchText(n, target *yaml.Node, at []any, file string, data []byte, o definition.RawOptions, jsonOnly bool) {
	documents, _ := located.Parse(data)
	isJSON := jsonOnly
	for _, d := range documents {
		isJSON = isJSON || d.Node.Kind == yaml.SequenceNode
	}
	r.unit.problems = append(r.unit.problems, remembered("objects", file, data, o, objects)...)
	if len(documents) == 0 {
		if strings.TrimSpace(string(data)) == "" {
			r.add(n, at, "is an empty patch")
		}
		return
	}
	ours := targetsOurs(target)
	if isJSON {
		if target == nil {
			r.add(n, at, "is a JSON 6902 patch, which needs a target: write target with kind and name")
			return
		}
		r.text(Text{File: file, Role: RoleJSONPatch, Data: data, Ours: ours, Options: o})
		return
	}
	o.Partial, o.Ours = true, ours
	r.text(Text{File: file, Role: RoleStrategicMerge, Data: data, Ours: ours, Options: o})
}

// targetsOurs: kustomize reads a target's parts as regular expressions. One
// that takes in other kinds as well says nothing about the patch.
func targetsOurs(target *yaml.Node) bool {
	match := func(key, value string) bool {
		pattern, ok := located.String(located.Get(target, key))
		if !ok || pattern == "" {
			return false
		}
		re, err := regexp.Compile("^(?:" + pattern + ")$")
		return err == nil && re.MatchString(value)
	}
	return target != nil && match("kind", definition.Kind) && !match("kind", "StatefulSet") && !match("kind", "ConfigMap")
}
