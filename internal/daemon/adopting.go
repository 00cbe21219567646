package daemon

import (
	"context"
	"fmt"
	"slices"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// adopting reports whether `stevedore adopt` has begun with this cluster and not ended: between
// its deletion of a StatefulSet and its next write the daemon would make one with another pod
// template. It is asked for, with one request, only where a desired StatefulSet is not there or
// not ours: a watch may show the deletion before another one shows the ConfigMap.
func (w *worker) adopting(ctx context.Context, desired *model.Desired, sets []model.ObservedSet) (bool, error) {
	missing := slices.ContainsFunc(desired.Sets, func(d model.Set) bool {
		return !slices.ContainsFunc(sets, func(s model.ObservedSet) bool { return s.Name == d.Name && s.Ours })
	})
	if !missing {
		return false, nil
	}
	key := compare.Key{Kind: "ConfigMap", Namespace: w.key.Namespace, Name: names.AdoptionConfigMap(w.key.Name)}
	kept, err := w.applier.Read(ctx, key)
	if err != nil {
		return false, fmt.Errorf("looking whether the cluster is being adopted: %w", err)
	}
	return kept != nil && kept.GetLabels()[record.Label] == record.Adopting, nil
}
