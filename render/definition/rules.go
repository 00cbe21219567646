package definition

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/internal/located"
)

// maxStatefulSetName leaves room for the revision that Kubernetes appends in a
// pod's label controller-revision-hash (63 characters).
const maxStatefulSetName = 52

type reporter func(n *yaml.Node, path []any, message string)

// values are the rules on single annotations, which hold in a patch too.
func values(n *yaml.Node, add reporter) {
	annotations := located.Get(n, "metadata", "annotations")
	for _, p := range located.Pairs(annotations) {
		value, ok := located.String(p.Value)
		if !ok {
			continue
		}
		path := []any{"metadata", "annotations", p.Key.Value}
		switch p.Key.Value {
		case names.PausedAnnotation, names.ReleasedAnnotation:
			if value != "true" && value != "false" {
				add(p.Value, path, `is neither "true" nor "false"`)
			}
		case names.RestartedAtAnnotation, names.AbortAnnotation:
			if strings.TrimSpace(value) == "" {
				add(p.Value, path, "is empty: write the time, such as 2026-01-31T12:00:00Z")
			}
		}
	}
	for _, p := range located.Pairs(located.Get(n, "metadata", "labels")) {
		if !strings.HasPrefix(p.Key.Value, names.Prefix) {
			continue
		}
		path := []any{"metadata", "labels", p.Key.Value}
		if p.Key.Value != names.ClusterLabel {
			add(p.Key, path, "is set by stevedore: take another key")
			continue
		}
		name, hasName := located.String(located.Get(n, "metadata", "name"))
		if value, ok := located.String(p.Value); ok && hasName && value != name {
			add(p.Value, path, "is not the cluster's own name: write "+name+", or leave it out")
		}
	}
}

// rules are those across fields. They look at the nodes, not at the typed
// definition, so that they hold beside other errors and none follows from
// another.
func rules(n *yaml.Node, add reporter) {
	consent := map[string]bool{}
	for _, c := range located.Items(located.Get(n, "spec", "operations", "consent")) {
		consent[c.Value] = true
	}
	name, hasName := located.String(located.Get(n, "metadata", "name"))
	hasName = hasName && checkName(name) == ""
	master := located.Get(n, "spec", "nodes", "master")
	data := located.Items(located.Get(n, "spec", "nodes", "data"))

	if hasName {
		lengths(n, name, master, data, add)
	}
	if len(data) > maxGroups {
		add(located.Get(n, "spec", "nodes", "data"), []any{"spec", "nodes", "data"},
			fmt.Sprintf("has %d groups, more than %d are not taken: make them fewer, with more replicas each", len(data), maxGroups))
	}
	suspended := allZero(data)
	masters(master, suspended && consent[string(ConsentSuspend)], add)
	if suspended && !consent[string(ConsentSuspend)] {
		add(located.Get(n, "spec", "nodes", "data"), []any{"spec", "nodes", "data"},
			"all groups have 0 replicas, which takes the cluster down: to suspend it, add suspend to spec.operations.consent")
	}
	if located.Get(master, "resources") != nil {
		resources(located.Get(master, "resources"), []any{"spec", "nodes", "master", "resources"}, add)
	}
	for i, group := range data {
		if r := located.Get(group, "resources"); r != nil {
			resources(r, []any{"spec", "nodes", "data", i, "resources"}, add)
		}
	}
	ports(located.Get(n, "spec", "ports"), add)
	adoptRules(n, name, data, add)
	if !consent[string(ConsentWithoutBackups)] {
		backupRules(n, add)
	}
	for i, p := range located.Items(located.Get(n, "spec", "patches")) {
		if (located.Get(p, "patch") == nil) == (located.Get(p, "path") == nil) {
			add(p, []any{"spec", "patches", i}, "write either patch or path")
		}
	}
}

// lengths are those that Kubernetes would refuse only when the object is
// created, long after the commit. Of a name that is too long by itself the object is
// named that needs the shortest one: else each correction would bring the next problem.
func lengths(n *yaml.Node, name string, master *yaml.Node, data []*yaml.Node, add reporter) {
	service, set := names.DiscoveryService(name), names.StatefulSet(name, "", true)
	over, words := len(service)-validation.DNS1035LabelMaxLength, fmt.Sprintf("the service %s has %d characters, Kubernetes takes %d", service, len(service), validation.DNS1035LabelMaxLength)
	if by := len(set) - maxStatefulSetName; master != nil && by > over {
		over, words = by, tooLong(set)
	}
	alone := over > 0
	for i, group := range data {
		g := located.Get(group, "name")
		groupName, ok := located.String(g)
		if !ok || checkGroupName(groupName) != "" {
			continue
		}
		set := names.StatefulSet(name, groupName, false)
		switch by := len(set) - maxStatefulSetName; {
		case by <= 0:
		case !alone:
			add(g, []any{"spec", "nodes", "data", i, "name"}, fmt.Sprintf("is too long: %s: shorten the name of the group, or of the cluster, by %d", tooLong(set), by))
		case by > over:
			over, words = by, tooLong(set)
		}
	}
	if alone {
		add(located.Get(n, "metadata", "name"), []any{"metadata", "name"}, fmt.Sprintf("is too long: %s: shorten it by %d", words, over))
	}
}

