package ops

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/definition"
)

// Render is what NewDesired needs of a rendered cluster (render.Rendered in
// plain values: package render brings kustomize, which a decision must not).
type Render struct {
	Objects  []*unstructured.Unstructured
	Revision string
	Pins     Pins
}

// NewDesired makes the typed values that Decide works on. Changes, Removed and
// RenamedFrom are left for the caller.
func NewDesired(d *definition.CrateDB, r Render, owner, commit string) Desired {
	out := Desired{
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
	}
	if l := d.Spec.Cluster.License; l != nil {
		out.License = &SecretKey{Name: l.Name, Key: l.Key}
	}
	if ssl := d.Spec.Cluster.SSL; ssl != nil {
		out.References = references(ssl)
	}
	if m := d.Spec.Nodes.Master; m != nil {
		out.Sets = append(out.Sets, Set{
			Name: names.StatefulSet(d.Name, m.Name, true), Group: names.MasterGroup,
			Dedicated: true, MasterEligible: true, Replicas: m.Replicas,
		})
	}
	for i, g := range d.Spec.Nodes.Data {
		if i == 0 {
			r := g.Resources
			out.Compute = &Compute{
				CPULimit: r.LimitCPU, CPURequest: r.RequestCPU, MemoryLimit: r.LimitMemory, MemoryRequest: r.RequestMemory,
				HeapRatio: r.HeapRatio, Nodepool: g.Nodepool,
			}
		}
		eligible := g.Name == r.Pins.MasterGroup || r.Pins.MasterGroup == "" && i == 0
		out.Sets = append(out.Sets, Set{
			Name: names.StatefulSet(d.Name, g.Name, false), Group: g.Name,
			Data: true, MasterEligible: eligible && d.Spec.Nodes.Master == nil, Replicas: g.Replicas,
		})
	}
	for _, u := range d.Spec.Users {
		out.Users = append(out.Users, User{Name: u.Name, Secret: SecretKey{Name: u.Password.Name, Key: u.Password.Key}})
	}
	for _, o := range r.Objects {
		if o.GetKind() == "PodDisruptionBudget" &&
			(o.GetName() == names.DataBudget(d.Name) || o.GetName() == names.MasterBudget(d.Name)) {
			out.Budgets = append(out.Budgets, o.GetName())
		}
	}
	out.Settings = LiveSettings(r.Objects)
	out.Storage = ClaimClasses(r.Objects)
	return out
}

// references are each Secret once, with the fields that name it.
func references(ssl *definition.SSL) []Reference {
	var out []Reference
	for _, f := range []struct {
		field string
		ref   definition.SecretKeyRef
	}{{"keystore", ssl.Keystore}, {"keystorePassword", ssl.KeystorePassword}, {"keystoreKeyPassword", ssl.KeystoreKeyPassword}} {
		i := slices.IndexFunc(out, func(r Reference) bool { return r.Secret == f.ref.Name })
		if i < 0 {
			i, out = len(out), append(out, Reference{Secret: f.ref.Name})
		}
		out[i].What = append(out[i].What, "spec.cluster.ssl."+f.field)
	}
	return out
}
