package adopt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/adopt"
)

// errChanged is for what is not as it was looked at: it is looked at again.
var errChanged = errors.New("somebody has changed it since it was looked at: run the command again")

// do carries out one step.
func (m *Mover) do(ctx context.Context, r *adopt.Reading, step adopt.Step) error {
	if err := m.unwatched(ctx, r, step); err != nil {
		return err
	}
	switch step.Verb {
	case adopt.Save:
		return m.save(ctx, r)
	case adopt.ResetSettings:
		return m.Database.Reset(ctx, m.sqlPods(r), r.Database.Left)
	case adopt.SuspendJob:
		return m.patch(ctx, step.Dependent, []operation{{"add", "/spec/suspend", true}})
	case adopt.CloseBudget:
		return m.closeBudget(ctx, step.Name)
	case adopt.DropBudget:
		return m.dropBudget(ctx, step)
	case adopt.RestoreBudget:
		return m.restoreBudget(ctx, step.Name)
	case adopt.Detach:
		return m.detach(ctx, step.Dependent)
	case adopt.NoteCluster:
		return m.noteCluster(ctx, step.Dependent)
	case adopt.Attach:
		return m.attach(ctx, step.Dependent)
	case adopt.KeepSet:
		return m.keepSet(ctx, step.Name)
	case adopt.Orphan:
		return m.orphan(ctx, step)
	case adopt.Create:
		return m.create(ctx, r, step)
	case adopt.Note:
		m.saved.TakenOver()
		return m.keep(ctx, m.saved)
	case adopt.NoteBack:
		m.saved.Back = true
		return m.keep(ctx, m.saved)
	case adopt.DeleteObject, adopt.Unfinalize:
		return m.finish(ctx, r, step)
	case adopt.Forget:
		return m.forget(ctx)
	}
	return m.doWritten(ctx, r, step)
}

// unwatched looks once more whether somebody else writes the CrateDB object: crate-operator, which
// may run where it is not seen.
func (m *Mover) unwatched(ctx context.Context, r *adopt.Reading, step adopt.Step) error {
	if r.Object == nil || step.Verb == adopt.Unfinalize {
		return nil
	}
	live, err := m.Dynamic.Resource(m.cratedb).Namespace(r.Namespace).Get(ctx, r.Cluster, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("looking at the CrateDB object %s/%s once more: %w", r.Namespace, r.Cluster, err)
	}
	if live.GetResourceVersion() != r.Object.Version {
		return fmt.Errorf("the CrateDB object %s/%s was written while it was looked at: crate-operator, or who applies the object, still runs; stop it, then run the command again", r.Namespace, r.Cluster)
	}
	return nil
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// patch writes to an object only as it was looked at.
func (m *Mover) patch(ctx context.Context, d *adopt.Dependent, changes []operation) error {
	live := m.objects[d.String()]
	guard := []operation{{"test", "/metadata/uid", d.UID}, {"test", "/metadata/resourceVersion", live.GetResourceVersion()}}
	text, err := json.Marshal(append(guard, changes...))
	if err != nil {
		return fmt.Errorf("writing a patch of %s: %w", d, err)
	}
	_, err = m.Dynamic.Resource(d.Resource).Namespace(m.Cluster.Namespace).Patch(ctx, d.Name, types.JSONPatchType, text, metav1.PatchOptions{FieldManager: names.FieldManager})
	return m.failed(d.String(), err)
}

// failed says what was written to, and that a conflict is looked at again.
func (m *Mover) failed(object string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err), apierrors.IsInvalid(err) && strings.Contains(err.Error(), "the server rejected our request due to an error in our request"):
		return fmt.Errorf("writing %s in namespace %s: %w", object, m.Cluster.Namespace, errChanged)
	}
	return fmt.Errorf("writing %s in namespace %s: %w", object, m.Cluster.Namespace, err)
}

func pointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// detach takes off what ties an object to the CrateDB object.
func (m *Mover) detach(ctx context.Context, d *adopt.Dependent) error {
	live := m.objects[d.String()]
	var changes []operation
	if owner, i := ownerOf(live, m.saved.UID); i >= 0 {
		path := "/metadata/ownerReferences"
		if len(live.GetOwnerReferences()) > 1 {
			at := path + "/" + strconv.Itoa(i)
			changes = append(changes, operation{"test", at + "/uid", string(owner.UID)}, operation{Op: "remove", Path: at})
		} else {
			changes = append(changes, operation{"test", path + "/0/uid", string(owner.UID)}, operation{Op: "remove", Path: path})
		}
	}
	for _, key := range d.Diary {
		changes = append(changes, operation{Op: "remove", Path: "/metadata/annotations/" + pointer(key)})
	}
	if len(changes) == 0 {
		return nil
	}
	return m.patch(ctx, d, changes)
}

