package compare

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// mergeKeys are the keys by which the API server merges lists of built-in
// kinds (x-kubernetes-list-map-keys in its OpenAPI schema). A list that is not
// here is atomic: replaced as a whole.
var mergeKeys = map[string][]string{
	"containers":                {"name"},
	"initContainers":            {"name"},
	"ephemeralContainers":       {"name"},
	"env":                       {"name"},
	"volumes":                   {"name"},
	"imagePullSecrets":          {"name"},
	"secrets":                   {"name"},
	"resourceClaims":            {"name"},
	"volumeMounts":              {"mountPath"},
	"ports":                     {"containerPort", "protocol"},
	"volumeDevices":             {"devicePath"},
	"topologySpreadConstraints": {"topologyKey", "whenUnsatisfiable"},
	"hostAliases":               {"ip"},
	"ownerReferences":           {"uid"},
	"conditions":                {"type"},
}

// keysOf is the merge key of the list at a place, nil for an atomic one. What
// the API server recorded in owned is the truth; the table is for objects that
// it has not recorded yet.
func (d *differ) keysOf(at place, items []any, owned *fieldpath.Set) []string {
	for _, element := range elements(owned) {
		if element.Key != nil {
			var keys []string
			for _, field := range *element.Key {
				keys = append(keys, field.Name)
			}
			return keys
		}
	}
	if !d.builtin {
		return nil
	}
	keys := mergeKeys[at.name]
	if d.key.Kind == "Service" && at.text == "spec.ports" {
		keys = []string{"port", "protocol"}
	}
	if len(keys) == 0 || !hasField(items, keys[0]) {
		return nil
	}
	return keys
}

func hasField(items []any, name string) bool {
	if len(items) == 0 {
		return false
	}
	for _, item := range items {
		if object, ok := item.(map[string]any); !ok || object[name] == nil {
			return false
		}
	}
	return true
}

func (d *differ) list(at place, wanted, live []any, owned *fieldpath.Set) {
	both := slices.Concat(wanted, live)
	if keys := d.keysOf(at, both, owned); keys != nil {
		if d.associative(at, keys, wanted, live, owned) {
			return
		}
	}
	if at.name == "finalizers" {
		d.set(at, wanted, live)
		return
	}
	d.atomic(at, wanted, live)
}

// associative compares lists whose items have a merge key. It is false, and
// has reported nothing, where an item has no such key or two have one.
func (d *differ) associative(at place, keys []string, wanted, live []any, owned *fieldpath.Set) bool {
	wantedItems, wantedOrder, ok := index(keys, wanted)
	if !ok {
		return false
	}
	liveItems, liveOrder, ok := index(keys, live)
	if !ok {
		return false
	}
	ownedItems := map[string]fieldpath.PathElement{}
	for _, element := range elements(owned) {
		if element.Key == nil {
			continue
		}
		fields := map[string]any{}
		for _, field := range *element.Key {
			fields[field.Name] = clean(field.Value.Unstructured())
		}
		if name, ok := itemName(keys, fields); ok {
			ownedItems[name] = element
		}
	}
	for _, name := range wantedOrder {
		var inner *fieldpath.Set
		if element, ok := ownedItems[name]; ok {
			inner = below(owned, element)
		}
		liveItem, present := liveItems[name]
		d.value(at.item(name), wantedItems[name], liveItem, present, inner)
	}
	for _, name := range liveOrder {
		element, ours := ownedItems[name]
		if _, ok := wantedItems[name]; !ok && ours {
			d.removed(at.item(name), liveItems[name], owned, element)
		}
	}
	shared := func(order []string, other map[string]any) []string {
		return slices.DeleteFunc(slices.Clone(order), func(name string) bool { _, ok := other[name]; return !ok })
	}
	from, to := shared(liveOrder, wantedItems), shared(wantedOrder, liveItems)
	if !slices.Equal(from, to) && at.name != "ownerReferences" && at.name != "conditions" {
		d.change(at, "order: "+strings.Join(from, ", "), "order: "+strings.Join(to, ", "))
	}
	return true
}

// index names each item by its merge key.
func index(keys []string, items []any) (map[string]any, []string, bool) {
	byName := make(map[string]any, len(items))
	order := make([]string, 0, len(items))
	for _, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			return nil, nil, false
		}
		name, ok := itemName(keys, object)
		if !ok {
			return nil, nil, false
		}
		if _, twice := byName[name]; twice {
			return nil, nil, false
		}
		byName[name] = item
		order = append(order, name)
	}
	return byName, order, true
}

