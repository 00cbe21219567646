package derive

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

const (
	kindStatefulSet = "StatefulSet"
	kindService     = "Service"
	kindClaim       = "PersistentVolumeClaim"
	kindSecret      = "Secret"
	kindBudget      = "PodDisruptionBudget"
)

// Effect says what a difference means for a cluster that runs.
type Effect string

const (
	// EffectNothing: no process and no controller reads it.
	EffectNothing Effect = "nothing"
	// EffectInPlace: it changes while everything runs. No pod restarts for it.
	EffectInPlace Effect = "in-place"
	// EffectRestart: each pod gets it at its next restart, and keeps what it has until then.
	EffectRestart Effect = "at-restart"
	// EffectImmutable: Kubernetes does not let it change for the life of the object.
	EffectImmutable Effect = "immutable"
)

// Words are the effect for people.
func (e Effect) Words() string {
	switch e {
	case EffectInPlace:
		return "in place"
	case EffectRestart:
		return "at the next restart of the pods"
	case EffectImmutable:
		return "cannot be changed"
	}
	return "nothing"
}

// Difference is one field in which what is live and what is rendered are not the same.
type Difference struct {
	Object compare.Key `json:"object"`
	// Path is a JSON path; items of lists are named: spec.template.spec.containers[crate].image. ""
	// is the whole object, which is on one side only.
	Path string `json:"path,omitempty"`
	// Live and Rendered are the values, fit to be shown: what may be a secret is masked. nil where
	// that side has none.
	Live     any    `json:"live,omitempty"`
	Rendered any    `json:"rendered,omitempty"`
	Effect   Effect `json:"effect"`
	// Reason is a sentence about this difference where there is something to say; else "".
	Reason string `json:"reason,omitempty"`
}

// Differences compares the live objects of a cluster with those that its definition renders, in both
// directions, and says of each difference what it means. They are sorted by object and path.
//
// What the API server writes by itself is no difference: status, what it owns of metadata, allocated
// addresses, and defaults. Neither are empty values against absent ones, nor quantities that are the
// same number. What a field of a StatefulSet takes is what the daemon would make of it
// (manifest.Classify), so cluster.initial_master_nodes is none either. The pod template of a StatefulSet of
// crate-operator's, and of an adopted one, waits for a restart as a whole. An object on one side only is one
// difference without a path; volume claims and Secrets are rendered by no definition, and of them
// only what the CrateDB object's owner references would do is said. No value of a Secret is ever in
// the result. The arguments are not changed.
func Differences(live, rendered []*unstructured.Unstructured) []Difference {
	desired := map[compare.Key]*unstructured.Unstructured{}
	for _, o := range rendered {
		desired[compare.KeyOf(o)] = o
	}
	var found []Difference
	seen, kept := map[compare.Key]bool{}, map[compare.Key]bool{}
	sets := settingsOf(rendered)
	for _, o := range live {
		key := compare.KeyOf(o)
		if seen[key] {
			continue
		}
		seen[key] = true
		switch d := desired[key]; {
		case key.Kind == kindClaim && key.Group == "", key.IsSecret():
			found = append(found, ownersOf(o)...)
		case d == nil:
			found = append(found, Difference{Object: key, Live: present, Effect: EffectNothing})
		case key.Kind == kindStatefulSet:
			kept[key] = keepsTemplate(o)
			found = append(found, ofStatefulSet(o, d, sets)...)
		default:
			found = append(found, ofObject(o, d)...)
		}
	}
	for _, o := range rendered {
		if key := compare.KeyOf(o); !seen[key] {
			seen[key] = true
			found = append(found, Difference{Object: key, Rendered: present, Effect: EffectInPlace})
		}
	}
	found = masked(found)
	for i := range found {
		explain(&found[i])
		if kept[found[i].Object] {
			hold(&found[i])
		}
	}
	slices.SortStableFunc(found, func(a, b Difference) int {
		return cmp.Or(a.Object.Compare(b.Object), strings.Compare(a.Path, b.Path))
	})
	return found
}

// present stands for a whole object.
const present = "the object"

