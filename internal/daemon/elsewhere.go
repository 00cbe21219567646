package daemon

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// lookElsewhere looks, for --once, for clusters of the sources in namespaces that no definition names any more:
// the run ends with 0 only if none of them is left without its definition.
func (d *daemon) lookElsewhere(ctx context.Context) {
	if !d.options.Once || !d.fleet.ready(len(d.options.Sources)) {
		return
	}
	list, err := d.kube.CoreV1().ConfigMaps(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: record.Label + "=" + string(record.Operation)})
	if err != nil {
		d.options.Log.Warn("only the namespaces of definitions and of --namespace are looked at: a cluster elsewhere whose definition is gone is not noticed", "error", err)
		list = &corev1.ConfigMapList{}
	}
	for i := range list.Items {
		var rec model.Record
		key, kind, ok := record.IsRecord(&list.Items[i])
		if !ok || kind != record.Operation || record.Decode(record.Operation, list.Items[i].Data[names.DataKey], &rec) != nil {
			continue
		}
		if !d.fleet.adopt(key, cmp.Or(rec.Owner, rec.Shown.Source), rec.ClusterName) {
			continue
		}
		if err := d.live.EnsureNamespace(ctx, key.Namespace); err != nil {
			d.options.Log.Warn("namespace cannot be watched", "namespace", key.Namespace, "error", err)
			d.noteUndone(key, "its definition is gone, and its namespace cannot be watched: "+err.Error())
			d.noteOutcome(key, outcomeRefused)
			continue
		}
		d.adopt(ctx, key)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lookedElsewhere = true
}