// ItemNames names the items of a list of a pod template as paths do: "mountPath=/data", and "name=crate" also where
// the API server merges by nothing. It is nil where an item has no such name, or two have the same one.
func ItemNames(list string, items []any) []string {
	keys, out := mergeKeys[list], make([]string, 0, len(items))
	for _, item := range items {
		object, _ := item.(map[string]any)
		name, ok := itemName(keys, object)
		if keys == nil {
			name = displayName(object)
			name, ok = "name="+name, name != ""
		}
		if !ok || slices.Contains(out, name) {
			return nil
		}
		out = append(out, name)
	}
	return out
}

// itemName is "name=crate"; TCP, the default protocol, is left out.
func itemName(keys []string, object map[string]any) (string, bool) {
	var parts []string
	for _, key := range keys {
		value, ok := object[key]
		if key == "protocol" && (!ok || value == "TCP") {
			continue
		}
		if !ok {
			return "", false
		}
		parts = append(parts, fmt.Sprintf("%s=%v", key, value))
	}
	return strings.Join(parts, ","), len(parts) > 0
}

// set compares lists in which order has no meaning; what live has more of is
// others'.
func (d *differ) set(at place, wanted, live []any) {
	for _, item := range wanted {
		if !slices.ContainsFunc(live, func(other any) bool { return deepEqual(item, other) }) {
			d.add(at.item(fmt.Sprint(item)), item)
		}
	}
}

// atomic compares lists that are replaced as a whole. Where they have the same
// items by name and number it looks inside, so that defaults in the items stay
// silent and a change is shown where it is; and where items were only added.
func (d *differ) atomic(at place, wanted, live []any) {
	if len(wanted) != len(live) {
		if !d.longer(at, wanted, live) {
			d.change(at, live, wanted)
		}
		return
	}
	for i := range wanted {
		wantedItem, ok1 := wanted[i].(map[string]any)
		liveItem, ok2 := live[i].(map[string]any)
		if ok1 != ok2 || ok1 && displayName(wantedItem) != displayName(liveItem) {
			d.change(at, live, wanted)
			return
		}
		if !ok1 && !d.equalItem(at, wanted[i], live[i]) {
			d.change(at, live, wanted)
			return
		}
	}
	for i := range wanted {
		wantedItem, ok := wanted[i].(map[string]any)
		if !ok {
			continue
		}
		name := fmt.Sprint(i)
		if display := displayName(wantedItem); display != "" {
			name = "name=" + display
		}
		d.object(at.item(name), wantedItem, live[i].(map[string]any), nil)
	}
}

// longer compares lists of named items of which the desired one has more; false, and nothing is
// reported, where it has not all of the others, in their order.
func (d *differ) longer(at place, wanted, live []any) bool {
	if repeats(live) || repeats(wanted) {
		return false
	}
	there := 0
	isThere := make([]bool, len(wanted))
	for i, item := range wanted {
		if there < len(live) && displayNameOf(item) == displayNameOf(live[there]) {
			isThere[i] = true
			there++
		}
	}
	if there < len(live) {
		return false
	}
	there = 0
	for i, item := range wanted {
		inner := at.item("name=" + displayNameOf(item))
		if !isThere[i] {
			d.add(inner, item)
			continue
		}
		d.object(inner, item.(map[string]any), live[there].(map[string]any), nil)
		there++
	}
	return true
}

// repeats reports whether an item has no name, or one that another one has.
func repeats(items []any) bool {
	names := map[string]bool{}
	for _, item := range items {
		names[displayNameOf(item)] = true
	}
	return names[""] || len(names) < len(items)
}

func displayNameOf(item any) string {
	object, _ := item.(map[string]any)
	return displayName(object)
}

func (d *differ) equalItem(at place, wanted, live any) bool {
	if _, ok := wanted.([]any); ok {
		return deepEqual(wanted, live)
	}
	return d.equalScalar(at, wanted, live)
}

// displayName names an item for people: its name, or that in its metadata
// (volumeClaimTemplates).
func displayName(item map[string]any) string {
	if name, ok := item["name"].(string); ok {
		return name
	}
	if metadata, ok := item["metadata"].(map[string]any); ok {
		name, _ := metadata["name"].(string)
		return name
	}
	return ""
}
