package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/internal/names"
)

// A disruption budget has minAvailable or maxUnavailable, and the API server refuses both. An apply
// that names one takes the other away only if nobody else has written it. A release writes it, and
// so may a person: then the other one is replaced first.

// otherLimit is that field of a live budget which excludes the one that is wanted; "" for none.
func otherLimit(wanted, live *unstructured.Unstructured) (field, other string) {
	for _, pair := range [][2]string{{"minAvailable", "maxUnavailable"}, {"maxUnavailable", "minAvailable"}} {
		_, wants, _ := unstructured.NestedFieldNoCopy(wanted.Object, "spec", pair[0])
		_, has, _ := unstructured.NestedFieldNoCopy(live.Object, "spec", pair[1])
		if wants && has {
			return pair[0], pair[1]
		}
	}
	return "", ""
}

// applyBudget applies a budget, and once more after the other limit was replaced where the API
// server refuses both.
func (a *Applier) applyBudget(ctx context.Context, p prepared) (*object, error) {
	answer, err := a.apply(ctx, p, transient)
	if !apierrors.IsInvalid(err) {
		return answer, err
	}
	replaced, problem := a.replaceLimit(ctx, p)
	if problem != nil || !replaced {
		return nil, errors.Join(problem, err)
	}
	return a.apply(ctx, p, transient)
}

// replaceLimit writes the wanted limit in the place of the other one, at once: a budget without
// any would let every pod go.
func (a *Applier) replaceLimit(ctx context.Context, p prepared) (bool, error) {
	now, err := a.read(ctx, p.key, p.sent.GroupVersionKind().Version)
	if err != nil || now == nil {
		return false, err
	}
	field, other := otherLimit(p.sent, now.Unstructured)
	if field == "" {
		return false, nil
	}
	value, _, _ := unstructured.NestedFieldNoCopy(p.sent.Object, "spec", field)
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": now.GetResourceVersion()},
		"spec":     map[string]any{field: value, other: nil},
	})
	if err != nil {
		return false, fmt.Errorf("replacing %s: %w", other, err)
	}
	resource, err := a.resource(p.key, p.sent.GroupVersionKind().Version)
	if err != nil {
		return false, err
	}
	err = a.write(About(ctx, p.key), transientNotConflict, func(ctx context.Context) error {
		_, err := resource.Patch(ctx, p.key.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: names.FieldManager})
		return err
	})
	if err != nil && !errors.Is(err, ErrStopped) {
		err = fmt.Errorf("replacing %s: %w", other, err)
	}
	return err == nil, err
}
