package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubejson "k8s.io/apimachinery/pkg/util/json"
)

// operation is one of a JSON 6902 patch. Such a patch fails when the base has
// no such place, so that the base and what Go computes cannot drift apart.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// remove takes an item out of a list.
func remove(path string) operation { return operation{"remove", path, nil} }

func set(path string, value any) operation { return operation{"add", path, value} }

// pointer escapes a key for a JSON pointer (RFC 6901).
func pointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// on carries the operation out: "add" and "replace", the only ones that the base
// has, and the "remove" of a list's item.
func (o operation) on(object map[string]any) error {
	path, ok := strings.CutPrefix(o.Path, "/")
	if !ok || o.Op != "add" && o.Op != "replace" && o.Op != "remove" {
		return fmt.Errorf("the operation %s at %s is not known", o.Op, o.Path)
	}
	// As it is read from JSON: with the types that live objects have, and nothing
	// that another object shares.
	text, err := json.Marshal(o.Value)
	if err != nil {
		return fmt.Errorf("the value at %s: %w", o.Path, err)
	}
	var value any
	if err := kubejson.Unmarshal(text, &value); err != nil {
		return fmt.Errorf("the value at %s: %w", o.Path, err)
	}
	steps := strings.Split(path, "/")
	for i, step := range steps {
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
	}
	if o.Op == "remove" {
		return o.removeFrom(object, steps)
	}
	if _, err := put(object, steps, o.Op == "replace", value); err != nil {
		return fmt.Errorf("%s %s: %w", o.Op, o.Path, err)
	}
	return nil
}

// put sets a value below a map or a list, and gives the list that it may have
// become.
func put(at any, steps []string, there bool, value any) (any, error) {
	step, last := steps[0], len(steps) == 1
	switch at := at.(type) {
	case map[string]any:
		below, ok := at[step]
		switch {
		case !ok && (!last || there):
			return nil, fmt.Errorf("there is no %q", step)
		case !last:
			var err error
			if value, err = put(below, steps[1:], there, value); err != nil {
				return nil, err
			}
		}
		at[step] = value
		return at, nil
	case []any:
		n, err := strconv.Atoi(step)
		switch {
		case step == "-" && last && !there:
			n, err = len(at), nil
		case err == nil && (n < 0 || n > len(at) || n == len(at) && (there || !last)):
			err = fmt.Errorf("there are %d, and no number %d", len(at), n)
		}
		if err != nil {
			return nil, err
		}
		if last && !there {
			return slices.Insert(at, n, value), nil
		}
		if !last {
			if value, err = put(at[n], steps[1:], there, value); err != nil {
				return nil, err
			}
		}
		at[n] = value
		return at, nil
	}
	return nil, fmt.Errorf("there is nothing below, and no %q", step)
}

// removeFrom takes the item that the last step numbers out of the list that the others lead
// to, through maps only.
func (o operation) removeFrom(object map[string]any, steps []string) error {
	above, last := steps[:len(steps)-1], steps[len(steps)-1]
	list, found, err := unstructured.NestedFieldNoCopy(object, above...)
	items, _ := list.([]any)
	n, notNumber := strconv.Atoi(last)
	if err != nil || !found || notNumber != nil || n < 0 || n >= len(items) {
		return fmt.Errorf("remove %s: there is no such item of a list", o.Path)
	}
	return unstructured.SetNestedSlice(object, slices.Delete(slices.Clone(items), n, n+1), above...)
}