// settingsOf are the StatefulSets: which settings every node has alike is a matter of all of them.
func settingsOf(rendered []*unstructured.Unstructured) []*unstructured.Unstructured {
	var sets []*unstructured.Unstructured
	for _, o := range rendered {
		if o.GetKind() == kindStatefulSet {
			sets = append(sets, bare(o))
		}
	}
	return sets
}

// ofStatefulSet are the differences that ops/manifest sees, with the values as they are, and the
// order of containers, which it does not look at.
func ofStatefulSet(live, rendered *unstructured.Unstructured, all []*unstructured.Unstructured) []Difference {
	key, before, after := compare.KeyOf(live), bare(live), bare(rendered)
	var found []Difference
	for _, change := range manifest.Classify(all, []*unstructured.Unstructured{before}) {
		if change.Set != live.GetName() || change.Path == "" {
			continue
		}
		path, from, to := locate(wholeOf(change.Path), compare.Normalize(live).Object, compare.Normalize(rendered).Object)
		if slices.ContainsFunc(found, func(d Difference) bool { return d.Path == path }) {
			continue
		}
		if from == nil && change.Old != "" {
			from = change.Old
		}
		if to == nil && change.New != "" {
			to = change.New
		}
		if reflect.DeepEqual(pruned(from), pruned(to)) {
			continue
		}
		found = append(found, Difference{Object: key, Path: path, Live: from, Rendered: to, Effect: effectOf(change.Class)})
	}
	for field, effect := range map[string]Effect{"containers": EffectNothing, "initContainers": EffectRestart} {
		from, to := orders(mapAt(before.Object, "spec", "template", "spec"), mapAt(after.Object, "spec", "template", "spec"), field)
		if !slices.Equal(from, to) {
			found = append(found, Difference{Object: key, Path: "spec.template.spec." + field, Live: "order: " + strings.Join(from, ", "), Rendered: "order: " + strings.Join(to, ", "), Effect: effect})
		}
	}
	return found
}

func effectOf(class model.ChangeClass) Effect {
	switch class {
	case model.ChangeRestart, model.ChangeImage:
		return EffectRestart
	case model.ChangeVolumes, model.ChangeImmutable, model.ChangeVolumesShrink, model.ChangeFewerDisks:
		return EffectImmutable
	}
	return EffectInPlace
}

// orders are the names that both lists have, in the order of each.
func orders(before, after map[string]any, field string) (from, to []string) {
	names := func(of, other map[string]any) (common []string) {
		for _, c := range mapsAt(of, field) {
			if slices.ContainsFunc(mapsAt(other, field), func(o map[string]any) bool { return o["name"] == c["name"] }) {
				common = append(common, fmt.Sprint(c["name"]))
			}
		}
		return common
	}
	return names(before, after), names(after, before)
}

// ofObject compares any other object. apply/compare is silent about what only the live object has:
// that is the other direction.
func ofObject(live, rendered *unstructured.Unstructured) []Difference {
	before, after := bare(live), bare(rendered)
	changes := compare.Diff(after, before, nil)
	for _, c := range compare.Diff(before, after, nil) {
		if c.Op == compare.OpAdd {
			changes = append(changes, compare.FieldChange{Path: c.Path, From: c.To, Op: compare.OpRemove})
		}
	}
	changes = eachKey(changes)
	frozen, _ := compare.Immutable(live, changes)
	var found []Difference
	for _, c := range changes {
		d := Difference{Object: compare.KeyOf(live), Path: strings.ReplaceAll(c.Path, "[name=", "["), Live: c.From, Rendered: c.To, Effect: EffectInPlace}
		if slices.ContainsFunc(frozen, func(f compare.FieldChange) bool { return f.Path == c.Path }) {
			d.Effect = EffectImmutable
		}
		found = append(found, d)
	}
	return found
}

