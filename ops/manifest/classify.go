package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// Classify compares the desired StatefulSets with the effective ones (Saved.UnpackLive) and
// returns the differences that matter, sets and fields in a stable order. Objects of other
// kinds are ignored. With no effective set there are no changes. It is pure.
func Classify(wanted, effective []*unstructured.Unstructured) []model.Change {
	before := make(map[string]*unstructured.Unstructured, len(effective))
	for _, o := range effective {
		if o.GetKind() == kindStatefulSet {
			before[o.GetName()] = o
		}
	}
	if len(before) == 0 {
		return nil
	}
	var changes []model.Change
	common := commonSettings(wanted)
	for _, w := range wanted {
		if w.GetKind() != kindStatefulSet {
			continue
		}
		name := w.GetName()
		old, ok := before[name]
		if !ok {
			changes = append(changes, model.Change{Class: model.ChangeNewSet, Set: name})
			continue
		}
		delete(before, name)
		c := comparison{set: name, common: common, before: old, after: w}
		c.compareAll()
		changes = append(changes, c.changes...)
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		changes = append(changes, model.Change{Class: model.ChangeRemovedSet, Set: name})
	}
	return changes
}

type comparison struct {
	set     string
	changes []model.Change
	// common are the settings that every node is to have alike.
	common map[string]bool
	// before and after are the StatefulSets that are compared.
	before, after *unstructured.Unstructured
}

// compareAll compares both; disks that one of them has in addition are compared by themselves.
func (c *comparison) compareAll() {
	further, fewer := furtherDisks(c.before, c.after), furtherDisks(c.after, c.before)
	switch {
	case len(further) > 0:
		// Kubernetes takes those only when the StatefulSet is recreated: what they bring is a class of its own.
		whole := c.after
		c.after = withoutDisks(whole, further)
		c.compare("", c.before.Object, c.after.Object)
		c.classed(c.after, whole, model.ChangeDisks)
	case len(fewer) > 0:
		c.compareFewer(fewer)
	default:
		c.compare("", c.before.Object, c.after.Object)
	}
}

// compareFewer compares with a StatefulSet that has fewer disks.
func (c *comparison) compareFewer(fewer []string) {
	whole := c.before
	c.before = withoutDisks(whole, fewer)
	c.compare("", c.before.Object, c.after.Object)
	c.classed(whole, c.before, model.ChangeFewerDisks)
}

// classed adds the differences of two StatefulSets in one class.
func (c *comparison) classed(before, after *unstructured.Unstructured, class model.ChangeClass) {
	disks := comparison{set: c.set, before: before, after: after}
	disks.compare("", before.Object, after.Object)
	for _, o := range disks.changes {
		o.Class = class
		c.changes = append(c.changes, o)
	}
}

func withoutDisks(set *unstructured.Unstructured, disks []string) *unstructured.Unstructured {
	set = set.DeepCopy()
	dropDisks(set, disks)
	return set
}

// compare walks both values. Paths name items of lists by their name, or as the API server tells them apart:
// spec.template.spec.containers[crate].image, spec.template.spec.containers[crate].volumeMounts[mountPath=/data].
func (c *comparison) compare(path string, old, wanted any) {
	if strings.HasSuffix(path, "metadata.annotations") {
		// A definition may have none, beside those in which we keep our books.
		old, wanted = orEmpty(old), orEmpty(wanted)
	}
	switch o := old.(type) {
	case map[string]any:
		if w, ok := wanted.(map[string]any); ok {
			c.maps(path, o, w)
			return
		}
	case []any:
		if w, ok := wanted.([]any); ok {
			c.lists(path, o, w)
			return
		}
	}
	// An absent value and an empty one are the same to Kubernetes.
	if empty(old) && empty(wanted) || same(old, wanted) {
		return
	}
	c.add(path, short(old), short(wanted))
}

func orEmpty(annotations any) any {
	if annotations == nil {
		return map[string]any{}
	}
	return annotations
}

func (c *comparison) maps(path string, old, wanted map[string]any) {
	keys := make(map[string]any, len(old))
	maps.Copy(keys, old)
	maps.Copy(keys, wanted)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if path == "" && (k == "status" || k == "apiVersion" || k == "kind") {
			continue
		}
		at := k
		if path != "" {
			at = path + "." + k
		}
		c.compare(at, old[k], wanted[k])
	}
}

func (c *comparison) lists(path string, old, wanted []any) {
	if strings.HasSuffix(path, ".containers["+CrateContainer+"].command") || strings.HasSuffix(path, ".containers["+CrateContainer+"].args") {
		c.arguments(path, old, wanted)
		return
	}
	list := path[strings.LastIndexByte(path, '.')+1:]
	before, after := compare.ItemNames(list, old), compare.ItemNames(list, wanted)
	if before == nil || after == nil {
		for i := range max(len(old), len(wanted)) {
			c.compare(path+"["+strconv.Itoa(i)+"]", item(old, i), item(wanted, i))
		}
		return
	}
	at := func(name string) string { return path + "[" + strings.TrimPrefix(name, "name=") + "]" }
	for i, name := range before {
		c.compare(at(name), old[i], item(wanted, slices.Index(after, name)))
	}
	for i, name := range after {
		if !slices.Contains(before, name) {
			c.compare(at(name), nil, wanted[i])
		}
	}
}

