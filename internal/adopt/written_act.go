package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/adopt"
	"stevedore.dev/stevedore/ops/model"
)

// doWritten carries out one step of those that only a StatefulSet that somebody wrote needs.
func (m *Mover) doWritten(ctx context.Context, r *adopt.Reading, step adopt.Step) error {
	switch step.Verb {
	case adopt.HoldUpdates:
		return m.strategy(ctx, step, map[string]any{"type": adopt.OnDelete})
	case adopt.FreeUpdates:
		was, err := unpack(m.saved.Sets[step.Name])
		if err != nil {
			return fmt.Errorf("giving %s its update strategy back: %w", step.Object, err)
		}
		strategy, _, _ := unstructured.NestedMap(was.Object, "spec", "updateStrategy")
		return m.strategy(ctx, step, strategy)
	case adopt.MakeSecret:
		return m.makeSecret(ctx)
	case adopt.NoteMade:
		secret, user := r.Makes()
		w := m.saved.Written
		w.Secret, w.User = w.Secret || secret, w.User || user
		return m.keep(ctx, m.saved)
	case adopt.MakeUser:
		return m.Superuser.Make(ctx, m.writtenPodsNamed(r, m.saved.Written.Targets))
	case adopt.DropUser:
		return m.Superuser.Drop(ctx, m.writtenPodsNamed(r, m.saved.Written.Targets))
	case adopt.DropSecret:
		return m.gone(step.Object, m.Client.CoreV1().Secrets(r.Namespace).Delete(ctx, step.Name, metav1.DeleteOptions{}))
	case adopt.DropService:
		return m.gone(step.Object, m.Client.CoreV1().Services(r.Namespace).Delete(ctx, step.Name, metav1.DeleteOptions{}))
	case adopt.Mark, adopt.Unmark:
		return m.mark(ctx, step)
	}
	return fmt.Errorf("%s is no step that this release knows", step.Verb)
}

// gone is the end of a deletion: what is gone already is well.
func (m *Mover) gone(object string, err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return m.failed(object, err)
}

// strategy writes the update strategy, and nothing else, of a StatefulSet as it was looked at.
func (m *Mover) strategy(ctx context.Context, step adopt.Step, value map[string]any) error {
	set := &adopt.Dependent{Resource: setResource, Kind: "StatefulSet", Name: step.Name, UID: step.UID}
	return m.patch(ctx, set, []operation{{"replace", "/spec/updateStrategy", value}})
}

