package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/internal/names"
)

// A port whose number somebody changed by hand is, to server-side apply,
// another port: lists of ports merge by number and protocol, and names must be
// unique. So applying ours would add a second one of that name, which the API
// server refuses as a duplicate, for ever. Such ports are written over first.

// portLists are where an object has lists of ports.
func portLists(u *unstructured.Unstructured) [][]string {
	switch u.GroupVersionKind().GroupKind().String() {
	case "Service":
		return [][]string{{"spec", "ports"}}
	case "StatefulSet.apps":
		var paths [][]string
		for _, list := range []string{"initContainers", "containers"} {
			for i := range items(u, "spec", "template", "spec", list) {
				paths = append(paths, []string{"spec", "template", "spec", list, strconv.Itoa(i), "ports"})
			}
		}
		return paths
	}
	return nil
}

// renumbered are, by JSON pointer, the live lists of ports with each port that
// carries a wanted one's name under another number put back to the wanted
// number. The rest of such a port (its nodePort, which the outside knows) and
// all other ports stay.
func renumbered(wanted, live *unstructured.Unstructured) map[string][]any {
	changed := map[string][]any{}
	for _, path := range portLists(live) {
		byName := map[string]map[string]any{}
		for _, port := range portsAt(wanted, counterpart(wanted, live, path)) {
			byName[portName(port)] = port
		}
		ports := portsAt(live, path)
		list, differs := make([]any, 0, len(ports)), false
		for _, port := range ports {
			if w := byName[portName(port)]; w != nil && portKey(w) != portKey(port) {
				port, differs = withNumber(port, w), true
			}
			list = append(list, port)
		}
		if differs {
			changed[pointer(path)] = list
		}
	}
	return changed
}

// withNumber is the port with the wanted one's number and protocol.
func withNumber(port, wanted map[string]any) map[string]any {
	made := make(map[string]any, len(port))
	for key, value := range port {
		made[key] = value
	}
	for _, key := range []string{"port", "containerPort", "protocol"} {
		if value, ok := wanted[key]; ok {
			made[key] = value
		}
	}
	return made
}

// counterpart is the path in wanted of the container that stands at path in
// live: containers merge by name.
func counterpart(wanted, live *unstructured.Unstructured, path []string) []string {
	if len(path) < 5 {
		return path
	}
	at, _ := strconv.Atoi(path[4])
	name := items(live, path[:4]...)[at]["name"]
	for i, container := range items(wanted, path[:4]...) {
		if container["name"] == name {
			return append(append([]string{}, path[:4]...), strconv.Itoa(i), "ports")
		}
	}
	return nil
}

func portsAt(u *unstructured.Unstructured, path []string) []map[string]any {
	if len(path) < 5 {
		return items(u, path...)
	}
	containers := items(u, path[:4]...)
	at, err := strconv.Atoi(path[4])
	if err != nil || at >= len(containers) {
		return nil
	}
	return items(&unstructured.Unstructured{Object: containers[at]}, "ports")
}

// items of a list of objects; anything else is none.
func items(u *unstructured.Unstructured, path ...string) []map[string]any {
	if len(path) == 0 {
		return nil
	}
	list, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
	all, _ := list.([]any)
	made := make([]map[string]any, 0, len(all))
	for _, item := range all {
		object, _ := item.(map[string]any)
		made = append(made, object)
	}
	return made
}

func portName(port map[string]any) string {
	name, _ := port["name"].(string)
	return name
}

// portKey is what the API server merges lists of ports by.
func portKey(port map[string]any) string {
	number, ok := port["port"]
	if !ok {
		number = port["containerPort"]
	}
	protocol, _ := port["protocol"].(string)
	if protocol == "" {
		protocol = "TCP"
	}
	return fmt.Sprintf("%v/%s", number, protocol)
}

func pointer(path []string) string {
	text := ""
	for _, part := range path {
		text += "/" + part
	}
	return text
}

// renumber writes such ports over, and returns the object as it is then, which
// takes an apply; no request where there is none. It reads the object first: what
// is written is a whole list, and has to be that of this very version.
func (a *Applier) renumber(ctx context.Context, p prepared, live *object) (*object, error) {
	if len(renumbered(p.sent, live.Unstructured)) == 0 {
		return live, nil
	}
	now, err := a.read(ctx, p.key, p.sent.GroupVersionKind().Version)
	if err != nil || now == nil {
		return live, err
	}
	operations := []map[string]any{{"op": "replace", "path": "/metadata/resourceVersion", "value": now.GetResourceVersion()}}
	for path, list := range renumbered(p.sent, now.Unstructured) {
		operations = append(operations, map[string]any{"op": "replace", "path": path, "value": list})
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("putting the numbers of its ports back: %w", err)
	}
	resource, err := a.resource(p.key, p.sent.GroupVersionKind().Version)
	if err != nil {
		return nil, err
	}
	var answer *unstructured.Unstructured
	err = a.write(About(ctx, p.key), transientNotConflict, func(ctx context.Context) error {
		answer, err = resource.Patch(ctx, p.key.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: names.FieldManager})
		return err
	})
	if errors.Is(err, ErrStopped) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("putting the numbers of its ports back: %w", p.discreet(err))
	}
	return newObject(answer), nil
}
