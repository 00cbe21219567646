package testbed

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Patch changes an object by hand with a JSON merge patch, as `kubectl patch`
// does. Resource is "statefulsets", "services" and so on.
func (b *Testbed) Patch(ctx context.Context, resource, namespace, name, patch string) error {
	kind, err := b.mapper.ResourceFor(schema.GroupVersionResource{Resource: resource})
	if err != nil {
		return fmt.Errorf("finding the resource %s: %w", resource, err)
	}
	_, err = b.dynamic.Resource(kind).Namespace(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kubectl-edit"})
	if err != nil {
		return fmt.Errorf("patching %s %s/%s: %w", resource, namespace, name, err)
	}
	return nil
}