// noteCluster notes on a claim which cluster's data it has.
func (m *Mover) noteCluster(ctx context.Context, d *adopt.Dependent) error {
	// A merge patch makes the map of annotations where there is none.
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": d.UID, "annotations": map[string]any{names.ClusterIDAnnotation: m.saved.ClusterID}}})
	if err != nil {
		return fmt.Errorf("writing a patch of %s: %w", d, err)
	}
	_, err = m.Dynamic.Resource(d.Resource).Namespace(m.Cluster.Namespace).Patch(ctx, d.Name, types.MergePatchType, text, metav1.PatchOptions{FieldManager: names.FieldManager})
	return m.failed(d.String(), err)
}

// attach puts back the owner and the labels of an object.
func (m *Mover) attach(ctx context.Context, d *adopt.Dependent) error {
	i := slices.IndexFunc(m.saved.Objects, func(s adopt.SavedObject) bool { return s.Kind == d.Kind && s.Name == d.Name && s.UID == d.UID })
	if i < 0 {
		return fmt.Errorf("giving %s back: nothing is kept of it", d)
	}
	was := m.saved.Objects[i]
	live := m.objects[d.String()]
	var changes []operation
	if !d.Owned && len(was.Owner) > 0 {
		var owner any
		if err := json.Unmarshal(was.Owner, &owner); err != nil {
			return fmt.Errorf("giving %s its owner back: %w", d, err)
		}
		changes = append(changes, operation{"add", "/metadata/ownerReferences", append(anyOf(live.GetOwnerReferences()), owner)})
	}
	labels := live.GetLabels()
	for key := range labels {
		if _, had := was.Labels[key]; !had && (strings.HasPrefix(key, names.Prefix) || strings.HasPrefix(key, "applyset.")) {
			delete(labels, key)
		}
	}
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, was.Labels)
	changes = append(changes, operation{"add", "/metadata/labels", labels})
	if d.Kind == "CronJob" && d.Suspended != was.Suspended {
		changes = append(changes, operation{"add", "/spec/suspend", was.Suspended})
	}
	return m.patch(ctx, d, changes)
}

func anyOf(references []metav1.OwnerReference) []any {
	out := make([]any, 0, len(references)+1)
	for _, ref := range references {
		out = append(out, ref)
	}
	return out
}

// applied writes an object by server-side apply as stevedore: the daemon takes off later what it
// does not make itself.
func (m *Mover) applied(ctx context.Context, o *unstructured.Unstructured) error {
	resource := setResource
	if o.GetKind() == "PodDisruptionBudget" {
		resource = budgetResource
	}
	_, err := m.Dynamic.Resource(resource).Namespace(m.Cluster.Namespace).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: names.FieldManager, Force: true})
	return m.failed(o.GetKind()+" "+o.GetName(), err)
}

// closeBudget makes a budget over every pod that lets none go.
func (m *Mover) closeBudget(ctx context.Context, name string) error {
	return m.applied(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
		"metadata": map[string]any{"name": name, "labels": map[string]any{names.ManagedByLabel: names.FieldManager, names.NameLabel: m.Cluster.Name}},
		"spec": map[string]any{"minAvailable": int64(adopt.Closed), "selector": map[string]any{
			"matchLabels": map[string]any{names.ComponentLabel: names.Component, names.NameLabel: m.Cluster.Name},
		}},
	}})
}

