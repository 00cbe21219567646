package derive

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/render/definition"
)

// complete finds out what is live and that rendering the definition so far does not give: settings
// that somebody wrote, annotations that no cloud adds, and what only a patch can say.
func (d *draft) complete(ctx context.Context) error {
	annotations := d.service.annotations
	d.service.annotations = nil
	rendered, problems := renderFiles(ctx, d.files(), d.config, d.in.Cluster)
	if len(problems) > 0 {
		return refusal(problems)
	}
	d.service.annotations = without(annotations, byName(rendered, kindService, names.Service(d.in.Cluster)).GetAnnotations())
	d.completeSettings(rendered)
	if rendered, problems = renderFiles(ctx, d.files(), d.config, d.in.Cluster); len(problems) > 0 {
		return refusal(problems)
	}
	patches := d.patchesFor(rendered)
	d.patches = patches
	if _, problems = renderFiles(ctx, d.files(), d.config, d.in.Cluster); len(problems) == 0 {
		return nil
	}
	// Which of them is refused is found out one by one.
	d.patches = nil
	for _, p := range patches {
		d.patches = append(d.patches, p)
		if _, problems := renderFiles(ctx, d.files(), d.config, d.in.Cluster); len(problems) > 0 {
			d.patches = d.patches[:len(d.patches)-1]
			d.note("not-kept", true, "%s cannot be kept: %v", p.subject, refusal(problems))
		}
	}
	return nil
}

// without are the entries that the other map does not have alike.
func without(m, other map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range m {
		if had, ok := other[key]; !ok || had != value {
			out[key] = value
		}
	}
	return out
}

// byName is an object of those; an empty one for none.
func byName(objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{}}
}

// completeSettings sorts the settings that rendering does not make into those of the cluster and
// those of groups: as the CrateDB object has them, or by whether every node has them alike.
func (d *draft) completeSettings(rendered []*unstructured.Unstructured) {
	for _, g := range d.groups {
		set := byName(rendered, kindStatefulSet, g.set.Name)
		g.settings = nil
		for _, s := range g.command {
			if manifest.ArgumentOf(set, s.Name) == s.Value || counted(s.Name) && !d.asked(s.Name) && !d.askedOf(g, s.Name) {
				continue
			}
			if why := definition.CheckSetting(s.Name, s.Value); why != "" {
				if !d.inherent(s.Name) {
					d.note("not-kept", true, "the setting %s of %s cannot be kept: it %s", s.Name, g.set.Name, why)
				}
				continue
			}
			g.settings = append(g.settings, s)
		}
	}
	for _, s := range d.groups[0].settings {
		if !slices.ContainsFunc(d.groups, func(g *group) bool { return !slices.Contains(g.settings, s) || d.askedOf(g, s.Name) }) {
			d.settings = append(d.settings, s)
		}
	}
	for _, g := range d.groups {
		g.settings = slices.DeleteFunc(g.settings, func(s definition.Setting) bool { return slices.Contains(d.settings, s) })
	}
}

// counted: the value follows from the number of nodes.
func counted(setting string) bool {
	switch setting {
	case "cluster.initial_master_nodes", "gateway.expected_data_nodes", "gateway.expected_nodes",
		"gateway.recover_after_data_nodes", "gateway.recover_after_nodes":
		return true
	}
	return false
}

// inherent: stevedore writes the setting otherwise, and says so among the differences.
func (d *draft) inherent(setting string) bool {
	return strings.HasPrefix(setting, "ssl.keystore_")
}

// asked: the CrateDB object has the setting among those of the cluster.
func (d *draft) asked(setting string) bool {
	if d.object == nil {
		return false
	}
	_, ok := mapAt(d.object.Object, "spec", "cluster", "settings")[setting]
	return ok
}

// askedOf: the CrateDB object has the setting among those of a group.
func (d *draft) askedOf(g *group, setting string) bool {
	settings, _ := d.ofGroup(g, "settings")
	of, _ := settings.(map[string]any)
	_, ok := of[setting]
	return ok
}

// ofCluster are the live objects that Differences compares: those that rendering makes, and those
// that belong to the CrateDB object or have its labels.
func ofCluster(in Input, rendered []*unstructured.Unstructured, sets []foundSet) (objects []*unstructured.Unstructured) {
	for _, o := range in.Live {
		if o.GetNamespace() != in.Namespace || strings.HasPrefix(o.GetName(), "stevedore-"+in.Cluster+"-") {
			continue
		}
		labels := o.GetLabels()
		switch {
		case byName(rendered, o.GetKind(), o.GetName()).GetName() != "",
			labels[names.NameLabel] == in.Cluster && labels[names.ComponentLabel] == names.Component,
			ownedBy(o, in.Cluster):
			objects = append(objects, o)
		case o.GetKind() == kindClaim && slices.ContainsFunc(sets, func(f foundSet) bool { return ordinalOf(o.GetName(), f.set.Name) >= 0 }):
			objects = append(objects, o)
		}
	}
	return objects
}

// ordinalOf is the pod whose claim this is, of a StatefulSet; -1 for none.
func ordinalOf(claim, set string) int {
	_, ordinal, ok := strings.Cut(claim, "-"+set+"-")
	if n, err := strconv.Atoi(ordinal); ok && err == nil {
		return n
	}
	return -1
}

// ownedBy: the CrateDB object of the name is an owner.
func ownedBy(o *unstructured.Unstructured, cluster string) bool {
	return slices.ContainsFunc(mapsAt(mapAt(o.Object, "metadata"), "ownerReferences"), func(owner map[string]any) bool {
		version, _ := owner["apiVersion"].(string)
		return owner["kind"] == definition.Kind && owner["name"] == cluster && strings.HasPrefix(version, names.OperatorGroup+"/")
	})
}
