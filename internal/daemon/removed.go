package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
)

// leftovers are the cluster's objects that the definition makes no more.
func (w *worker) leftovers(ctx context.Context, want wanted) ([]model.Leftover, error) {
	left, err := w.live.Leftovers(ctx, w.key.Namespace, w.key.Name, w.objects(want))
	if err != nil {
		return nil, fmt.Errorf("looking at what the definition makes no more: %w", err)
	}
	var out []model.Leftover
	for _, object := range left {
		key := compare.KeyOf(object)
		found := model.Leftover{
			Object: model.ObjectRef{Group: key.Group, Kind: key.Kind, Name: key.Name},
			UID:    string(object.GetUID()), ResourceVersion: object.GetResourceVersion(),
			Data: apply.HoldsData(object), Terminating: object.GetDeletionTimestamp() != nil,
		}
		if !found.Data && !want.removed {
			found.UsedBy = w.live.UsedBy(key.Namespace, w.key.Name, key.Name)
		}
		out = append(out, found)
	}
	return out, nil
}

// vanished counts the clusters of the owner whose definitions are gone and that
// may be deleted, by what stands in Kubernetes: it holds across a restart.
func (w *worker) vanished(ctx context.Context, owner string) model.Vanished {
	v := model.Vanished{Known: w.fleet.ready(len(w.options.Sources))}
	namespaces := slices.Clone(w.options.Namespaces)
	for _, key := range w.known() {
		namespaces = append(namespaces, key.Namespace)
	}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		if err := w.live.EnsureNamespace(ctx, namespace); err != nil {
			w.log.Warn("before a cluster is deleted every namespace has to be looked at", "unwatched", namespace, "error", err)
			v.Known = false
			continue
		}
		for _, name := range w.live.Clusters(namespace) {
			key := record.Cluster{Namespace: namespace, Name: name}
			var rec model.Record
			entry, err := w.store.Load(ctx, key, record.Operation, &rec)
			if err != nil {
				continue // without a readable record it is not deleted
			}
			gone, left := w.fleet.gone(owner, key)
			if rec.Owner == owner {
				v.Left = left
			}
			released := commands(entry, rec.Revision).Released == "true"
			if rec.Owner == owner && gone && rec.DeleteConsent != "" && rec.Stage != model.StageRemoved && !released {
				v.Clusters = append(v.Clusters, key.String())
			}
		}
	}
	return v
}

// heir is a source to which the record of nothing falls: a release that noted nobody's
// source in it has left it, and no source of this daemon, all of which were read, names
// the cluster. It goes like any of a cluster that was never made. That of a definition
// which another daemon of such a release refuses comes back with that one's next pass.
func (d *daemon) heir(key record.Cluster, rec model.Record) string {
	if rec.ClusterID != "" || len(rec.Sets) > 0 || !d.fleet.ready(len(d.options.Sources)) || len(d.fleet.problems()) > 0 {
		return ""
	}
	if _, named := d.fleet.get(key, ""); named {
		return ""
	}
	return d.options.Sources[0].Identity()
}

// neverMade: the record says of the cluster only what was wrong with its definition,
// or that it was to be left alone, and nothing of it stands in Kubernetes.
func (w *worker) neverMade(entry record.Entry, rec model.Record) bool {
	if !entry.Exists() || entry.Aside() != "" || rec.Owner != "" || rec.ClusterID != "" || len(rec.Sets) > 0 {
		return false
	}
	return !slices.ContainsFunc(w.live.Objects(w.key.Namespace, w.key.Name), func(object *unstructuredObject) bool {
		_, _, ours := record.IsRecord(object)
		return !ours
	})
}

// forget removes the records of a cluster that was deleted or never made, once all
// reports have gone out. The record goes last: what is left after a kill is found by it.
func (w *worker) forget(ctx context.Context, owner, why string) (time.Duration, error) {
	waiting, err := w.targets.Waiting(ctx, w.key)
	if err != nil || waiting > 0 {
		return w.options.Interval, err
	}
	return w.forgetNow(ctx, owner, why)
}

// forgetAsked carries out the command to forget, or says why it is not.
func (w *worker) forgetAsked(ctx context.Context, entry record.Entry, rec model.Record, want wanted) (time.Duration, error) {
	remains := lifecycle.Remains{}
	if !want.removed {
		remains.Named = want.owner
	} else if unread := w.unread(want.owner); unread != "" {
		w.log.Debug("before a cluster is forgotten every source has to be read", "unread", unread)
		return w.options.Interval, nil
	}
	for _, object := range w.live.Objects(w.key.Namespace, w.key.Name) {
		if object.GetKind() == "StatefulSet" {
			remains.Sets = append(remains.Sets, object.GetName())
		}
	}
	for _, claim := range w.live.Claims(w.key.Namespace, w.key.Name) {
		remains.Claims = append(remains.Claims, claim.Name)
	}
	why := lifecycle.WhyNotForgotten(&rec, remains)
	if why == "" {
		return w.forgetNow(ctx, want.owner, "forgotten by command: its records are gone, and nothing else")
	}
	w.log.Warn("the cluster is not forgotten: " + why)
	rec.SchemaVersion, rec.Shown.Kept = model.RecordVersion, why
	_, err := w.store.Save(ctx, entry.Drop(names.ForgetAnnotation), rec)
	return 0, err
}

// forgetNow removes the records, also with reports that nobody has taken.
func (w *worker) forgetNow(ctx context.Context, owner, why string) (time.Duration, error) {
	for _, name := range []string{
		names.ObservationConfigMap(w.key.Name), names.ReportsConfigMap(w.key.Name),
		names.InventoryConfigMap(w.key.Name), names.OperationConfigMap(w.key.Name),
	} {
		key := compare.Key{Kind: "ConfigMap", Namespace: w.key.Namespace, Name: name}
		live, err := w.applier.Read(ctx, key)
		if err != nil {
			return 0, err
		}
		if live == nil || live.GetLabels()[names.ClusterLabel] != w.key.Name {
			continue
		}
		if err := w.applier.Delete(ctx, key, live.GetUID(), live.GetResourceVersion()); err != nil {
			return 0, err
		}
	}
	w.store.Forget(w.key)
	w.metrics.Forget(w.key)
	w.fleet.forget(owner, w.key)
	// Nothing of it is known any more, should the name come back.
	w.rendered, w.kept, w.applied, w.applyErrors, w.failures = nil, nil, model.Applied{}, nil, nil
	w.reading, w.stable, w.published, w.publishedSeq = model.Database{}, model.Stability{}, record.Published{}, 0
	w.log.Info(why)
	w.noteOutcome(w.key, outcomeDone)
	return w.options.Interval, nil
}
