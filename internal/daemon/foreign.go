package daemon

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// foreign finds objects that have a wanted name and are not ours. The watches
// show only what carries our label, so an object that they do not have is
// asked for once before it is made: server-side apply would take it over.
func (w *worker) foreign(ctx context.Context, wanted []*unstructuredObject) ([]string, error) {
	var found []string
	var kinds []schema.GroupVersionKind
	for _, object := range wanted {
		if kind := object.GroupVersionKind(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if err := w.live.EnsureKinds(ctx, w.key.Namespace, kinds...); err != nil {
		return nil, fmt.Errorf("watching the kinds of namespace %s: %w", w.key.Namespace, err)
	}
	for _, object := range wanted {
		key := compare.KeyOf(object)
		if live, ok := w.live.Get(key); ok {
			if notOurs(live, w.key.Name) {
				found = append(found, key.Kind+" "+key.Name)
			}
			continue
		}
		live, err := w.applier.Read(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("looking whether %s exists: %w", key, err)
		}
		if live == nil || !notOurs(live, w.key.Name) {
			continue
		}
		found = append(found, key.Kind+" "+key.Name)
	}
	return found, nil
}

// notOurs says that a live object is another's. One without the label that we
// have applied before is still ours: somebody took the label off, which is
// drift. (A Secret carries no mark of an apply: it is then another's.)
func notOurs(live *unstructuredObject, cluster string) bool {
	label := live.GetLabels()[names.ClusterLabel]
	return label != cluster && (label != "" || live.GetAnnotations()[names.AppliedAnnotation] == "")
}
