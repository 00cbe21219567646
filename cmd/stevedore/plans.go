package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/sources/git"
	"stevedore.dev/stevedore/sources/tree"
)

// livePlans makes plans against live clusters.
type livePlans struct {
	looker   daemon.Looker
	applier  *apply.Applier
	revision string
	now      time.Time
	// noAdmission is set once the API server has said that the role may not ask.
	noAdmission bool
	vanished    vanished
}

func (l *livePlans) of(ctx context.Context, cluster renderedCluster) (plan.Plan, error) {
	basis, err := l.looker.Look(ctx, cluster.cluster, cluster.rendered)
	if err != nil {
		return plan.Plan{}, err
	}
	basis.Desired.RenamedFrom = l.vanished[basis.Desired.ClusterName]
	course := plan.Forward(startOf(basis, cluster.rendered.Objects, l.now))
	out := newPlan(basis.Desired, l.revision, course)
	out.Basis = plan.Basis{Kind: plan.Live, SecretsCompared: basis.Secrets, New: len(basis.Record.Sets) == 0 && len(basis.Observed.Sets) == 0}
	if out.Basis.New {
		out.Basis.Claims = plan.FindClaims(&basis.Desired, &basis.Observed).Used
	}
	sayReading(&out.Basis, basis, l.now)
	out.Notes = append(out.Notes, basis.HandsOff.Ended(&course)...)
	if !out.Basis.New {
		out.Unknown = append(out.Unknown, unknownOf(basis, out.Basis)...)
	}
	objects, missing, err := l.objects(ctx, cluster, basis, &course, &out.Basis)
	if err != nil {
		return plan.Plan{}, err
	}
	if missing != "" {
		out.Waits = append([]plan.Gate{{Name: namespaceMissing, Message: missing}}, out.Waits...)
	}
	before, err := manifest.Unpack(basis.Record.Saved)
	if err != nil {
		return plan.Plan{}, fmt.Errorf("reading what was last applied of %s/%s: %w", out.Namespace, out.Name, err)
	}
	out.Objects = plan.Weigh(objects, cluster.rendered.Objects, before, &course)
	return out, noteMounts(ctx, l.looker.Kube, cluster, &out)
}

// unknownOf says what a live basis does not tell.
func unknownOf(basis daemon.Basis, b plan.Basis) (unknown []string) {
	if b.Observed.IsZero() {
		unknown = append(unknown, "nothing is known of the database: the daemon has published no reading of it; health, tables and sizes are taken to be well")
	}
	unknown = append(unknown, unknownOfReading(basis, b)...)
	if !b.SecretsCompared {
		unknown = append(unknown, "Secrets are not compared: this role may not read them; those that the definition names are taken to be there, as they were")
	}
	return unknown
}

// namespaceMissing is the name of the wait for a namespace that is not there.
const namespaceMissing = "namespace-missing"

// objects are those that differ from what is live; missing is what to do about a
// namespace that is not there, "" where it is.
func (l *livePlans) objects(ctx context.Context, cluster renderedCluster, basis daemon.Basis, course *plan.Course, b *plan.Basis) (out []plan.Object, missing string, err error) {
	ns, name := cluster.cluster.Namespace, cluster.cluster.Name
	objects, err := wantedEffect(cluster, withoutGuard(basis.Record, basis.Observed.Budgets))
	if err != nil {
		return nil, "", err
	}
	live := l.looker.Live
	wanted := map[compare.Key]bool{}
	b.Admission = !l.noAdmission
	for _, object := range objects {
		key := compare.KeyOf(object)
		wanted[key] = true
		err := live.EnsureObjects(ctx, ns, []*unstructured.Unstructured{object})
		if key.IsSecret() && apply.Forbidden(err) {
			b.SecretsCompared = false
			continue
		}
		if err != nil {
			return nil, "", fmt.Errorf("looking at %s: %w", key, err)
		}
		one := plan.Object{Key: key, Change: plan.Changed}
		if _, ok := live.Get(key); !ok {
			one.Change = plan.Added
		}
		fields := l.applier.Diff(object)
		if b.Admission && len(fields) > 0 && !key.IsSecret() {
			asked, err := l.applier.DryRun(ctx, name, object)
			words := apply.NamespaceGone(err, ns)
			switch {
			case err == nil:
				fields = asked
			case words != "":
				missing = words // of each object the same
			case apply.Forbidden(err):
				b.Admission, l.noAdmission = false, true
			case ctx.Err() != nil:
				return nil, "", fmt.Errorf("asking what the API server would store of %s: %w", key, err)
			case key.Group == "apps" && key.Kind == "StatefulSet" && apierrors.IsInvalid(err):
				// All that is wanted at once is not what is applied: what Kubernetes never
				// changes is refused by a gate, in words of its own.
			default:
				one.Class, one.Why = plan.Refused, "the API server refuses it: "+err.Error()
			}
		}
		if one.Change == plan.Added {
			out = append(out, one)
			continue
		}
		for _, change := range fields {
			field := plan.Field{FieldChange: change}
			if one.Class == plan.Refused {
				field.Class, field.Why = plan.Refused, one.Why
			}
			one.Fields = append(one.Fields, field)
		}
		if len(one.Fields) > 0 {
			out = append(out, one)
		}
	}
	for _, key := range l.looker.Leftovers(ns, name, wanted) {
		out = append(out, plan.Object{Key: key, Change: plan.Orphaned})
	}
	return out, missing, nil
}

