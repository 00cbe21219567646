package daemon

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// foreign finds objects that have a wanted name and are not ours. The watches
// show only what carries our label, so an object that they do not have is
// asked for once before it is made: server-side apply would take it over. A StatefulSet that is not there is not ours
// either where pods or claims of it are somebody's: it would take them.
func (w *worker) foreign(ctx context.Context, wanted []*unstructuredObject, made []model.RecordedSet) ([]model.Foreign, error) {
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
		var live *unstructuredObject
		if !absent[i] {
			var err error
			if live, err = w.applier.Read(ctx, key); err != nil {
				return nil, fmt.Errorf("looking whether %s exists: %w", key, err)
			}
		}
		switch {
		case live != nil && !apply.Ours(live, w.key.Name):
			found = append(found, foreign(live, w.key.Name))
		case live == nil && key.GroupKind() == "StatefulSet.apps" && !slices.ContainsFunc(made, func(s model.RecordedSet) bool { return s.Name == key.Name }):
			left, err := w.leftOf(ctx, object)
			if err != nil {
				return nil, err
			}
			found = append(found, left...)
		}
	}
	return found, nil
}

// leftOf finds what a StatefulSet that is gone has left, and that was never ours: a pod of it, if that has no template of
// ours and its claims have no cluster of ours, and a claim of it that somebody owns.
func (w *worker) leftOf(ctx context.Context, wanted *unstructuredObject) (found []model.Foreign, err error) {
	marked := false
	for _, claim := range w.live.Claims(w.key.Namespace, w.key.Name) {
		if base, ordinal := splitOrdinal(claim.Name); ordinal < 0 || !strings.HasSuffix(base, "-"+wanted.GetName()) {
			continue
		}
		marked = marked || claim.Annotations[names.ClusterIDAnnotation] != ""
		others := slices.DeleteFunc(slices.Clone(claim.OwnerReferences), func(r metav1.OwnerReference) bool { return r.Kind == "StatefulSet" || r.Kind == "Pod" })
		if len(others) > 0 && len(found) == 0 {
			found = append(found, model.Foreign{Object: "PersistentVolumeClaim " + claim.Name, Owner: apply.OwnedBy(others[0]), Data: true, Set: true})
		}
	}
	pods, err := w.podsOf(ctx, wanted)
	if err != nil {
		return nil, err
	}
	theirs := func(pod metav1.Object) bool { return pod.GetAnnotations()[names.TemplateAnnotation] == "" }
	if k := slices.IndexFunc(pods, theirs); k >= 0 && !marked {
		found = append(found, model.Foreign{Object: "Pod " + pods[k].GetName(), Data: true, Set: true})
	}
	return found, nil
}

// podsOf are the pods with the names of a StatefulSet that is gone. No watch shows those of one that somebody wrote, for they
// have other labels.
func (w *worker) podsOf(ctx context.Context, wanted *unstructuredObject) (pods []metav1.Object, err error) {
	set := wanted.GetName()
	for _, pod := range w.live.Pods(w.key.Namespace, w.key.Name) {
		if base, ordinal := splitOrdinal(pod.Name); ordinal >= 0 && base == set {
			pods = append(pods, pod)
		}
	}
	if wanted.GetAnnotations()[names.NamesAnnotation] == "" {
		return pods, nil
	}
	replicas, _, _ := unstructured.NestedInt64(wanted.Object, "spec", "replicas")
	for ordinal := range replicas {
		key := compare.Key{Kind: "Pod", Namespace: w.key.Namespace, Name: set + "-" + strconv.FormatInt(ordinal, 10)}
		if w.applier.Absent(ctx, key) {
			continue
		}
		pod, err := w.applier.Read(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("looking whether %s exists: %w", key, err)
		}
		if pod != nil {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

func foreign(live *unstructuredObject, cluster string) model.Foreign {
	return model.Foreign{
		Object: live.GetKind() + " " + live.GetName(), Owner: apply.OwnerOf(live, cluster), Data: apply.HoldsData(live),
		Set: live.GetKind() == "StatefulSet", OfCluster: live.GetLabels()[names.ClusterLabel] != "",
	}
}
