package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/adopt"
)

// kept is what the ConfigMap of an adoption has.
type kept struct {
	SchemaVersion int `json:"schemaVersion"`
	adopt.Saved

	object *corev1.ConfigMap
}

// load reads what an earlier run has kept; nil where there is none.
func (m *Mover) load(ctx context.Context) (*kept, error) {
	name := names.AdoptionConfigMap(m.Cluster.Name)
	object, err := m.Client.CoreV1().ConfigMaps(m.Cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s/%s: %w", m.Cluster.Namespace, name, err)
	}
	out := &kept{object: object}
	if err := json.Unmarshal([]byte(object.Data[names.DataKey]), out); err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s/%s, in which the adoption keeps the cluster as it was: %w: it is left as it is, put back what it had", m.Cluster.Namespace, name, err)
	}
	if out.SchemaVersion != names.SchemaVersion {
		return nil, fmt.Errorf("reading ConfigMap %s/%s: schemaVersion %d is not known to this release: run the release that wrote it", m.Cluster.Namespace, name, out.SchemaVersion)
	}
	return out, nil
}

// keep writes it.
func (m *Mover) keep(ctx context.Context, k *kept) error {
	k.SchemaVersion = names.SchemaVersion
	data, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("keeping the cluster as it is: %w", err)
	}
	client := m.Client.CoreV1().ConfigMaps(m.Cluster.Namespace)
	name := names.AdoptionConfigMap(m.Cluster.Name)
	if k.object == nil {
		k.object = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{names.ManagedByLabel: names.FieldManager, record.Label: record.Adopting, names.NameLabel: m.Cluster.Name},
		}}
		k.object.Data = map[string]string{names.DataKey: string(data)}
		_, err = client.Create(ctx, k.object, metav1.CreateOptions{FieldManager: names.FieldManager})
	} else {
		object := k.object.DeepCopy()
		if object.Data[names.DataKey] == string(data) {
			return nil // one who is killed after each write gets on by that
		}
		object.Data = map[string]string{names.DataKey: string(data)}
		if object.Labels[record.Label] = record.Adopting; k.Adopted() {
			object.Labels[record.Label] = record.Adopted
		}
		_, err = client.Update(ctx, object, metav1.UpdateOptions{FieldManager: names.FieldManager})
	}
	if err != nil {
		return fmt.Errorf("keeping the cluster as it is in ConfigMap %s/%s: %w", m.Cluster.Namespace, name, err)
	}
	return nil
}

// save keeps the cluster as the last look saw it. No value of a Secret is in it, nor kopf's
// annotations, which have such values.
func (m *Mover) save(ctx context.Context, r *adopt.Reading) error {
	if r.Written != nil {
		return m.saveWritten(ctx, r)
	}
	k := &kept{Saved: adopt.Saved{
		UID: r.Object.UID, ClusterID: r.Database.ClusterID, Pods: r.Pods, Settings: r.Database.Left,
		Sets: map[string]json.RawMessage{}, Budgets: map[string]json.RawMessage{},
	}}
	var err error
	pack := func(o *unstructured.Unstructured) json.RawMessage {
		text, failed := packed(o)
		err = errors.Join(err, failed)
		return text
	}
	k.Object = pack(m.objects["CrateDB "+r.Cluster])
	for i := range r.Sets {
		k.Sets[r.Sets[i].Name] = pack(m.objects["StatefulSet "+r.Sets[i].Name])
	}
	for i := range r.Budgets {
		if !r.Budgets[i].Ours {
			k.Budgets[r.Budgets[i].Name] = pack(m.objects["PodDisruptionBudget "+r.Budgets[i].Name])
		}
	}
	for i := range r.Dependents {
		d := &r.Dependents[i]
		if !d.Owned || d.Kind == "StatefulSet" || d.Kind == "PodDisruptionBudget" {
			continue
		}
		live := m.objects[d.String()]
		owner, _ := ownerOf(live, r.Object.UID)
		text, failed := json.Marshal(owner)
		if failed != nil {
			return fmt.Errorf("keeping the owner of %s: %w", d, failed)
		}
		k.Objects = append(k.Objects, adopt.SavedObject{
			Group: d.Resource.Group, Version: d.Resource.Version, Resource: d.Resource.Resource, Kind: d.Kind, Name: d.Name, UID: d.UID,
			Owner: text, Labels: live.GetLabels(), Suspended: d.Suspended,
		})
	}
	if err != nil {
		return err
	}
	return m.keep(ctx, k)
}

// packed is an object as it is kept.
func packed(o *unstructured.Unstructured) (json.RawMessage, error) {
	text, err := json.Marshal(essence(o))
	if err != nil {
		return nil, fmt.Errorf("keeping %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return text, nil
}

func ownerOf(o *unstructured.Unstructured, uid string) (metav1.OwnerReference, int) {
	owners := o.GetOwnerReferences()
	i := slices.IndexFunc(owners, func(ref metav1.OwnerReference) bool { return string(ref.UID) == uid })
	if i < 0 {
		return metav1.OwnerReference{}, i
	}
	return owners[i], i
}

// essence is an object without what the API server fills in, and without kopf's annotations.
func essence(o *unstructured.Unstructured) *unstructured.Unstructured {
	out := o.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(out.Object, "status")
	annotations := out.GetAnnotations()
	for key := range annotations {
		if strings.HasPrefix(key, names.OperatorPrefix) || key == corev1.LastAppliedConfigAnnotation {
			delete(annotations, key)
		}
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	out.SetAnnotations(annotations)
	return out
}
