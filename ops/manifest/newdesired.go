package manifest

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// Render is what NewDesired needs of a rendered cluster (render.Rendered in
// plain values: package render brings kustomize, which a decision must not).
type Render struct {
	Objects  []*unstructured.Unstructured
	Revision string
	Pins     model.Pins
}

// NewDesired makes the typed values that Decide works on. Changes, Removed and
// RenamedFrom are left for the caller, and so is NoteTemplates.
func NewDesired(d *definition.CrateDB, r Render, owner, commit string) model.Desired {
	out := model.Desired{
		Namespace: d.Namespace, Name: d.Name,
		Owner: owner, Commit: commit, Revision: r.Revision,
		ClusterName: d.Spec.Cluster.Name,
		Version:     d.Spec.Cluster.Version, ImageRegistry: d.Spec.Cluster.ImageRegistry,
		AllowedCIDRs: d.Spec.Cluster.AllowedCIDRs,
		TLS:          d.Spec.Cluster.SSL != nil,
		Ports:        d.Spec.Ports,
		Operations:   d.Spec.Operations,
		Paused:       d.Annotations[names.PausedAnnotation] == "true",
		Released:     d.Annotations[names.ReleasedAnnotation] == "true",
		Abort:        d.Annotations[names.AbortAnnotation] == "true",
		RestartedAt:  d.Annotations[names.RestartedAtAnnotation],
		Pins:         r.Pins,
		Backups:      d.Spec.Backups,
	}
	if l := d.Spec.Cluster.License; l != nil {
		out.License = &model.SecretKey{Name: l.Name, Key: l.Key}
	}
	if ssl := d.Spec.Cluster.SSL; ssl != nil {
		out.References = references(ssl)
	}
	if m := d.Spec.Nodes.Master; m != nil {
		out.Sets = append(out.Sets, model.Set{
			Name: names.StatefulSet(d.Name, m.Name, true), Group: names.MasterGroup,
			Dedicated: true, MasterEligible: true, Replicas: m.Replicas,
		})
		out.Computes = append(out.Computes, model.GroupCompute{Group: names.MasterGroup, Masters: true, Compute: computeOf(m)})
	}
	for i, g := range d.Spec.Nodes.Data {
		out.Computes = append(out.Computes, model.GroupCompute{Group: g.Name, Compute: computeOf(&g)})
		eligible := g.Name == r.Pins.MasterGroup || r.Pins.MasterGroup == "" && i == 0
		out.Sets = append(out.Sets, model.Set{
			Name: d.StatefulSet(g.Name, false), Group: g.Name, Names: namesOf(r.Objects, d.StatefulSet(g.Name, false)),
			Data: true, MasterEligible: eligible && d.Spec.Nodes.Master == nil, Replicas: g.Replicas,
		})
	}
	for _, u := range d.Spec.Users {
		out.Users = append(out.Users, model.User{Name: u.Name, Secret: model.SecretKey{Name: u.Password.Name, Key: u.Password.Key}})
	}
	for _, o := range r.Objects {
		if o.GetKind() == "PodDisruptionBudget" &&
			(o.GetName() == names.DataBudget(d.Name) || o.GetName() == names.MasterBudget(d.Name)) {
			out.Budgets = append(out.Budgets, o.GetName())
		}
	}
	out.Settings = LiveSettings(r.Objects)
	out.Storage = ClaimClasses(r.Objects)
	for _, o := range r.Objects {
		if slices.ContainsFunc(out.Sets, func(s model.Set) bool { return s.Name == o.GetName() }) {
			out.Volumes = append(out.Volumes, VolumeTemplatesOf(o)...)
		}
	}
	return out
}

// namesOf is the annotation of a rendered StatefulSet that says which names it has from somebody else;
// "" for none.
func namesOf(objects []*unstructured.Unstructured, set string) string {
	if o := wantedOf(objects, set); o != nil {
		return o.GetAnnotations()[names.NamesAnnotation]
	}
	return ""
}

func computeOf(g *definition.NodeGroup) model.Compute {
	r := &g.Resources
	return model.Compute{
		CPULimit: r.LimitCPU, CPURequest: r.RequestCPU, MemoryLimit: r.LimitMemory, MemoryRequest: r.RequestMemory,
		HeapRatio: r.HeapRatio, Nodepool: g.Nodepool,
	}
}

// references are each Secret once, with the fields that name it.
func references(ssl *definition.SSL) []model.Reference {
	var out []model.Reference
	for _, f := range []struct {
		field string
		ref   definition.SecretKeyRef
	}{{"keystore", ssl.Keystore}, {"keystorePassword", ssl.KeystorePassword}, {"keystoreKeyPassword", ssl.KeystoreKeyPassword}} {
		i := slices.IndexFunc(out, func(r model.Reference) bool { return r.Secret == f.ref.Name })
		if i < 0 {
			i, out = len(out), append(out, model.Reference{Secret: f.ref.Name})
		}
		out[i].What = append(out[i].What, "spec.cluster.ssl."+f.field)
	}
	return out
}

// ClaimClasses are the classes that the rendered StatefulSets ask for, in their order. A
// claim with the class "" is left out: it takes a volume that is there, and no other.
func ClaimClasses(objects []*unstructured.Unstructured) []model.ClaimClass {
	var out []model.ClaimClass
	for _, o := range objects {
		if o.GetKind() != kindStatefulSet {
			continue
		}
		each(o, func(template map[string]any) {
			class, named, _ := unstructured.NestedString(template, "spec", "storageClassName")
			if named && class == "" {
				return
			}
			i := slices.IndexFunc(out, func(c model.ClaimClass) bool { return c.Set == o.GetName() && c.Class == class })
			if i < 0 {
				i, out = len(out), append(out, model.ClaimClass{Set: o.GetName(), Class: class})
			}
			out[i].Claims = append(out[i].Claims, templateName(template))
		})
	}
	return out
}
