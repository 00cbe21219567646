package guard

import (
	"path"
	"strings"

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/render/internal/located"
)

// generators reads a kustomization's ConfigMaps or Secrets that are made of
// literals and files. kustomize says of none of them which one is meant.
func (r *reading) generators(n *yaml.Node, field string) {
	type identity struct{ namespace, name string }
	made := map[identity]bool{}
	for i, item := range located.Items(located.Get(n, field)) {
		at := []any{field, i}
		r.generator(item, at)
		if item.Kind != yaml.MappingNode {
			continue
		}
		name, _ := located.String(located.Get(item, "name"))
		namespace, _ := located.String(located.Get(item, "namespace"))
		behavior, _ := located.String(located.Get(item, "behavior"))
		switch id := (identity{namespace, name}); {
		case located.Get(item, "name") == nil:
			r.add(item, append(at, "name"), "is missing: write what the object is called")
		case made[id] && behavior != "merge" && behavior != "replace":
			r.add(located.Get(item, "name"), append(at, "name"), "is the name of a second one: put them together, or write behavior: merge")
		default:
			made[id] = true
		}
	}
}

// keys: each literal is key=value, and a key stands once. A literal may be a
// password, and is not quoted.
func (r *reading) keys(n *yaml.Node, at []any) {
	seen := map[string]bool{}
	take := func(item *yaml.Node, at []any, key string) {
		if seen[key] {
			r.add(item, at, "gives a key of the object a second time: keep one")
		}
		seen[key] = true
	}
	for i, item := range located.Items(located.Get(n, "literals")) {
		at := append(append([]any{}, at...), "literals", i)
		value, ok := located.String(item)
		if !ok {
			continue
		}
		key, _, named := strings.Cut(value, "=")
		if !named || key == "" {
			r.add(item, at, "is not of the form key=value")
			continue
		}
		take(item, at, key)
	}
	for i, item := range located.Items(located.Get(n, "files")) {
		value, ok := located.String(item)
		if !ok {
			continue
		}
		key, _, named := strings.Cut(value, "=")
		if !named {
			key = path.Base(value)
		}
		take(item, append(append([]any{}, at...), "files", i), key)
	}
}

func (r *reading) generator(n *yaml.Node, at []any) {
	under := func(parts ...any) []any { return append(append([]any{}, at...), parts...) }
	r.keys(n, at)
	open := func(n *yaml.Node, at []any, value string) {
		name, ok := r.localValue(n, at, value)
		if !ok || !r.below(n, at, name) {
			return
		}
		data, message := read(r.fsys, name, MaxGeneratorFile)
		if message != "" {
			r.add(n, at, message)
			return
		}
		r.note(name)
		r.unit.bytes += int64(len(data))
		r.text(Text{File: name, Role: RoleGenerator})
	}
	for i, item := range located.Items(located.Get(n, "files")) {
		if value, ok := located.String(item); ok {
			if _, after, named := strings.Cut(value, "="); named {
				value = after
			}
			open(item, under("files", i), value)
		}
	}
	for i, item := range located.Items(located.Get(n, "envs")) {
		if value, ok := located.String(item); ok {
			open(item, under("envs", i), value)
		}
	}
	if env := located.Get(n, "env"); env != nil {
		if value, ok := located.String(env); ok {
			open(env, under("env"), value)
		}
	}
}
