package manifest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
)

// GroupOf is what the pods of a StatefulSet are labelled with; "" for a foreign one. The selector of
// one whose names are another's says nothing of it.
func GroupOf(set *unstructured.Unstructured) string {
	if set.GetAnnotations()[names.NamesAnnotation] != "" {
		return set.GetLabels()[names.NodeNameLabel]
	}
	group, _, _ := unstructured.NestedString(set.Object, "spec", "selector", "matchLabels", names.NodeNameLabel)
	return group
}
