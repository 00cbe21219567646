package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// setTemplateHash writes on the pod template a hash of what a process reads when it starts. Each
// pod carries the hash of the template that it was made from, so that a pod is known to be
// outdated by itself: what changes in place makes another ControllerRevision and not another hash.
// A set that differs from what was effective before only in what restarts nothing keeps the hash
// that it had, whatever went into that one; with Resized also where running pods get what differs.
func setTemplateHash(set *unstructured.Unstructured, all []*unstructured.Unstructured, saved model.Saved, e model.EffectiveSet) {
	mark(set, keptHash(templateHash(set, nil), set, all, saved, e))
}

func mark(set *unstructured.Unstructured, hash string) {
	put(set.Object, hash, "spec", "template", "metadata", "annotations", names.TemplateAnnotation)
}

// NoteTemplates notes a hash of the template that each desired set has, where one of them was adopted:
// nothing else asks for it, and it takes longer than all that NewDesired does. The settings that CrateDB
// takes while it runs are left out of it.
func NoteTemplates(d *model.Desired, objects []*unstructured.Unstructured, observed []model.ObservedSet, r *model.Record) {
	if len(r.Adopted) == 0 && !model.Any(observed, func(s *model.ObservedSet) bool { return s.Adopted != "" }) {
		return
	}
	live := commonSettings(objects)
	for i := range d.Sets {
		if o := wantedOf(objects, d.Sets[i].Name); o != nil {
			d.Sets[i].Template = templateHash(o, live)
		}
	}
}

// templateHash leaves out what classOf calls in place, the order of settings, and those of without.
func templateHash(set *unstructured.Unstructured, without map[string]bool) string {
	whole, _, _ := unstructured.NestedMap(set.Object, "spec", "template", "spec")
	reduced := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"spec": whole}}}}
	EachCommand(reduced, func(arguments []any) []any {
		kept := make([]any, 0, len(arguments))
		var settings []string
		for _, a := range arguments {
			name, _, ok := argument(a)
			if !ok {
				kept = append(kept, a)
				continue
			}
			if class, counts := classOf("spec.template.spec.containers[" + CrateContainer + "].command[" + name + "]"); counts && class != model.ChangeInPlace && !without[name] {
				settings = append(settings, fmt.Sprint(a))
			}
		}
		slices.Sort(settings)
		for _, s := range settings {
			kept = append(kept, s)
		}
		return kept
	})
	text, _ := json.Marshal(reduced.Object) // it came from JSON or YAML
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// TemplateOf is the hash on a StatefulSet's pod template; "" without one, and AdoptedTemplate for one
// that was adopted without.
func TemplateOf(set *unstructured.Unstructured) string {
	hash := markOf(set)
	if _, adopted := set.GetAnnotations()[names.AdoptedAnnotation]; hash == "" && adopted {
		return model.AdoptedTemplate
	}
	return hash
}

func markOf(set *unstructured.Unstructured) string {
	hash, _, _ := unstructured.NestedString(set.Object, "spec", "template", "metadata", "annotations", names.TemplateAnnotation)
	return hash
}

// keptHash is the hash of the last effective object, or of the one before it,
// where no process would read anything else from this template.
func keptHash(hash string, set *unstructured.Unstructured, all []*unstructured.Unstructured, saved model.Saved, e model.EffectiveSet) string {
	for _, suffix := range []string{"", rememberedSuffix, liveSuffix} {
		before, err := unpack(saved, set.GetName()+suffix)
		if err != nil {
			continue // it is not there, or is rebuilt from what is live
		}
		had := markOf(before)
		if had == hash {
			return hash
		}
		c := comparison{set: set.GetName(), common: commonSettings(all), before: before, after: set}
		// Pods come to do without a disk one by one, and then their StatefulSet does: no process restarts.
		if fewer := furtherDisks(set, before); !e.Lacked && len(fewer) > 0 && asDesired(set, all) {
			c.compareFewer(fewer)
		} else {
			c.compare("", before.Object, set.Object)
		}
		if had != "" && !model.Any(c.changes, func(o *model.Change) bool { return o.Restarts() && !(e.Resized && o.Class == model.ChangeResize) }) {
			return had
		}
	}
	return hash
}

func asDesired(set *unstructured.Unstructured, all []*unstructured.Unstructured) bool {
	desired := wantedOf(all, set.GetName())
	return desired != nil && slices.Equal(diskNames(set), diskNames(desired))
}

// wantedOf is the desired StatefulSet of this name; nil for none.
func wantedOf(all []*unstructured.Unstructured, name string) *unstructured.Unstructured {
	i := slices.IndexFunc(all, func(o *unstructured.Unstructured) bool { return o.GetKind() == kindStatefulSet && o.GetName() == name })
	if i < 0 {
		return nil
	}
	return all[i]
}

// annotate puts an annotation of ours on the StatefulSet itself; "" takes it off.
func annotate(set *unstructured.Unstructured, name, value string) {
	if value == "" {
		unstructured.RemoveNestedField(set.Object, "metadata", "annotations", name)
		return
	}
	put(set.Object, value, "metadata", "annotations", name)
}

// withoutHooks says to the hooks in crate-operator's pods that they are to do nothing, as long as
// there are such pods: at a stop they drain, and at a start they reset the allocation, which is the
// daemon's to lock. The labels are on the StatefulSet alone, where the hooks look.
func withoutHooks(set *unstructured.Unstructured) {
	labels := set.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for _, label := range names.HookLabels {
		labels[label] = "true"
	}
	set.SetLabels(labels)
}