func (m *Mover) dropBudget(ctx context.Context, step adopt.Step) error {
	uid := types.UID(step.UID)
	err := m.Dynamic.Resource(budgetResource).Namespace(m.Cluster.Namespace).Delete(ctx, step.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return m.failed(step.Object, err)
}

// restoreBudget makes a budget as it was.
func (m *Mover) restoreBudget(ctx context.Context, name string) error {
	was, err := unpack(m.saved.Budgets[name])
	if err != nil {
		return fmt.Errorf("making PodDisruptionBudget %s again: %w", name, err)
	}
	client := m.Dynamic.Resource(budgetResource).Namespace(m.Cluster.Namespace)
	if live := m.objects["PodDisruptionBudget "+name]; live != nil {
		// It is the one that was made ours: as a whole it is theirs again.
		was.SetResourceVersion(live.GetResourceVersion())
		_, err = client.Update(ctx, was, metav1.UpdateOptions{FieldManager: operatorManager})
	} else {
		_, err = client.Create(ctx, was, metav1.CreateOptions{FieldManager: operatorManager})
	}
	return m.failed("PodDisruptionBudget "+name, err)
}

// operatorManager is crate-operator's field manager: what is given back is its again.
const operatorManager = "OpenAPI-Generator"

func unpack(text json.RawMessage) (*unstructured.Unstructured, error) {
	out := &unstructured.Unstructured{}
	// Not encoding/json: it makes every number a float, and the number of pods is then none.
	if err := utiljson.Unmarshal(text, &out.Object); err != nil {
		return nil, err
	}
	return out, nil
}

// orphan deletes a StatefulSet and leaves its pods: the very one that was looked at and kept, by its UID
// and version.
func (m *Mover) orphan(ctx context.Context, step adopt.Step) error {
	uid, orphan := types.UID(step.UID), metav1.DeletePropagationOrphan
	err := m.Dynamic.Resource(setResource).Namespace(m.Cluster.Namespace).Delete(ctx, step.Name, metav1.DeleteOptions{
		PropagationPolicy: &orphan, Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &step.Version},
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err := m.failed(step.Object, err); err != nil {
		return err
	}
	return m.until(ctx, step.Object+" is gone without its pods", func(ctx context.Context) (bool, error) {
		live, err := m.Dynamic.Resource(setResource).Namespace(m.Cluster.Namespace).Get(ctx, step.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return err == nil && live.GetUID() != uid, err // another may have been made already
	})
}

// asItIs is a StatefulSet as the last look saw it, and as it goes back. While it is crate-operator's that is
// the same one: an older one may have an older image.
func (m *Mover) asItIs(name string) (away, back json.RawMessage, err error) {
	live := m.objects["StatefulSet "+name]
	back = m.saved.Sets[name]
	if live.GetLabels()[names.ClusterLabel] == "" {
		if back, err = m.goesBack(name, live); err != nil {
			return nil, nil, err
		}
	}
	away, err = packed(live)
	return away, back, err
}

// isKept reports whether a StatefulSet, as the last look saw it, is the one that is kept.
func (m *Mover) isKept(name string) bool {
	if m.saved == nil {
		return false
	}
	away, back, err := m.asItIs(name)
	return err == nil && bytes.Equal(away, m.saved.Away[name]) && bytes.Equal(back, m.saved.Sets[name])
}

// keepSet keeps a StatefulSet as the last look saw it.
func (m *Mover) keepSet(ctx context.Context, name string) error {
	away, back, err := m.asItIs(name)
	if err != nil {
		return err
	}
	if m.saved.Away == nil {
		m.saved.Away = map[string]json.RawMessage{}
	}
	m.saved.Away[name] = away
	if back != nil {
		m.saved.Sets[name] = back
	}
	return m.keep(ctx, m.saved)
}

// create makes a StatefulSet again: as stevedore's, or as crate-operator's with what was kept.
func (m *Mover) create(ctx context.Context, r *adopt.Reading, step adopt.Step) error {
	set, err := m.source(step)
	if err != nil {
		return fmt.Errorf("making %s again: %w", step.Object, err)
	}
	if err := endsNone(set, r.Pods); err != nil {
		return fmt.Errorf("making %s again: %w", step.Object, err)
	}
	if step.Owned {
		_, err := m.Dynamic.Resource(setResource).Namespace(r.Namespace).Create(ctx, set, metav1.CreateOptions{FieldManager: operatorManager})
		return m.failed(step.Object, err)
	}
	return m.applied(ctx, set)
}

// endsNone is an error where a StatefulSet has fewer pods than there are: its controller would end
// those of the highest ordinals, whatever they have on them.
func endsNone(set *unstructured.Unstructured, pods []adopt.Pod) error {
	replicas, found, err := unstructured.NestedInt64(set.Object, "spec", "replicas")
	if err != nil || !found {
		return fmt.Errorf("its number of pods was not kept: %w", errors.Join(err, errChanged))
	}
	for i := range pods {
		p := &pods[i]
		ordinal, err := strconv.ParseInt(strings.TrimPrefix(p.Name, set.GetName()+"-"), 10, 64)
		if p.Set != set.GetName() || p.Deleting || err == nil && ordinal < replicas {
			continue
		}
		return fmt.Errorf("it was kept with %d pods, and its controller would end pod %s: somebody else has deleted it since; make it by hand with as many pods as there are, and run the command again", replicas, p.Name)
	}
	return nil
}

// source is the StatefulSet that is made: as it was when it was deleted, as stevedore's or with what
// crate-operator had.
func (m *Mover) source(step adopt.Step) (*unstructured.Unstructured, error) {
	if m.saved.Written != nil {
		return m.writtenSource(step)
	}
	was, err := unpack(m.saved.Sets[step.Name])
	if err != nil {
		return nil, err
	}
	away := was
	if text, ok := m.saved.Away[step.Name]; ok {
		if away, err = unpack(text); err != nil {
			return nil, err
		}
	}
	if !step.Owned {
		return m.asOurs(away), nil
	}
	return was, asTheirs(was, away)
}

// asTheirs gives what crate-operator had made the number of pods and the sizes of claims that it has
// by now: the daemon may have changed them.
func asTheirs(set, live *unstructured.Unstructured) error {
	was, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas")
	is, _, _ := unstructured.NestedInt64(live.Object, "spec", "replicas")
	if was != is {
		// Its template says for how many nodes the gateway waits.
		for _, field := range []string{"replicas", "template"} {
			value, _, _ := unstructured.NestedFieldCopy(live.Object, "spec", field)
			if err := unstructured.SetNestedField(set.Object, value, "spec", field); err != nil {
				return err
			}
		}
	}
	keepSizes(set, live)
	return nil
}

// keepSizes gives the claim templates their live sizes: volumes may have grown.
func keepSizes(set, live *unstructured.Unstructured) {
	templates, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	lives, _, _ := unstructured.NestedSlice(live.Object, "spec", "volumeClaimTemplates")
	for _, t := range templates {
		template, _ := t.(map[string]any)
		for _, l := range lives {
			is, _ := l.(map[string]any)
			a, _, _ := unstructured.NestedString(template, "metadata", "name")
			b, _, _ := unstructured.NestedString(is, "metadata", "name")
			size, found, _ := unstructured.NestedFieldCopy(is, "spec", "resources", "requests", "storage")
			if a == b && found {
				_ = unstructured.SetNestedField(template, size, "spec", "resources", "requests", "storage")
			}
		}
	}
	_ = unstructured.SetNestedSlice(set.Object, templates, "spec", "volumeClaimTemplates")
}

// asOurs is a StatefulSet of crate-operator's with the same pods, and nothing that ties it, or a
// claim that it makes later, to the CrateDB object.
func (m *Mover) asOurs(set *unstructured.Unstructured) *unstructured.Unstructured {
	set.SetOwnerReferences(nil)
	set.SetNamespace("")
	labels := set.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[names.ClusterLabel], labels[names.ManagedByLabel] = m.Cluster.Name, names.FieldManager
	// The hooks in its pods look for these: without them a stop would drain by crate-operator's
	// rules, and a start would reset the allocation that the daemon holds.
	for _, label := range names.HookLabels {
		labels[label] = "true"
	}
	set.SetLabels(labels)
	annotations := set.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[names.AdoptedAnnotation] = `{"from":"crate-operator"}`
	set.SetAnnotations(annotations)
	templates, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	for _, t := range templates {
		if template, ok := t.(map[string]any); ok {
			unstructured.RemoveNestedField(template, "metadata", "ownerReferences")
			unstructured.RemoveNestedField(template, "metadata", "creationTimestamp")
			unstructured.RemoveNestedField(template, "status")
		}
	}
	_ = unstructured.SetNestedSlice(set.Object, templates, "spec", "volumeClaimTemplates")
	return set
}

// finish deletes the CrateDB object, or takes the finalizer off it.
func (m *Mover) finish(ctx context.Context, r *adopt.Reading, step adopt.Step) error {
	client := m.Dynamic.Resource(m.cratedb).Namespace(r.Namespace)
	uid := types.UID(step.UID)
	if step.Verb == adopt.DeleteObject {
		orphan := metav1.DeletePropagationOrphan
		err := client.Delete(ctx, step.Name, metav1.DeleteOptions{PropagationPolicy: &orphan, Preconditions: &metav1.Preconditions{UID: &uid}})
		return m.failed(step.Object, err)
	}
	live, err := client.Get(ctx, step.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || string(live.GetUID()) != step.UID {
		return m.failed(step.Object, errors.Join(err, errChanged))
	}
	live.SetFinalizers(slices.DeleteFunc(live.GetFinalizers(), func(f string) bool { return strings.HasPrefix(f, names.OperatorPrefix) }))
	_, err = client.Update(ctx, live, metav1.UpdateOptions{FieldManager: names.FieldManager})
	return m.failed(step.Object, err)
}

func (m *Mover) forget(ctx context.Context) error {
	name := names.AdoptionConfigMap(m.Cluster.Name)
	err := m.Client.CoreV1().ConfigMaps(m.Cluster.Namespace).Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &m.saved.object.UID}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return m.failed("ConfigMap "+name, err)
}

// until waits for a controller, as long as the context lasts.
func (m *Mover) until(ctx context.Context, what string, is func(context.Context) (bool, error)) error {
	tick := time.NewTicker(m.Poll)
	defer tick.Stop()
	for {
		ok, err := is(ctx)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("waiting until %s: %w", what, err)
		}
		if ok {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: not within the time that was given: what is done stays done, run the command again", what)
		}
	}
}
