package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"stevedore.dev/stevedore/internal/names"
)

// operatorManager is the field manager of crate-operator: it names none, and its client has this one.
const operatorManager = "OpenAPI-Generator"

// endShared ends crate-operator's part in the fields that an object of ours is about to have, and
// returns the object as it is then. A field that two managers have stays when one of them does not
// make it any more: a port of an adopted Service would stand beside the one that took its place.
// What we do not make stays as it is, crate-operator's.
func (a *Applier) endShared(ctx context.Context, p prepared, live *object) (*object, error) {
	ours, err := fieldsOf(p.sent)
	if err != nil {
		return live, nil //nolint:nilerr // a kind without a schema merges nothing
	}
	resource, err := a.resource(p.key, p.sent.GroupVersionKind().Version)
	if err != nil {
		return nil, err
	}
	now, err := resource.Get(About(ctx, p.key), p.key.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading whose its fields are: %w", err)
	}
	managers, changed := withoutShared(now.GetManagedFields(), ours)
	if !changed || now.GetResourceVersion() != live.GetResourceVersion() {
		return live, nil // of another version it is looked at again
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": managers},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": now.GetResourceVersion()},
	})
	if err != nil {
		return nil, fmt.Errorf("writing whose its fields are: %w", err)
	}
	var answer *unstructured.Unstructured
	err = a.write(About(ctx, p.key), transientNotConflict, func(ctx context.Context) error {
		answer, err = resource.Patch(ctx, p.key.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: names.FieldManager})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("writing whose its fields are: %w", p.discreet(err))
	}
	return newObject(answer), nil
}

// withoutShared are the managers of an object's fields, crate-operator without those of ours.
func withoutShared(managers []metav1.ManagedFieldsEntry, ours *fieldpath.Set) (left []metav1.ManagedFieldsEntry, changed bool) {
	for _, entry := range managers {
		if entry.Manager == operatorManager && entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource == "" && entry.FieldsV1 != nil {
			theirs := &fieldpath.Set{}
			if theirs.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())) == nil {
				rest := theirs.RecursiveDifference(ours)
				changed = changed || !rest.Equals(theirs)
				if rest.Empty() {
					continue
				}
				if text, err := rest.ToJSON(); err == nil {
					entry.FieldsV1 = metav1.NewFieldsV1(string(text))
				}
			}
		}
		left = append(left, entry)
	}
	return slices.Clip(left), changed
}

// fieldsOf are the fields of an object that is sent, as the API server notes them.
func fieldsOf(sent *unstructured.Unstructured) (*fieldpath.Set, error) {
	value, err := Schema().ObjectToTyped(sent)
	if err != nil {
		return nil, err
	}
	return value.ToFieldSet()
}