// makeSecret makes the Secret of the user system; one that is there stays as it is.
func (m *Mover) makeSecret(ctx context.Context) error {
	password, err := m.Password()
	if err != nil {
		return err
	}
	name := names.SystemSecret(m.Cluster.Name)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			names.ClusterLabel: m.Cluster.Name, names.UserPasswordLabel: "true", names.ManagedByLabel: names.FieldManager,
			names.ComponentLabel: names.Component, names.NameLabel: m.Cluster.Name, names.PartOfLabel: names.Component,
		}},
		Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"password": []byte(password)},
	}
	_, err = m.Client.CoreV1().Secrets(m.Cluster.Namespace).Create(ctx, secret, metav1.CreateOptions{FieldManager: names.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making Secret %s: %w", name, errChanged)
	}
	if err != nil {
		// The API server's words may have the value.
		return fmt.Errorf("making Secret %s/%s: %s", m.Cluster.Namespace, name, apierrors.ReasonForError(err))
	}
	return nil
}

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// mark puts labels on a pod or a claim, or takes them off: by a merge patch, which takes no other pod of
// the name.
func (m *Mover) mark(ctx context.Context, step adopt.Step) error {
	resource, live := podResource, m.objects["pod "+step.Name]
	set := setOfPod(step.Name, m.saved.Written.Targets)
	if step.Dependent != nil {
		resource, live, set = claimResource, m.objects[step.Dependent.String()], claimSet(step.Name, m.saved.Written.Targets)
	}
	wanted := m.saved.Written.Targets[set].PodLabels
	if step.Dependent != nil {
		wanted = m.saved.Written.Targets[set].ClaimLabels
	}
	labels, annotations := map[string]any{}, map[string]any{}
	if step.Verb == adopt.Mark {
		for key, value := range wanted {
			labels[key] = value
		}
		if step.Dependent != nil && m.saved.ClusterID != "" {
			annotations[names.ClusterIDAnnotation] = m.saved.ClusterID
		}
	} else {
		for _, key := range m.ofOurs(set, wanted, live.GetLabels()) {
			labels[key] = nil
		}
		for key := range live.GetAnnotations() {
			if strings.HasPrefix(key, names.Prefix) {
				annotations[key] = nil
			}
		}
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": step.UID, "labels": labels, "annotations": annotations}})
	if err != nil {
		return fmt.Errorf("writing a patch of %s: %w", step.Object, err)
	}
	_, err = m.Dynamic.Resource(resource).Namespace(m.Cluster.Namespace).Patch(ctx, step.Name, types.MergePatchType, text, metav1.PatchOptions{FieldManager: names.FieldManager})
	return m.failed(step.Object, err)
}

func setOfPod(pod string, targets map[string]adopt.Target) string {
	for set := range targets {
		if _, is := ordinalIn(set, pod); is {
			return set
		}
	}
	return ""
}

// goesBack is a StatefulSet as the way back makes it: as it is right before it is deleted, an older one may
// have an older image. Of one that somebody wrote the update strategy was changed by then.
func (m *Mover) goesBack(name string, live *unstructured.Unstructured) (json.RawMessage, error) {
	if m.saved.Written == nil {
		return packed(live)
	}
	was, err := unpack(m.saved.Sets[name])
	if err != nil {
		return nil, fmt.Errorf("keeping StatefulSet %s: %w", name, err)
	}
	strategy, _, _ := unstructured.NestedMap(was.Object, "spec", "updateStrategy")
	now := live.DeepCopy()
	if err := unstructured.SetNestedMap(now.Object, strategy, "spec", "updateStrategy"); err != nil {
		return nil, fmt.Errorf("keeping StatefulSet %s: %w", name, err)
	}
	return packed(now)
}

// writtenSource is the StatefulSet that is made: as stevedore's with the pod template that it had, or as
// it was. Both with OnDelete: whatever is written to it restarts no pod.
func (m *Mover) writtenSource(step adopt.Step) (*unstructured.Unstructured, error) {
	set, err := unpack(m.saved.Sets[step.Name])
	if away, ok := m.saved.Away[step.Name]; ok && err == nil && !step.Owned {
		set, err = unpack(away)
	}
	if err != nil {
		return nil, err
	}
	set.SetOwnerReferences(nil)
	set.SetNamespace("")
	if step.Owned {
		return set, unstructured.SetNestedField(set.Object, map[string]any{"type": adopt.OnDelete}, "spec", "updateStrategy")
	}
	target, known := m.saved.Written.Targets[step.Name]
	if !known {
		return nil, errors.New("nothing is kept of what it becomes")
	}
	return set, become(set, target)
}

// become makes of a StatefulSet that somebody wrote what its definition says, but for its pod template.
func become(set *unstructured.Unstructured, target adopt.Target) (err error) {
	put := func(value any, path ...string) {
		err = errors.Join(err, unstructured.SetNestedField(set.Object, value, path...))
	}
	put(map[string]any{"type": adopt.OnDelete}, "spec", "updateStrategy")
	set.SetLabels(merged(set.GetLabels(), target.Labels))
	note := model.AdoptedSet{From: model.FromSomebody}
	set.SetAnnotations(merged(set.GetAnnotations(), map[string]string{names.NamesAnnotation: target.Names, names.AdoptedAnnotation: note.Annotation()}))
	podLabels, _, _ := unstructured.NestedStringMap(set.Object, "spec", "template", "metadata", "labels")
	err = errors.Join(err, unstructured.SetNestedStringMap(set.Object, merged(podLabels, target.PodLabels), "spec", "template", "metadata", "labels"))
	put("Parallel", "spec", "podManagementPolicy")
	claims, failed := claimsIn(target)
	put(claims, "spec", "volumeClaimTemplates")
	unstructured.RemoveNestedField(set.Object, "spec", "persistentVolumeClaimRetentionPolicy")
	return errors.Join(err, failed)
}

func claimsIn(target adopt.Target) ([]any, error) {
	list, err := unpack(json.RawMessage(`{"items":` + string(target.Claims) + `}`))
	if err != nil {
		return nil, err
	}
	claims, _, err := unstructured.NestedSlice(list.Object, "items")
	return claims, err
}

func merged(has, more map[string]string) map[string]string {
	out := maps.Clone(has)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, more)
	return out
}

// writtenRights are the rights that a step needs.
func writtenRights(s adopt.Step, need func(group, resource string, verbs ...string)) {
	switch s.Verb {
	case adopt.HoldUpdates, adopt.FreeUpdates:
		need("apps", "statefulsets", "patch")
	case adopt.MakeSecret:
		need("", "secrets", "create", "get")
	case adopt.DropSecret:
		need("", "secrets", "delete")
	case adopt.MakeUser, adopt.DropUser:
		need("", "pods/portforward", "create")
	case adopt.DropService:
		need("", "services", "delete")
	case adopt.Mark, adopt.Unmark:
		if s.Dependent != nil {
			need("", "persistentvolumeclaims", "patch")
		} else {
			need("", "pods", "patch")
		}
	}
}
