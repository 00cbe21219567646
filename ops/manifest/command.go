package manifest

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

const (
	kindStatefulSet = "StatefulSet"
	// CrateContainer is the name of CrateDB's container in a pod.
	CrateContainer = "crate"
)

// EachCommand gives change the crate container's command and its args; what it
// returns takes their place, nil leaves them.
func EachCommand(set *unstructured.Unstructured, change func([]any) []any) {
	// No copy is made on the way: the caller owns the object or only reads.
	containers, _, _ := unstructured.NestedFieldNoCopy(set.Object, "spec", "template", "spec", "containers")
	list, _ := containers.([]any)
	for _, c := range list {
		container, _ := c.(map[string]any)
		if container == nil || container["name"] != CrateContainer {
			continue
		}
		for _, key := range []string{"command", "args"} {
			if arguments, ok := container[key].([]any); ok {
				if next := change(arguments); next != nil {
					container[key] = next
				}
			}
		}
	}
}
