package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/labels"

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
	r.selector(target, under("target"))
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
	if isJSON && target == nil {
		r.add(n, at, "is a JSON 6902 patch, which needs a target: write target with kind and name")
		return
	}
	if isJSON && startsAsJSON(data, o) && !json.Valid(data) {
		r.add(n, at, "begins with [, so that kustomize reads it as JSON, which it is not: put its keys and values in quotes, or write each operation on a line that begins with -")
		return
	}
	if !isJSON && !r.namesObjects(n, target, at, file, documents, o) {
		return
	}
	r.unit.patches = append(r.unit.patches, Patch{
		File: r.file, Dir: r.unit.dir, Component: r.unit.component, Field: r.field, Index: r.index,
		Line: r.entry.Line + r.line, Column: r.entry.Column, Target: selectorOf(target), JSON: isJSON,
		Source: file, Data: data, Options: o,
	})
	ours := targetsOurs(target)
	if isJSON {
		r.text(Text{File: file, Role: RoleJSONPatch, Data: data, Ours: ours, Options: o})
		return
	}
	o.Partial, o.Ours = true, ours
	r.text(Text{File: file, Role: RoleStrategicMerge, Data: data, Ours: ours, Options: o})
}

// startsAsJSON: kustomize goes by the first character, of an inline patch the first that
// is no space.
func startsAsJSON(data []byte, o definition.RawOptions) bool {
	if o != (definition.RawOptions{}) {
		data = bytes.TrimSpace(data)
	}
	return bytes.HasPrefix(data, []byte("["))
}

// namesObjects: kustomize wants a kind and a name in each document of a strategic
// merge, and with a target no more than one document. It says of neither where.
func (r *reading) namesObjects(n, target *yaml.Node, at []any, file string, documents []located.Document, o definition.RawOptions) bool {
	good := true
	say := func(d located.Document, path []any, message string) {
		good = false
		line, column := o.Place(d.Node.Line+d.Line, d.Node.Column)
		r.unit.add(file, line, column, path, message)
	}
	if target != nil && len(documents) > 1 {
		good = false
		r.add(n, at, fmt.Sprintf("has %d documents: a patch with a target is one; make an entry of each", len(documents)))
	}
	for _, d := range documents {
		if d.Node.Kind != yaml.MappingNode {
			say(d, nil, "is no patch: write a mapping with apiVersion, kind and metadata.name (a strategic merge), or a list of operations (JSON 6902)")
			continue
		}
		kind, _ := located.String(located.Get(d.Node, "kind"))
		name, _ := located.String(located.Get(d.Node, "metadata", "name"))
		advice := ": write the one of the object that is changed"
		if target != nil {
			advice = ": kustomize wants one beside a target too, which decides; any will do"
		}
		switch {
		case strings.HasSuffix(kind, "List"):
		case kind == "":
			say(d, []any{"kind"}, "is missing in the patch"+advice)
		case name == "":
			say(d, []any{"metadata", "name"}, "is missing in the patch"+advice)
		}
	}
	return good
}

// selector says what is wrong with a target, which kustomize would say without a line.
func (r *reading) selector(target *yaml.Node, at []any) {
	for _, p := range located.Pairs(target) {
		value, ok := located.String(p.Value)
		if !ok {
			continue
		}
		under := append(append([]any{}, at...), p.Key.Value)
		switch p.Key.Value {
		case "group", "version", "kind", "name", "namespace":
			if _, err := regexp.Compile("^(?:" + value + ")$"); err != nil {
				message := err.Error()
				if invalid, ok := errors.AsType[*syntax.Error](err); ok {
					message = string(invalid.Code)
				}
				r.add(p.Value, under, "is no regular expression ("+message+"): a target's parts are; write a backslash before what is meant literally")
			}
		case "labelSelector", "annotationSelector":
			if _, err := labels.Parse(value); err != nil {
				r.add(p.Value, under, "is no selector: write key=value, key!=value, key in (a,b) or key alone, with commas between")
			}
		}
	}
}

func selectorOf(target *yaml.Node) *Selector {
	if target == nil {
		return nil
	}
	part := func(key string) string {
		value, _ := located.String(located.Get(target, key))
		return value
	}
	return &Selector{Group: part("group"), Version: part("version"), Kind: part("kind"), Name: part("name"),
		Namespace: part("namespace"), LabelSelector: part("labelSelector"), AnnotationSelector: part("annotationSelector")}
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
