package derive

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/internal/crateoperator"
	"stevedore.dev/stevedore/render/definition"
)

// unfinished compares what the object asks for with what runs. What runs wins.
func (d *draft) unfinished(spec map[string]any) {
	cluster := mapAt(spec, "cluster")
	if asked, _ := cluster["imageRegistry"].(string); asked != "" && asked != d.image {
		d.differs("the image", asked, d.image)
	}
	if asked, _ := cluster["version"].(string); asked != "" && asked != d.version {
		d.differs("the version", asked, d.version)
	}
	for _, g := range d.groups {
		d.unfinishedGroup(g)
		d.neverApplied(g, mapAt(cluster, "settings"))
	}
	for _, one := range d.objectGroups() {
		if !slices.ContainsFunc(d.groups, func(g *group) bool { return !g.master && g.group == one["name"] }) {
			d.note("unfinished", true, "the CrateDB object has a group %v, and there is no StatefulSet of it: it is left out", one["name"])
		}
	}
	if (len(mapAt(cluster, "ssl")) > 0) != (d.ssl != nil) {
		d.note("not-live", true, "spec.cluster.ssl of the CrateDB object is not what runs: TLS is written as it runs")
	}
	if handlers := crateoperator.Unfinished(d.object.GetAnnotations()); len(handlers) > 0 {
		d.note("unfinished", true, "an operation of crate-operator is not finished (%s, by its annotation): wait for it", handlers[0])
	}
	if d.object.GetDeletionTimestamp() != nil {
		d.note("unfinished", true, "the CrateDB object is being deleted, and only its finalizer keeps the cluster and its volumes: take nobody's finalizer off before the adoption")
	}
}

func (d *draft) differs(what string, asked, runs any) {
	d.note("unfinished", true, "the CrateDB object asks for %s %v, and %v runs: the definition has what runs", what, asked, runs)
}

func (d *draft) unfinishedGroup(g *group) {
	asked, ok := d.ofGroup(g, "replicas")
	if n, err := strconv.Atoi(plainNumber(asked)); ok && err == nil && int32(n) != g.replicas {
		d.differs("replicas of group "+g.group, n, g.replicas)
	}
	amount := func(what, runs string, paths ...[]string) {
		for _, path := range paths {
			v, _ := d.ofGroup(g, path...)
			text, _ := v.(string)
			a, err := definition.Bytes(text)
			if b, _ := definition.Bytes(runs); text != "" && err == nil && a != b {
				d.differs(what+" of group "+g.group+" of", text, runs)
			}
		}
	}
	amount("disks", g.disk.size, []string{"resources", "disk", "size"})
	amount("memory", g.limits.memory, []string{"resources", "limits", "memory"}, []string{"resources", "memory"})
	for _, path := range [][]string{{"resources", "limits", "cpu"}, {"resources", "cpus"}} {
		v, _ := d.ofGroup(g, path...)
		if text := plainNumber(v); text != "" && text != g.limits.cpu {
			d.differs("cores of group "+g.group, text, g.limits.cpu)
		}
	}
}

// neverApplied are settings of the object that a group does not run with: crate-operator writes them
// when it makes a StatefulSet, and never again.
func (d *draft) neverApplied(g *group, cluster map[string]any) {
	own, _ := d.ofGroup(g, "settings")
	settings := maps.Clone(cluster)
	if settings == nil {
		settings = map[string]any{}
	}
	if of, ok := own.(map[string]any); ok {
		maps.Copy(settings, of)
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		asked := fmt.Sprint(settings[name])
		if number := plainNumber(settings[name]); number != "" {
			asked = number
		}
		if runs := argument(g.crate().Command, name); !strings.EqualFold(asked, runs) {
			d.note("not-live", false, "the CrateDB object has the setting %s: %s, and group %s runs with %q: the definition has what runs", name, asked, g.group, runs)
		}
	}
}