func newPlan(desired model.Desired, revision string, course plan.Course) plan.Plan {
	out := plan.Plan{
		SchemaVersion: names.SchemaVersion, Namespace: desired.Namespace, Name: desired.Name, Revision: revision,
		Objects: []plan.Object{}, Operations: course.Operations, Refused: course.Refused, Waits: course.Waits, AtRisk: course.AtRisk, Notes: append([]string{}, course.Notes...), Warnings: []plan.Warning{},
		Unknown: course.Unknown, Restarts: course.Restarts, Estimate: course.Estimate,
	}
	// Empty lists and no null in the JSON.
	out.Operations = append([]plan.Operation{}, out.Operations...)
	out.Refused = append([]plan.Gate{}, out.Refused...)
	out.Waits = append([]plan.Gate{}, out.Waits...)
	out.AtRisk = append([]plan.Risk{}, out.AtRisk...)
	out.Unknown = append([]string{}, out.Unknown...)
	for i := range out.Operations {
		out.Operations[i].Steps = append([]plan.Step{}, out.Operations[i].Steps...)
	}
	return out
}

// offlinePlans makes plans against another revision or folder; no cluster is
// asked, and no network.
type offlinePlans struct {
	against  string
	revision string
	root     string // --root
	renderer render.Renderer
	now      time.Time
	before   map[record.Cluster]render.Cluster
	// dir is the folder of the older side inside of its tree, and within what stands
	// before its files' paths where they are said: dir again for a revision, ""
	// for a folder.
	dir, within string
	// broken are the clusters with a problem on the older side; unread says that
	// there are problems of no single cluster, so that one which is missing there
	// need not be new.
	broken map[record.Cluster]bool
	unread bool
	// readings are those of the databases, as daemons have published them; nil where nobody
	// gave any.
	readings *readings
	vanished vanished
}

// vanishedFrom are the clusters of the older side that the newer one has no more.
func (o *offlinePlans) vanishedFrom(clusters []renderedCluster) vanished {
	gone := vanished{}
	for key, was := range o.before {
		if was.Definition != nil && !slices.ContainsFunc(clusters, func(c renderedCluster) bool {
			return c.cluster.Namespace == key.Namespace && c.cluster.Name == key.Name
		}) {
			gone.add(was.Definition.Spec.Cluster.Name, key)
		}
	}
	return gone
}

// older reads the side that is compared with.
func (o *offlinePlans) older(cmd *cobra.Command, path string) (problems []definition.Problem, root string, err error) {
	ctx := cmd.Context()
	files, root, dir, err := o.basis(ctx, path)
	if err != nil {
		return nil, "", err
	}
	o.dir = dir
	build, err := o.renderer.Build(ctx, files, dir)
	if err != nil {
		return nil, "", fmt.Errorf("reading %s: %w", o.against, err)
	}
	o.take(build)
	return problemsOf(build), root, nil
}

