package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// Leftovers are the live objects of the cluster's inventory that are not wanted,
// sorted by key, Secrets only where they are watched. Kinds that the inventory
// names are watched from here on; in sync it costs no request.
func (l *Live) Leftovers(ctx context.Context, namespace, cluster string, wanted []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	recorded, kinds := l.inventoried(namespace, cluster)
	if err := l.EnsureKinds(ctx, namespace, kinds...); err != nil {
		return nil, err
	}
	keys := make(map[compare.Key]bool, len(wanted))
	for _, u := range wanted {
		keys[compare.KeyOf(u)] = true
	}
	var result []*unstructured.Unstructured
	for _, left := range l.leftovers(namespace, cluster, recorded, keys) {
		if found := l.lookup(left.Key); found != nil && found.GetLabels()[names.ClusterLabel] == cluster {
			result = append(result, found.Unstructured)
		}
	}
	return result, nil
}

// Remove deletes an object of the cluster that its definition makes no more, if it
// is that very object at that very version; one that is gone is no error. What may
// hold data, and what is not the cluster's, is refused.
func (a *Applier) Remove(ctx context.Context, cluster string, key compare.Key, uid, resourceVersion string) error {
	if holdsData(key) || key.Namespace == "" {
		return &ObjectError{Key: key, Err: errHoldsData}
	}
	live, err := a.Read(ctx, key)
	if err != nil || live == nil {
		return err
	}
	switch {
	case string(live.GetUID()) != uid || live.GetDeletionTimestamp() != nil:
		return nil // what was to go is gone, or goes
	case live.GetLabels()[names.ClusterLabel] != cluster:
		return &ObjectError{Key: key, Err: &NotOursError{Key: key, Owner: OwnerOf(live, cluster), Cluster: cluster}}
	}
	return a.Delete(ctx, key, live.GetUID(), resourceVersion)
}

// mentions says whether a string anywhere in value is the name: by it a template
// uses a ConfigMap, a ServiceAccount, a Service.
func mentions(value any, name string) bool {
	switch value := value.(type) {
	case string:
		return value == name
	case map[string]any:
		for _, inner := range value {
			if mentions(inner, name) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, func(inner any) bool { return mentions(inner, name) })
	}
	return false
}

// UsedBy is a StatefulSet of the cluster whose pod template names the object; "" if
// none does.
func (l *Live) UsedBy(namespace, cluster, name string) string {
	for _, object := range l.Objects(namespace, cluster) {
		if object.GetKind() != "StatefulSet" || object.GetName() == name {
			continue
		}
		template, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "template", "spec")
		if mentions(template, name) {
			return object.GetName()
		}
	}
	return ""
}
