package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// unstructuredObject is a shorter name for the type that every object here has.
type unstructuredObject = unstructured.Unstructured

func savedHash(saved model.Saved) string {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(saved)) {
		hash.Write([]byte(name + "\x00" + saved[name] + "\x00"))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// templatesOf are the live templates' hashes, by set.
func templatesOf(sets []model.ObservedSet) string {
	var b strings.Builder
	for i := range sets {
		b.WriteString(sets[i].Name + "=" + sets[i].Template + "\n")
	}
	return b.String()
}

// completeSaved is what was last effective of each set; what of it the record
// lost, or cannot be read, is rebuilt from what is live.
func (w *worker) completeSaved(rec model.Record) model.Saved {
	if len(rec.Saved) == 0 {
		return w.savedFromLive()
	}
	good := model.Saved{}
	for name, packed := range rec.Saved {
		one := model.Saved{name: packed}
		// What classify has read is not read again each pass.
		if w.changesFor.saved != savedHash(rec.Saved) {
			if _, err := manifest.Unpack(one); err != nil {
				w.log.Warn("what was last effective cannot be read, it is taken from what is live", "statefulset", name, "error", err)
				continue
			}
		}
		good[name] = packed
	}
	lost := slices.ContainsFunc(rec.Sets, func(set model.RecordedSet) bool { return good[set.Name] == "" })
	if !lost && len(good) == len(rec.Saved) {
		return rec.Saved
	}
	live := w.savedFromLive()
	maps.Copy(live, good)
	return live
}

// savedOrLive is the same, and what is live of a StatefulSet of which what is saved was never live. It is looked for only when
// another template is live, or saved, than in the pass before.
func (w *worker) savedOrLive(revision string, rec model.Record, observed *model.Observed) model.Saved {
	if w.changesFor == keyOf(revision, rec.Saved, observed.Sets) {
		return rec.Saved
	}
	rec.Saved = manifest.WithoutNeverLive(rec.Saved, observed)
	return w.completeSaved(rec)
}

// savedFromLive rebuilds what was last effective, where the record lost it,
// from the fields that we own in the live StatefulSets.
func (w *worker) savedFromLive() model.Saved {
	return manifest.Pack(w.ownedSets())
}

// ownedSets are the live StatefulSets of the cluster, each reduced to the fields that count.
func (w *worker) ownedSets() []*unstructuredObject {
	var sets []*unstructuredObject
	for _, object := range w.live.Objects(w.key.Namespace, w.key.Name) {
		if object.GetKind() != "StatefulSet" {
			continue
		}
		fields := w.fieldsThatCount(object)
		if fields == nil {
			continue
		}
		reduced, err := reduce(object, fields)
		if err != nil {
			w.log.Warn("a live StatefulSet cannot be read by its schema", "statefulset", object.GetName(), "error", err)
			continue
		}
		dropDefaults(reduced.Object, w.desiredSet(object.GetName()))
		sets = append(sets, reduced)
	}
	return sets
}

// fieldsThatCount are those of a live StatefulSet that our last apply owns. Where it owns none (a restored backup, a
// set that was labelled to be taken over) those count that are desired now: a set about which nothing is known
// would be changed unseen. Where its group is not desired all of them count: it stays as it is until its nodes are drained.
func (w *worker) fieldsThatCount(object *unstructuredObject) *fieldpath.Set {
	if owned := w.live.Owned(keyOfSet(object.GetNamespace(), object.GetName())); owned != nil {
		return owned
	}
	if desired := w.desiredFields(object.GetName()); desired != nil {
		return desired
	}
	return allFields(object)
}

// allFields are those that whoever makes an object writes; nil where it cannot be read by its schema.
func allFields(object *unstructuredObject) *fieldpath.Set {
	written := &unstructuredObject{Object: map[string]any{"spec": object.Object["spec"]}}
	written.SetAPIVersion(object.GetAPIVersion())
	written.SetKind(object.GetKind())
	written.SetLabels(object.GetLabels())
	written.SetAnnotations(object.GetAnnotations())
	return fieldsOf(written)
}

// desiredFields of a StatefulSet, nil where it is not desired.
func (w *worker) desiredFields(name string) *fieldpath.Set {
	if w.rendered == nil {
		return nil
	}
	for _, set := range statefulSets(w.rendered.Objects) {
		if set.GetName() != name {
			continue
		}
		return fieldsOf(set)
	}
	return nil
}

// fieldsOf an object, nil where it cannot be read by its schema.
func fieldsOf(object *unstructuredObject) *fieldpath.Set {
	whole, err := apply.Schema().ObjectToTyped(object)
	if err != nil {
		return nil
	}
	fields, err := whole.ToFieldSet()
	if err != nil {
		return nil
	}
	return fields
}

// reduce keeps some fields of a live object.
func reduce(object *unstructuredObject, owned *fieldpath.Set) (*unstructuredObject, error) {
	whole, err := apply.Schema().ObjectToTyped(object)
	if err != nil {
		return nil, err
	}
	fields, ok := whole.ExtractItems(owned.Leaves(), typed.WithAppendKeyFields()).AsValue().Unstructured().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("what is ours of %s is no object", object.GetName())
	}
	reduced := &unstructuredObject{Object: fields}
	reduced.SetAPIVersion(object.GetAPIVersion())
	reduced.SetKind(object.GetKind())
	reduced.SetNamespace(object.GetNamespace())
	reduced.SetName(object.GetName())
	return reduced, nil
}

// desiredSet is the rendered StatefulSet of that name; nil where there is none.
func (w *worker) desiredSet(name string) map[string]any {
	if w.rendered == nil {
		return nil
	}
	for _, set := range statefulSets(w.rendered.Objects) {
		if set.GetName() == name {
			return set.Object
		}
	}
	return nil
}
