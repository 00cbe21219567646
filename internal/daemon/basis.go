package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/podresize"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/storageclass"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render"
)

// Looker looks at clusters as a daemon does, without a way to their databases
// and without a write, for a plan.
type Looker struct {
	Live    *apply.Live
	Applier *apply.Applier
	Store   *record.Store
	// Storage reads storage classes; nil: they are unknown.
	Storage *storageclass.Cache
	// Kube reads Nodes, and where volumes are; nil: whether a Node takes a pod is not asked.
	Kube kubernetes.Interface
	// Resizes finds out whether pods can be resized; nil: it is unknown.
	Resizes *podresize.Cache
}

// Basis is what a plan of a cluster rests on.
type Basis struct {
	// Desired is what is desired, with the record's owner and pins.
	Desired  model.Desired
	Observed model.Observed
	Record   model.Record
	// HandsOff is who had asked for the cluster to be left alone, as the daemon last
	// said.
	HandsOff plan.HandsOff
	// Secrets is false where the role may not read them: they are then taken to be
	// there, as they were.
	Secrets bool
	// Read is when the daemon last published a reading of the database; zero when
	// there is none.
	Read time.Time
	// Live is true where pods were looked at, and not made of a definition.
	Live bool
	// Data is false where that reading says nothing of tables; Left are those of
	// which it says nothing, LeftBytes their size.
	Data bool
	// Moving are the shards that were on their way then.
	Moving    int
	Left      int
	LeftBytes int64
}

// Look reads all of one cluster that the API server tells.
func (l Looker) Look(ctx context.Context, cluster render.Cluster, rendered *render.Rendered) (Basis, error) {
	key := record.Cluster{Namespace: cluster.Namespace, Name: cluster.Name}
	w := &worker{
		daemon: &daemon{live: l.Live, applier: l.Applier, store: l.Store}, key: key, log: slog.New(slog.DiscardHandler),
		rendered: rendered, renderedFrom: cluster,
	}
	basis := Basis{Secrets: true, Live: true}
	if err := l.Live.EnsureNamespace(ctx, key.Namespace); err != nil {
		return basis, fmt.Errorf("looking at namespace %s: %w", key.Namespace, err)
	}
	entry, err := l.Store.Load(ctx, key, record.Operation, &basis.Record)
	if err != nil && !errors.Is(err, record.ErrDamaged) {
		return basis, err
	}
	if errors.Is(err, record.ErrDamaged) {
		basis.Record = model.Record{}
	}
	basis.Record.Saved = w.completeSaved(basis.Record)
	owner := basis.Record.Owner
	if owner == "" {
		owner = "the source of this definition"
	}
	basis.Desired = manifest.NewDesired(cluster.Definition, manifest.Render{
		Objects: rendered.Objects, Revision: rendered.Revision, Pins: model.Pins(rendered.Pins),
	}, owner, "")
	for _, name := range secretNames(basis.Desired) {
		err := l.Live.EnsureSecret(ctx, key.Namespace, name)
		if apply.Forbidden(err) {
			basis.Secrets = false
		} else if err != nil {
			return basis, fmt.Errorf("looking at Secret %s/%s: %w", key.Namespace, name, err)
		}
	}
	basis.Observed = observeKubernetes(l.Live, basis.Desired)
	basis.Record.Saved = w.savedOrLive(basis.Desired.Revision, basis.Record, &basis.Observed)
	manifest.NoteTemplates(&basis.Desired, rendered.Objects, basis.Observed.Sets, &basis.Record)
	if l.Storage != nil && lifecycle.NeedsStorage(&basis.Desired, &basis.Observed) {
		basis.Observed.Storage = l.Storage.Read(ctx, basis.Desired.Storage)
	}
	basis.Observed.Placement = plannedFits(ctx, l.Live, l.Kube, key, rendered.Objects)
	if l.Resizes != nil {
		// Who makes the plan may have other rights than the daemon.
		basis.Observed.Resize = l.Resizes.Read(ctx, key.Namespace)
		basis.Observed.Resize.Allowed = model.Unknown
	}
	if !basis.Secrets {
		basis.Observed.Secrets = plan.Secrets(basis.Desired, &basis.Record)
	}
	if basis.Observed.Foreign, err = w.othersObjects(ctx, basis.Record.Sets); err != nil {
		return basis, err
	}
	basis.Observed.Secrets = travelling(basis.Observed.Secrets, rendered.Objects)
	basis.Observed.Commands = commands(entry, basis.Desired.Revision)
	basis.HandsOff = handsOff(basis.Record.Shown, entry)
	l.takePublished(ctx, key, &basis)
	return basis, nil
}

