package apply

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// Forbidden reports whether an error, or one that it joins, is the API server's
// word that a role may not do it.
func Forbidden(err error) bool {
	if err == nil {
		return false
	}
	if apierrors.IsForbidden(err) {
		return true
	}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, each := range joined.Unwrap() {
			if Forbidden(each) {
				return true
			}
		}
	}
	return false
}

// DryRun asks the API server what it would store of an object, admission
// included, and lists what differs from what is live, Secrets masked. It changes
// nothing. A role that may not write is told so (Forbidden).
func (a *Applier) DryRun(ctx context.Context, cluster string, u *unstructured.Unstructured) ([]compare.FieldChange, error) {
	p := prepare(u, cluster, a.setID(u, cluster))
	resource, err := a.resource(p.key, p.sent.GroupVersionKind().Version)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.RequestTimeout)
	defer cancel()
	answer, err := resource.Apply(About(ctx, p.key), p.key.Name, p.sent, metav1.ApplyOptions{FieldManager: names.FieldManager, Force: true, DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return nil, p.discreet(err)
	}
	live := a.live.lookup(p.key)
	if live == nil {
		return compare.MaskChanges(p.key, compare.Diff(u, nil, nil)), nil
	}
	return compare.MaskChanges(p.key, compare.Diff(answer, live.Unstructured, live.ownedSet())), nil
}