// eachKey makes one change for each label and annotation where one side has none at all.
func eachKey(changes []compare.FieldChange) (out []compare.FieldChange) {
	for _, c := range changes {
		if c.Path != "metadata.labels" && c.Path != "metadata.annotations" {
			out = append(out, c)
			continue
		}
		from, _ := c.From.(map[string]any)
		to, _ := c.To.(map[string]any)
		for key, value := range from {
			out = append(out, compare.FieldChange{Path: compare.Field(c.Path, key), From: value, Op: compare.OpRemove})
		}
		for key, value := range to {
			out = append(out, compare.FieldChange{Path: compare.Field(c.Path, key), To: value, Op: compare.OpAdd})
		}
	}
	return out
}

// ownersOf are the owner references of an object that no definition renders.
func ownersOf(o *unstructured.Unstructured) []Difference {
	owners, _, _ := unstructured.NestedSlice(o.Object, "metadata", "ownerReferences")
	if len(owners) == 0 {
		return nil
	}
	return []Difference{{Object: compare.KeyOf(o), Path: ownersPath, Live: owners, Effect: EffectInPlace}}
}

// locate finds the value that a path of ops/manifest names in both objects, and writes the path as
// apply/compare does: keys with dots are quoted. nil where the path names none, as for one setting of
// a command.
func locate(path string, live, rendered map[string]any) (at string, from, to any) {
	from, to = any(live), any(rendered)
	field := ""
	for rest := path; rest != ""; {
		var name string
		if inner, ok := strings.CutPrefix(rest, "["); ok {
			end := strings.IndexByte(inner, ']')
			if end < 0 {
				return path, nil, nil
			}
			name, rest = inner[:end], inner[end+1:]
			from, to = itemAt(field, from, name), itemAt(field, to, name)
			at += "[" + name + "]"
			continue
		}
		name, rest = nextKey(strings.TrimPrefix(rest, "."), from, to)
		from, to = valueOf(from, name), valueOf(to, name)
		field, at = name, compare.Field(at, name)
	}
	return at, from, to
}

// nextKey is the longest key of either map that a path begins with, and the rest of the path.
func nextKey(path string, maps ...any) (key, rest string) {
	for _, m := range maps {
		of, _ := m.(map[string]any)
		for k := range of {
			after, ok := strings.CutPrefix(path, k)
			if ok && (after == "" || after[0] == '.' || after[0] == '[') && len(k) > len(key) {
				key, rest = k, after
			}
		}
	}
	if key == "" {
		return path, ""
	}
	return key, rest
}

func valueOf(v any, key string) any {
	m, _ := v.(map[string]any)
	return m[key]
}

// itemAt is the item of a list that a path of ops/manifest names, or numbers; nil where there is none.
func itemAt(field string, v any, name string) any {
	list, _ := v.([]any)
	for i, is := range compare.ItemNames(field, list) {
		if strings.TrimPrefix(is, "name=") == name {
			return list[i]
		}
	}
	if at, err := strconv.Atoi(name); err == nil && at < len(list) {
		return list[at]
	}
	return nil
}

func itemOf(v any, name string) any {
	list, _ := v.([]any)
	for _, item := range list {
		m, _ := item.(map[string]any)
		if m["name"] == name || mapAt(m, "metadata")["name"] == name {
			return item
		}
	}
	return nil
}

// wholeOf is the path of the field around, for fields that only mean something as a whole.
func wholeOf(path string) string {
	for _, whole := range []string{".readinessProbe", ".livenessProbe", ".startupProbe", ".lifecycle"} {
		if at := strings.Index(path, whole+"."); at >= 0 {
			return path[:at+len(whole)]
		}
	}
	return path
}

// masked hides what may be a secret.
func masked(all []Difference) []Difference {
	for i, d := range all {
		if d.Path == "" {
			continue
		}
		change := compare.MaskChanges(d.Object, []compare.FieldChange{{Path: d.Path, From: d.Live, To: d.Rendered, Op: compare.OpChange}})[0]
		if !d.Object.HidesValues() {
			all[i].Path, all[i].Live, all[i].Rendered = change.Path, change.From, change.To
		}
		if strings.Contains(d.Path, names.OperatorPrefix) && d.Live != nil {
			// kopf keeps the whole object there, with all that is in it.
			all[i].Live = compare.Masked
		}
	}
	return all
}