// arguments compares -C settings by name: their order says nothing, since a name stands once.
func (c *comparison) arguments(path string, old, wanted []any) {
	before, after := settings(old), settings(wanted)
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if before[k] == after[k] {
			continue
		}
		at := path + "[" + k + "]"
		if class, counts := classOf(at); counts && class == model.ChangeRestart && c.common[k] {
			c.changes = append(c.changes, model.Change{Class: model.ChangeSetting, Set: c.set, Path: at, Old: before[k], New: after[k]})
			continue
		}
		c.add(at, before[k], after[k])
	}
}

func settings(arguments []any) map[string]string {
	out := make(map[string]string, len(arguments))
	for i, a := range arguments {
		if name, value, ok := argument(a); ok {
			// A name that stands twice keeps both values apart.
			for ; out[name] != ""; name += "'" {
			}
			out[name] = value
			continue
		}
		out[strconv.Itoa(i)] = fmt.Sprint(a)
	}
	return out
}

func (c *comparison) add(path, old, wanted string) {
	class, counts := classOf(path)
	if size, changes, isSize := sizeChange(path, old, wanted); isSize {
		class, counts = size, changes
	} else if amounts, changes, isResource := resourceChange(path, old, wanted, func() bool { return resizes(c.before, c.after) }); isResource {
		class, counts = amounts, changes
	}
	if !counts {
		return
	}
	c.changes = append(c.changes, model.Change{Class: class, Set: c.set, Path: path, Old: old, New: wanted})
}

// CountsForGateway reports whether a path is of a setting that counts nodes for the gateway.
func CountsForGateway(path string) bool {
	_, setting, _ := strings.Cut(path, "[gateway.")
	return countsForGateway("gateway." + strings.TrimSuffix(setting, "]"))
}

// countsForGateway reports whether a setting counts nodes for the gateway.
func countsForGateway(setting string) bool {
	return strings.HasPrefix(setting, "gateway.expected_") || setting == "gateway.recover_after_data_nodes" || setting == "gateway.recover_after_nodes"
}

// classOf says what a change of a field would take; false for one that says nothing of what runs.
func classOf(path string) (model.ChangeClass, bool) {
	const template = "spec.template."
	switch {
	case strings.Contains(path, "[cluster.initial_master_nodes]"), strings.HasSuffix(path, "."+names.TemplateAnnotation),
		path == "metadata.annotations."+names.HoldAnnotation, path == "metadata.annotations."+names.SuspendedAnnotation, path == "metadata.annotations."+names.SettingsAnnotation, path == "metadata.annotations."+names.AdoptedAnnotation:
		return 0, false
	case strings.HasPrefix(path, template):
		rest := path[len(template):]
		switch {
		case strings.HasPrefix(rest, "metadata"):
			return model.ChangeInPlace, true
		case CountsForGateway(rest):
			return model.ChangeInPlace, true
		case strings.HasSuffix(rest, "containers["+CrateContainer+"].image"):
			return model.ChangeImage, true
		}
		return model.ChangeRestart, true
	case path == "spec.replicas":
		return model.ChangeReplicas, true
	case strings.HasPrefix(path, "spec.volumeClaimTemplates[") && strings.HasSuffix(path, "].spec."+attributesField):
		return model.ChangeVolumesModify, true
	case strings.HasPrefix(path, "spec.volumeClaimTemplates"), strings.HasPrefix(path, "spec.persistentVolumeClaimRetentionPolicy"):
		// A retention policy deletes claims: it is never taken in passing.
		return model.ChangeVolumes, true
	case strings.HasPrefix(path, "spec.serviceName"), strings.HasPrefix(path, "spec.selector"),
		strings.HasPrefix(path, "spec.podManagementPolicy"), path == "metadata.name", path == "metadata.namespace":
		return model.ChangeImmutable, true
	case strings.HasPrefix(path, "spec.updateStrategy"):
		// Anything but OnDelete restarts pods behind our back.
		return model.ChangeRestart, true
	}
	return model.ChangeInPlace, true
}

func item(list []any, i int) any {
	if i >= 0 && i < len(list) {
		return list[i]
	}
	return nil
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	}
	return false
}

// same compares scalars; numbers by value, whether JSON or YAML made them.
func same(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any:
		return false
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}

// short prints a value for a person; whole structures only by their size.
func short(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case map[string]any:
		return fmt.Sprintf("{%d fields}", len(v))
	case []any:
		return fmt.Sprintf("[%d items]", len(v))
	}
	s := fmt.Sprint(v)
	if len(s) > 120 {
		s = s[:117] + "…"
	}
	return s
}
