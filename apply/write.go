package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// CreateOnly creates u unless an object of that name exists, which is then
// left as it is: created is false and err nil.
func (a *Applier) CreateOnly(ctx context.Context, u *unstructured.Unstructured) (created bool, err error) {
	key := compare.KeyOf(u)
	if a.live.lookup(key) != nil {
		return false, nil
	}
	resource, err := a.resource(key, u.GroupVersionKind().Version)
	if err != nil {
		return false, fmt.Errorf("creating %s: %w", key, err)
	}
	p := prepared{key: key, sent: compare.Normalize(u)}
	err = a.write(About(ctx, key), transientNotConflict, func(ctx context.Context) error {
		answer, err := resource.Create(ctx, p.sent, metav1.CreateOptions{FieldManager: names.FieldManager})
		if err == nil {
			a.live.wrote(key, newObject(answer))
		}
		return err
	})
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("creating %s: %w", key, p.discreet(err))
	}
	a.log.InfoContext(ctx, "created", "object", key.String())
	return true, nil
}

// MetadataChange is a change of labels and annotations; a nil value removes
// the key.
type MetadataChange struct {
	Labels, Annotations map[string]*string
	// UID and ResourceVersion, where set, must be the live object's, or the
	// write is refused with a conflict.
	UID             types.UID
	ResourceVersion string
}

// PatchMetadata changes labels and annotations and nothing else (of Secrets,
// claims, StatefulSets). It does no request where the live object is as wanted
// already.
func (a *Applier) PatchMetadata(ctx context.Context, key compare.Key, change MetadataChange) error {
	if live := a.live.lookup(key); live != nil && (change.UID == "" || live.GetUID() == change.UID) &&
		has(live.GetLabels(), change.Labels) && has(live.GetAnnotations(), change.Annotations) {
		return nil
	}
	resource, err := a.resource(key, "")
	if err != nil {
		return fmt.Errorf("labelling %s: %w", key, err)
	}
	metadata := map[string]any{}
	if len(change.Labels) > 0 {
		metadata["labels"] = change.Labels
	}
	if len(change.Annotations) > 0 {
		metadata["annotations"] = change.Annotations
	}
	if change.UID != "" {
		metadata["uid"] = change.UID
	}
	if change.ResourceVersion != "" {
		metadata["resourceVersion"] = change.ResourceVersion
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("labelling %s: %w", key, err)
	}
	err = a.write(About(ctx, key), transientNotConflict, func(ctx context.Context) error {
		answer, err := resource.Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: names.FieldManager})
		if err == nil {
			a.live.wrote(key, newObject(answer))
		}
		return err
	})
	if change.UID != "" && uidDiffers(err) {
		err = apierrors.NewConflict(schema.GroupResource{Group: key.Group, Resource: key.Kind}, key.Name,
			fmt.Errorf("it is another object than the one with UID %s, which is gone", change.UID))
	}
	if err != nil {
		return fmt.Errorf("labelling %s: %w", key, err)
	}
	return nil
}

// uidDiffers says whether a patch was refused because the object of that name
// is another one by now; the API server calls that an immutable field.
func uidDiffers(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "metadata.uid"
	})
}

// has says whether a map is as a change wants it.
func has(live map[string]string, change map[string]*string) bool {
	for key, want := range change {
		value, ok := live[key]
		if want == nil && ok || want != nil && (!ok || value != *want) {
			return false
		}
	}
	return true
}

// WriteConfigMap creates cm where it has no resourceVersion and updates that
// very version otherwise: a conflict (apierrors.IsConflict, IsAlreadyExists)
// means read again and decide again. The result is visible in Live at once if
// it has our label.
func (a *Applier) WriteConfigMap(ctx context.Context, cm *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	key := compare.Key{Kind: "ConfigMap", Namespace: cm.Namespace, Name: cm.Name}
	resource, err := a.resource(key, "v1")
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", key, err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cm)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", key, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetAPIVersion("v1")
	u.SetKind("ConfigMap")
	var answer *unstructured.Unstructured
	err = a.write(About(ctx, key), transientNotConflict, func(ctx context.Context) error {
		if cm.ResourceVersion == "" {
			answer, err = resource.Create(ctx, u, metav1.CreateOptions{FieldManager: names.FieldManager})
		} else {
			answer, err = resource.Update(ctx, u, metav1.UpdateOptions{FieldManager: names.FieldManager})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", key, err)
	}
	written := newObject(answer)
	a.live.wrote(key, written)
	result := new(corev1.ConfigMap)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(written.Object, result); err != nil {
		return nil, fmt.Errorf("reading the answer to the write of %s: %w", key, err)
	}
	return result, nil
}

// Delete deletes exactly the object with that UID and resourceVersion, both
// required; one that is gone already is no error. What it owns goes with it in
// the background.
func (a *Applier) Delete(ctx context.Context, key compare.Key, uid types.UID, resourceVersion string) error {
	if uid == "" || resourceVersion == "" {
		return fmt.Errorf("deleting %s: %w", key, errors.New("a UID and a resourceVersion are required"))
	}
	resource, err := a.resource(key, "")
	if err != nil {
		return fmt.Errorf("deleting %s: %w", key, err)
	}
	background := metav1.DeletePropagationBackground
	err = a.write(About(ctx, key), transientNotConflict, func(ctx context.Context) error {
		return resource.Delete(ctx, key.Name, metav1.DeleteOptions{
			PropagationPolicy: &background,
			Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &resourceVersion},
		})
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s: %w", key, err)
	}
	a.log.InfoContext(ctx, "deleted", "object", key.String(), "uid", uid)
	return nil
}