// LookRemoved reads what a plan of a cluster without a definition rests on.
func (l Looker) LookRemoved(ctx context.Context, key record.Cluster) (Basis, error) {
	w := &worker{daemon: &daemon{live: l.Live, applier: l.Applier, store: l.Store}, key: key, log: slog.New(slog.DiscardHandler)}
	basis := Basis{Secrets: true, Live: true}
	if err := l.Live.EnsureNamespace(ctx, key.Namespace); err != nil {
		return basis, fmt.Errorf("looking at namespace %s: %w", key.Namespace, err)
	}
	entry, err := l.Store.Load(ctx, key, record.Operation, &basis.Record)
	if err != nil {
		return basis, err
	}
	basis.Desired = manifest.RemovedDesired(key.Namespace, key.Name, basis.Record.Owner, "", &basis.Record)
	basis.Observed = observeKubernetes(l.Live, basis.Desired)
	basis.Record.Saved = w.savedOrLive(basis.Desired.Revision, basis.Record, &basis.Observed)
	if basis.Observed.Leftovers, err = w.leftovers(ctx, wanted{removed: true}); err != nil {
		return basis, err
	}
	basis.Observed.Commands = commands(entry, basis.Desired.Revision)
	l.takePublished(ctx, key, &basis)
	return basis, nil
}

// takePublished gives a basis what the daemon has published of the database.
func (l Looker) takePublished(ctx context.Context, key record.Cluster, basis *Basis) {
	var published Observation
	if _, err := l.Store.Load(ctx, key, record.Observation, &published); err == nil {
		basis.Take(published)
	}
}

// Take makes a published reading the basis' own. A plan that is made far from the
// cluster takes it from a file, and knows by it what a plan of the live cluster knows.
// One without a time was never published.
func (b *Basis) Take(published Observation) {
	if published.At.IsZero() {
		return
	}
	b.Read, b.Moving = published.At, published.Moving
	b.Observed.Database = published.Database()
	if d := published.Data; d != nil {
		b.Data, b.Left, b.LeftBytes = true, d.Left, d.LeftBytes
	}
}

// travelling adds the Secrets that come with the definition: they are applied
// before anything needs them.
func travelling(have []model.Secret, objects []*unstructuredObject) []model.Secret {
	have = slices.Clone(have)
	for _, object := range objects {
		if !compare.KeyOf(object).IsSecret() {
			continue
		}
		i := slices.IndexFunc(have, func(s model.Secret) bool { return s.Name == object.GetName() })
		if i < 0 {
			continue // no operation looks at it
		}
		s := &have[i]
		s.Keys = slices.Clone(s.Keys)
		for _, field := range []string{"data", "stringData"} {
			values, _, _ := unstructured.NestedMap(object.Object, field)
			for _, key := range slices.Sorted(maps.Keys(values)) {
				if values[key] != "" && !slices.Contains(s.Keys, key) {
					s.Keys = append(s.Keys, key)
				}
			}
		}
		if !s.Exists {
			s.Exists, s.Version = true, model.SecretVersion{UID: "travels-" + s.Name, ResourceVersion: "1"}
			s.Labelled = object.GetLabels()[names.UserPasswordLabel] == "true"
		}
	}
	return have
}

// handsOff is what the daemon last showed, and by whose word.
func handsOff(shown model.Shown, entry record.Entry) plan.HandsOff {
	asked := func(rule gates.Rule, key string) plan.Asked {
		switch {
		case !said(shown.Reasons, rule.Name):
			return ""
		case slices.ContainsFunc(entry.Commands(), func(c record.Command) bool { return c.Key == key && c.Value == "true" }):
			return plan.ByCommand
		}
		return plan.ByAnnotation
	}
	return plan.HandsOff{
		Paused:   asked(gates.PausedRule, names.PausedAnnotation),
		Released: asked(gates.ReleasedRule, names.ReleasedAnnotation),
	}
}

// othersObjects are objects of wanted names that are not ours, Secrets left out:
// a role for plans may not read them.
func (w *worker) othersObjects(ctx context.Context, made []model.RecordedSet) ([]model.Foreign, error) {
	plain := slices.DeleteFunc(slices.Clone(w.rendered.Objects), func(o *unstructuredObject) bool { return compare.KeyOf(o).IsSecret() })
	return w.foreign(ctx, plain, made)
}

// Leftovers are the cluster's live objects that are no longer desired, by the definition's own objects: they are
// left as they are.
func (l Looker) Leftovers(namespace, cluster string, wanted map[compare.Key]bool) []compare.Key {
	var out []compare.Key
	for _, object := range l.Live.Objects(namespace, cluster) {
		key := compare.KeyOf(object)
		_, _, ours := record.IsRecord(object)
		kind := schema.GroupKind{Group: key.Group, Kind: key.Kind}
		switch {
		case ours, wanted[key], key.Name == names.SystemSecret(cluster), key.Name == names.InventoryConfigMap(cluster), object.GetLabels()[record.Label] != "",
			kind == schema.GroupKind{Kind: "PersistentVolumeClaim"}, kind == schema.GroupKind{Kind: "Pod"}:
		default:
			out = append(out, key)
		}
	}
	return out
}