// take keeps the clusters of the older side.
func (o *offlinePlans) take(build *render.Build) {
	o.before, o.broken = map[record.Cluster]render.Cluster{}, map[record.Cluster]bool{}
	for _, cluster := range build.Clusters {
		key := record.Cluster{Namespace: cluster.Namespace, Name: cluster.Name}
		if len(cluster.Problems) == 0 {
			o.before[key] = cluster
		} else {
			o.broken[key] = true
		}
	}
	o.unread = len(build.Problems) > 0
}

// touches is false for a cluster that is defined on both sides in the same words:
// in a repository of a thousand, rendering the others is all that takes time.
// What is wrong with it was wrong before, and `validate` says it.
func (o *offlinePlans) touches(cluster render.Cluster) bool {
	old, existed := o.before[record.Cluster{Namespace: cluster.Namespace, Name: cluster.Name}]
	return !existed || !sameWords(old, cluster)
}

// sameWords compares two clusters without the places that they stand at.
func sameWords(a, b render.Cluster) bool {
	if a.Definition == nil || b.Definition == nil {
		return false
	}
	was, is := *a.Definition, *b.Definition
	for _, d := range []*definition.CrateDB{&was, &is} {
		d.File, d.Line, d.DataAt, d.MasterAt = "", 0, definition.Place{}, definition.Place{}
	}
	return reflect.DeepEqual(was, is) && reflect.DeepEqual(a.Others, b.Others)
}

func (o *offlinePlans) of(ctx context.Context, cluster renderedCluster) (plan.Plan, []definition.Problem, error) {
	if cluster.rendered == nil {
		return o.nothing(cluster), nil, nil
	}
	key := record.Cluster{Namespace: cluster.cluster.Namespace, Name: cluster.cluster.Name}
	const owner = "the source of this definition"
	desiredOf := func(c render.Cluster, r *render.Rendered) model.Desired {
		return manifest.NewDesired(c.Definition, manifest.Render{Objects: r.Objects, Revision: r.Revision, Pins: model.Pins(r.Pins)}, owner, "")
	}
	old, existed := o.before[key]
	if !existed && (o.broken[key] || o.unread) {
		d := cluster.cluster.Definition
		return plan.Plan{}, []definition.Problem{{File: d.File, Line: d.Line, Cluster: key.Namespace + "/" + key.Name,
			Message: fmt.Sprintf("what changes of cluster %s is not known: %s has a problem that hides how it was", key, o.against)}}, nil
	}
	says := plan.Basis{Kind: plan.Offline, Against: o.against, New: !existed}
	now := cluster.rendered
	var before []*unstructured.Unstructured
	var unknown []string
	var basis daemon.Basis
	if existed {
		rendered, problems, err := o.renderer.Render(ctx, old, render.Pins{})
		if err != nil || len(problems) > 0 {
			return plan.Plan{}, problems, err
		}
		// A live cluster keeps its base and its master-eligible group.
		if now, problems, err = o.renderer.Render(ctx, cluster.cluster, rendered.Pins); err != nil || len(problems) > 0 {
			return plan.Plan{}, problems, err
		}
		// The revision leaves out what Secrets hold.
		if now.Revision == rendered.Revision && reflect.DeepEqual(now.Objects, rendered.Objects) {
			return o.nothing(cluster), nil, nil
		}
		observed, rec, done := plan.Converged(desiredOf(old, rendered), plan.Rendered(rendered.Objects), o.now)
		if !done {
			unknown = append(unknown, "the older side does not come to rest by itself; the plan begins from where it is stuck")
		}
		basis.Observed, basis.Record = observed, rec
		before = rendered.Objects
	}
	open, err := o.readings.take(&basis, &says, key, o.now)
	if err != nil {
		return plan.Plan{}, nil, err
	}
	unknown = append(unknown, open...)
	desired := desiredOf(cluster.cluster, now)
	desired.RenamedFrom = o.vanished[desired.ClusterName]
	basis.Desired = desired
	basis.Observed.Secrets = secretsOffline(desired, basis.Observed.Secrets, &basis.Record)
	course := plan.Forward(startOf(basis, now.Objects, o.now))
	out := newPlan(desired, o.revision, course)
	out.Basis = says
	out.Unknown = append(out.Unknown, unknown...)
	if existed {
		var before plan.HandsOff
		was := desiredOf(old, &render.Rendered{})
		if was.Paused {
			before.Paused = plan.ByAnnotation
		}
		if was.Released {
			before.Released = plan.ByAnnotation
		}
		out.Notes = append(out.Notes, before.Ended(&course)...)
	}
	cluster.rendered = now
	wanted, err := wantedEffect(cluster, basis.Record)
	if err != nil {
		return plan.Plan{}, nil, err
	}
	was := map[compare.Key]*unstructured.Unstructured{}
	if existed {
		effect, err := wantedEffect(renderedCluster{cluster: old, rendered: &render.Rendered{Objects: before}}, basis.Record)
		if err != nil {
			return plan.Plan{}, nil, err
		}
		for _, object := range effect {
			was[compare.KeyOf(object)] = object
		}
	}
	last, err := manifest.Unpack(basis.Record.Saved)
	if err != nil {
		return plan.Plan{}, nil, fmt.Errorf("reading the older side of %s: %w", key, err)
	}
	out.Objects = plan.Weigh(differing(wanted, was), now.Objects, last, &course)
	o.sayMoves(&out, cluster)
	return out, nil, nil
}

