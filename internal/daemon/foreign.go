package daemon

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// foreign finds objects that have a wanted name and are not ours. The watches
// show only what carries our label, so an object that they do not have is
// asked for once before it is made: server-side apply would take it over.
func (w *worker) foreign(ctx context.Context, wanted []*unstructuredObject) ([]model.Foreign, error) {
	var found []model.Foreign
	var kinds []schema.GroupVersionKind
	for _, object := range wanted {
		if kind := object.GroupVersionKind(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if err := w.live.EnsureKinds(ctx, w.key.Namespace, kinds...); err != nil {
		return nil, fmt.Errorf("watching the kinds of namespace %s: %w", w.key.Namespace, err)
	}
	absent := make([]bool, len(wanted))
	var asking sync.WaitGroup // a list a kind, all at the same time
	for i, object := range wanted {
		key := compare.KeyOf(object)
		if _, ok := w.live.Get(key); !ok {
			asking.Go(func() { absent[i] = w.applier.Absent(ctx, key) })
		}
	}
	asking.Wait()
	for i, object := range wanted {
		key := compare.KeyOf(object)
		if live, ok := w.live.Get(key); ok {
			if !apply.Ours(live, w.key.Name) {
				found = append(found, foreign(live, w.key.Name))
			}
			continue
		}
		if absent[i] {
			continue
		}
		live, err := w.applier.Read(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("looking whether %s exists: %w", key, err)
		}
		if live != nil && !apply.Ours(live, w.key.Name) {
			found = append(found, foreign(live, w.key.Name))
		}
	}
	return found, nil
}

func foreign(live *unstructuredObject, cluster string) model.Foreign {
	return model.Foreign{
		Object: live.GetKind() + " " + live.GetName(), Owner: apply.OwnerOf(live, cluster), Data: apply.HoldsData(live),
		Set: live.GetKind() == "StatefulSet", OfCluster: live.GetLabels()[names.ClusterLabel] != "",
	}
}
