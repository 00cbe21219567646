package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"stevedore.dev/stevedore/ops"
)

// unstructuredObject is a shorter name for the type that every object here has.
type unstructuredObject = unstructured.Unstructured

func savedHash(saved ops.Saved) string {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(saved)) {
		hash.Write([]byte(name + "\x00" + saved[name] + "\x00"))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// savedFromLive rebuilds what was last effective, where the record lost it,
// from the fields that we own in the live StatefulSets.
func (w *worker) savedFromLive() ops.Saved {
	sets := w.ownedSets()
	if len(sets) == 0 {
		return nil
	}
	saved, err := ops.Pack(sets)
	if err != nil {
		w.log.Warn("what is live cannot be recorded as effective", "error", err)
		return nil
	}
	return saved
}

var convert = applyconfigurations.NewTypeConverter(scheme.Scheme)

// ownedSets are the live StatefulSets of the cluster, each reduced to the
// fields that our last apply owns.
func (w *worker) ownedSets() []*unstructuredObject {
	var sets []*unstructuredObject
	for _, object := range w.live.Objects(w.key.Namespace, w.key.Name) {
		if object.GetKind() != "StatefulSet" {
			continue
		}
		owned := w.live.Owned(keyOfSet(object.GetNamespace(), object.GetName()))
		if owned == nil {
			continue
		}
		whole, err := convert.ObjectToTyped(object)
		if err != nil {
			w.log.Warn("a live StatefulSet cannot be read by its schema", "statefulset", object.GetName(), "error", err)
			continue
		}
		fields, ok := whole.ExtractItems(owned.Leaves(), typed.WithAppendKeyFields()).AsValue().Unstructured().(map[string]any)
		if !ok {
			continue
		}
		reduced := &unstructuredObject{Object: fields}
		reduced.SetAPIVersion(object.GetAPIVersion())
		reduced.SetKind(object.GetKind())
		reduced.SetNamespace(object.GetNamespace())
		reduced.SetName(object.GetName())
		sets = append(sets, reduced)
	}
	return sets
}
