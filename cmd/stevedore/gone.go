package main

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/definition"
)

// gone are the plans of clusters that only the older side has: nothing of one is
// deleted, unless the older side consents to that.
func (o *offlinePlans) gone(ctx context.Context, clusters []render.Cluster, filter string) (out []plan.Plan, problems []definition.Problem, err error) {
	vanish := model.Vanished{Known: true, Left: len(clusters)}
	var keys []record.Cluster
	for key, was := range o.before {
		if slices.ContainsFunc(clusters, func(c render.Cluster) bool { return c.Namespace == key.Namespace && c.Name == key.Name }) {
			continue
		}
		if keys = append(keys, key); o.consented(was) {
			vanish.Clusters = append(vanish.Clusters, key.String())
		}
	}
	slices.Sort(vanish.Clusters)
	slices.SortFunc(keys, func(a, b record.Cluster) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		if !selects(filter, key.Namespace, key.Name) {
			continue
		}
		if !o.consented(o.before[key]) {
			one := newPlan(model.Desired{Namespace: key.Namespace, Name: key.Name}, o.revision, plan.Course{})
			one.Basis = plan.Basis{Kind: plan.Offline, Against: o.against}
			one.Objects = []plan.Object{{
				Key: definitionKey(key.Namespace, key.Name), Change: plan.Orphaned, Class: plan.InPlace,
				Why: "its definition is gone: nothing of the cluster is deleted, because the definition in " + o.against + " does not consent to delete-cluster; nobody looks after the cluster from then on",
			}}
			out = append(out, one)
			continue
		}
		if filter != "" { // those that are not selected only seem to be gone
			vanish.Clusters, vanish.Left = []string{key.String()}, 1
		}
		one, found, err := o.deletion(ctx, key, vanish)
		if err != nil {
			return nil, nil, err
		}
		if problems = append(problems, found...); len(found) == 0 {
			out = append(out, one)
		}
	}
	return out, problems, nil
}

// consented reports whether a definition allows the deletion of its cluster.
func (o *offlinePlans) consented(was render.Cluster) bool {
	if was.Definition == nil {
		return false
	}
	desired := manifest.NewDesired(was.Definition, manifest.Render{}, "", "")
	return lifecycle.Consents(&desired)
}

// deletion is the plan of a cluster whose definition is gone and had consented to that.
func (o *offlinePlans) deletion(ctx context.Context, key record.Cluster, vanish model.Vanished) (plan.Plan, []definition.Problem, error) {
	rendered, problems, err := o.renderer.Render(ctx, o.before[key], render.Pins{})
	if err != nil || len(problems) > 0 {
		return plan.Plan{}, problems, err
	}
	desired := manifest.NewDesired(o.before[key].Definition, manifest.Render{Objects: rendered.Objects, Revision: rendered.Revision, Pins: model.Pins(rendered.Pins)}, "the source of this definition", "")
	var basis daemon.Basis
	basis.Observed, basis.Record, _ = plan.Converged(desired, plan.Rendered(rendered.Objects), o.now)
	basis.Record.ClusterName = desired.ClusterName
	basis.Desired = manifest.RemovedDesired(key.Namespace, key.Name, desired.Owner, "", &basis.Record)
	basis.Observed.Vanished, basis.Observed.Leftovers = vanish, leftoversOf(rendered.Objects)
	says := plan.Basis{Kind: plan.Offline, Against: o.against}
	unknown, err := o.readings.take(&basis, &says, key, o.now)
	if err != nil {
		return plan.Plan{}, nil, err
	}
	if says.Observed.IsZero() {
		basis.Observed.Database.TablesKnown = false
	}
	one := deletion(basis, o.revision, o.now, says)
	one.Unknown = append(one.Unknown, unknown...)
	return one, nil, nil
}

// leftoversOf are the objects that a definition made and that are left when it is gone.
func leftoversOf(objects []*unstructured.Unstructured) []model.Leftover {
	var out []model.Leftover
	for _, object := range objects {
		gvk := object.GroupVersionKind()
		out = append(out, model.Leftover{
			Object: model.ObjectRef{Group: gvk.Group, Kind: gvk.Kind, Name: object.GetName()}, Data: apply.HoldsData(object),
		})
	}
	return out
}
