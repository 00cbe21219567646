package e2e

import (
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// edit changes a definition before it is written.
type edit struct {
	path  string
	value any
}

// with sets the field at a dotted path of the definition; a number is an index
// (one past the end appends), a value of nil removes the field.
func with(path string, value any) edit { return edit{path, value} }

// definition of a cluster of one node with one user, and what the edits make
// of it.
func definition(ns, name string, edits ...edit) string {
	object := map[string]any{
		"apiVersion": "cloud.crate.io/v1", "kind": "CrateDB",
		"metadata": map[string]any{"name": name, "namespace": ns},
		"spec": map[string]any{
			"cluster": map[string]any{"name": name, "imageRegistry": "crate", "version": "6.4.3"},
			"nodes":   map[string]any{"data": []any{group("hot", 1)}},
			"users":   []any{user("app")},
		},
	}
	for _, e := range edits {
		put(object, strings.Split(strings.ReplaceAll(e.path, "\\.", "\x00"), "."), clone(e.value))
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// clone keeps the edits of one definition out of the next.
func clone(value any) any {
	text, err := yaml.Marshal(value)
	if err != nil {
		panic(err)
	}
	var copied any
	if err := yaml.Unmarshal(text, &copied); err != nil {
		panic(err)
	}
	return copied
}

func group(name string, replicas int) map[string]any {
	return map[string]any{"name": name, "replicas": replicas, "resources": resources()}
}

func resources() map[string]any {
	return map[string]any{
		"limits":    map[string]any{"cpu": 1, "memory": "1Gi"},
		"disk":      map[string]any{"count": 1, "size": "16GiB", "storageClass": "default"},
		"heapRatio": 0.5,
	}
}

// user with the Secret <name>-password.
func user(name string) map[string]any {
	return map[string]any{"name": name, "password": map[string]any{
		"secretKeyRef": map[string]any{"name": name + "-password", "key": "password"},
	}}
}

const replicasOfHot = "spec.nodes.data.0.replicas"

func put(at map[string]any, path []string, value any) {
	key := strings.ReplaceAll(path[0], "\x00", ".")
	if len(path) == 1 {
		if value == nil {
			delete(at, key)
			return
		}
		at[key] = value
		return
	}
	if list, ok := at[key].([]any); ok {
		index, err := strconv.Atoi(path[1])
		if err != nil {
			panic(err)
		}
		switch {
		case len(path) == 2 && value == nil:
			at[key] = slices.Delete(list, index, index+1)
		case len(path) == 2 && index == len(list):
			at[key] = append(list, value)
		case len(path) == 2:
			list[index] = value
		default:
			put(list[index].(map[string]any), path[2:], value)
		}
		return
	}
	next, ok := at[key].(map[string]any)
	if !ok {
		next = map[string]any{}
		at[key] = next
	}
	put(next, path[1:], value)
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	if list == nil {
		list = []string{}
	}
	return list
}