func tooLong(set string) string {
	return fmt.Sprintf("the StatefulSet %s has %d characters, its pods' labels leave room for %d", set, len(set), maxStatefulSetName)
}

func allZero(data []*yaml.Node) bool {
	for _, group := range data {
		if replicas, ok := located.Float(located.Get(group, "replicas")); !ok || replicas != 0 {
			return false
		}
	}
	return len(data) > 0
}

func masters(master *yaml.Node, suspended bool, add reporter) {
	node := located.Get(master, "replicas")
	replicas, ok := located.Float(node)
	if !ok || replicas < 0 || replicas != math.Trunc(replicas) {
		return
	}
	path := []any{"spec", "nodes", "master", "replicas"}
	switch {
	case replicas == 0 && suspended:
	case replicas < 3:
		add(node, path, "is out of range: write an odd number, at least 3, or leave spec.nodes.master out: fewer masters cannot lose one")
	case math.Mod(replicas, 2) == 0:
		add(node, path, fmt.Sprintf("is even, which bears no more losses than one fewer: write %g or %g", replicas-1, replicas+1))
	}
}

// resources follow crate-operator: limits win over the old spelling, requests
// default to limits.
func resources(n *yaml.Node, path []any, add reporter) {
	under := func(keys ...string) []any {
		next := append([]any{}, path...)
		for _, k := range keys {
			next = append(next, k)
		}
		return next
	}
	limitCPU, oldCPU := located.Get(n, "limits", "cpu"), located.Get(n, "cpus")
	if limitCPU == nil && oldCPU == nil {
		add(n, under("limits", "cpu"), "is missing: write a number of cores")
	}
	limitMemory, oldMemory := located.Get(n, "limits", "memory"), located.Get(n, "memory")
	if limitMemory == nil && oldMemory == nil {
		add(n, under("limits", "memory"), "is missing: write a size such as 4Gi")
	}
	cpu, okCPU := located.Float(first(limitCPU, oldCPU))
	memory, okMemory := bytesOf(first(limitMemory, oldMemory))
	if limitCPU != nil && oldCPU != nil {
		if old, ok := located.Float(oldCPU); ok && okCPU && old != cpu {
			add(oldCPU, under("cpus"), "is the old spelling of limits.cpu and differs from it: leave it out")
		}
	}
	if limitMemory != nil && oldMemory != nil {
		if old, ok := bytesOf(oldMemory); ok && okMemory && old != memory {
			add(oldMemory, under("memory"), "is the old spelling of limits.memory and differs from it: leave it out")
		}
	}
	if request := located.Get(n, "requests", "cpu"); request != nil {
		if v, ok := located.Float(request); ok && okCPU && v > cpu {
			add(request, under("requests", "cpu"), "is more than the limit: Kubernetes refuses the pod")
		}
	}
	if request := located.Get(n, "requests", "memory"); request != nil {
		if v, ok := bytesOf(request); ok && okMemory && v > memory {
			add(request, under("requests", "memory"), "is more than the limit: Kubernetes refuses the pod")
		}
	}
}

func first(a, b *yaml.Node) *yaml.Node {
	if a != nil {
		return a
	}
	return b
}

func bytesOf(n *yaml.Node) (int64, bool) {
	s, ok := located.String(n)
	if !ok {
		return 0, false
	}
	bytes, err := Bytes(s)
	return bytes, err == nil
}

// portOrder is that of the CRD with its defaults.
var portOrder = []struct {
	name  string
	value int
}{{"http", 4200}, {"postgres", 5432}, {"transport", 4300}, {"jmx", 6666}, {"prometheus", 7071}, {"exporter", 9399}}

// ports of one pod are distinct, those that are left out count with their
// defaults.
func ports(n *yaml.Node, add reporter) {
	if n == nil {
		return
	}
	// What is written is blamed, not what is defaulted.
	taken := map[int]string{}
	for _, p := range portOrder {
		if located.Get(n, p.name) == nil {
			taken[p.value] = p.name
		}
	}
	for _, p := range portOrder {
		node := located.Get(n, p.name)
		v, ok := located.Float(node)
		if !ok {
			continue
		}
		if other, twice := taken[int(v)]; twice {
			add(node, []any{"spec", "ports", p.name}, strconv.Itoa(int(v))+" is the port of "+other+" too: take another")
			continue
		}
		taken[int(v)] = p.name
	}
}
