package manifest

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	kindStatefulSet = "StatefulSet"
	// CrateContainer is the name of CrateDB's container in a pod.
	CrateContainer = "crate"
)

// put writes a field of an object. What is on its way and not there is made.
func put(object map[string]any, value any, path ...string) {
	for _, name := range path[:len(path)-1] {
		next, ok := object[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			object[name] = next
		}
		object = next
	}
	object[path[len(path)-1]] = value
}

// argument is the name and the value of the setting that an argument of CrateDB's command gives, as "-Cname=value"; false
// for any other one.
func argument(of any) (name, value string, ok bool) {
	text, _ := of.(string)
	setting, given := strings.CutPrefix(text, "-C")
	if name, value, ok = strings.Cut(setting, "="); !ok || !given {
		return "", "", false
	}
	return name, value, true
}

// EachCommand gives change the crate container's command and its args; what it
// returns takes their place, nil leaves them.
func EachCommand(set *unstructured.Unstructured, change func([]any) []any) {
	eachContainer(set, func(container map[string]any) {
		for _, key := range []string{"command", "args"} {
			if arguments, ok := container[key].([]any); ok && container["name"] == CrateContainer {
				if next := change(arguments); next != nil {
					container[key] = next
				}
			}
		}
	})
}

// eachContainer gives every container of the pod template to the function; none is copied: the caller owns the object or
// only reads.
func eachContainer(set *unstructured.Unstructured, do func(container map[string]any)) {
	for _, kind := range []string{"initContainers", "containers"} {
		containers, _, _ := unstructured.NestedFieldNoCopy(set.Object, "spec", "template", "spec", kind)
		list, _ := containers.([]any)
		for _, item := range list {
			if container, _ := item.(map[string]any); container != nil {
				do(container)
			}
		}
	}
}