// nothing is the plan of a cluster that is the same on both sides, but for the
// files that it stands in.
func (o *offlinePlans) nothing(cluster renderedCluster) plan.Plan {
	out := newPlan(model.Desired{Namespace: cluster.cluster.Namespace, Name: cluster.cluster.Name}, o.revision, plan.Course{})
	out.Basis = plan.Basis{Kind: plan.Offline, Against: o.against}
	o.sayMoves(&out, cluster)
	return out
}

// secretsOffline adds those that only the newer side names: they are taken to be
// there.
func secretsOffline(desired model.Desired, have []model.Secret, rec *model.Record) []model.Secret {
	have = slices.Clone(have)
	for _, secret := range plan.Secrets(desired, rec) {
		i := slices.IndexFunc(have, func(s model.Secret) bool { return s.Name == secret.Name })
		if i < 0 {
			have = append(have, secret)
			continue
		}
		for _, key := range secret.Keys {
			if !slices.Contains(have[i].Keys, key) {
				have[i].Keys = append(slices.Clone(have[i].Keys), key)
			}
		}
	}
	return have
}

// differing compares two sides of which none is live.
func differing(wanted []*unstructured.Unstructured, was map[compare.Key]*unstructured.Unstructured) []plan.Object {
	var out []plan.Object
	seen := map[compare.Key]bool{}
	for _, object := range wanted {
		key := compare.KeyOf(object)
		seen[key] = true
		old, ok := was[key]
		if !ok {
			out = append(out, plan.Object{Key: key, Change: plan.Added})
			continue
		}
		var fields []plan.Field
		for _, change := range plan.Differences(object, old) {
			fields = append(fields, plan.Field{FieldChange: change})
		}
		if len(fields) > 0 {
			out = append(out, plan.Object{Key: key, Change: plan.Changed, Fields: fields})
		}
	}
	for key := range was {
		if !seen[key] {
			out = append(out, plan.Object{Key: key, Change: plan.Orphaned})
		}
	}
	return out
}

// had says whether the older side has a cluster that a filter selects.
func (o *offlinePlans) had(filter string) bool {
	for key := range o.before {
		if selects(filter, key.Namespace, key.Name) {
			return true
		}
	}
	return false
}

// knows says whether one of the two sides has a cluster.
func (o *offlinePlans) knows(here []render.Cluster, key record.Cluster) bool {
	_, before := o.before[key]
	return before || o.broken[key] || slices.ContainsFunc(here, func(c render.Cluster) bool { return c.Namespace == key.Namespace && c.Name == key.Name })
}

// revisionOf is the commit that a folder's work tree stands on; "" for none.
func revisionOf(ctx context.Context, path string) string {
	snapshot, err := git.ReadCommit(ctx, path, "HEAD", tree.Limits{})
	if err != nil {
		return ""
	}
	_, hash, _ := strings.Cut(snapshot.Revision, "sha1:")
	return hash
}
