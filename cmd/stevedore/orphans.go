package main

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/sources/git"
)

// followedAs tells whether a source is the folder that a plan is made of, or lies
// within it: only then is a cluster that the folder lacks without a definition.
func followedAs(folder string) func(owner string) bool {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return func(string) bool { return false }
	}
	repositories, inside := git.Repositories(folder)
	return func(owner string) bool {
		if filepath.IsAbs(owner) {
			below, err := filepath.Rel(absolute, owner)
			return err == nil && (below == "." || filepath.IsLocal(below))
		}
		// A source is its URL, and //path for a path inside.
		scheme, rest, _ := strings.Cut(owner, "://")
		url, at, _ := strings.Cut(rest, "//")
		if !slices.Contains(repositories, git.Bare(scheme+"://"+url)) {
			return false
		}
		return inside == "." || at == inside || strings.HasPrefix(at, inside+"/")
	}
}

// vanished are clusters that a folder has no more, as NAMESPACE/NAME by their spec.cluster.name. A
// new cluster with that name is one of them renamed, and it is refused as the daemon refuses it.
type vanished map[string]string

func (v vanished) add(clusterName string, cluster record.Cluster) {
	if was, ok := v[clusterName]; clusterName != "" && (!ok || cluster.String() < was) {
		v[clusterName] = cluster.String()
	}
}

// orphans are the plans of live clusters that this folder made and has no more.
func (p *plansOf) orphans(ctx context.Context, client kubernetes.Interface, namespace, revision string) ([]plan.Plan, error) {
	ours := followedAs(p.path)
	there := func(cluster record.Cluster) bool {
		return slices.ContainsFunc(p.clusters, func(c renderedCluster) bool {
			return c.cluster.Namespace == cluster.Namespace && c.cluster.Name == cluster.Name
		})
	}
	records, err := p.records(ctx, client, namespace)
	if err != nil {
		return nil, err
	}
	var out []plan.Plan
	for i := range records {
		cluster, kind, ok := record.IsRecord(&records[i])
		if !ok || kind != record.Operation || there(cluster) || !selects(p.filter, cluster.Namespace, cluster.Name) {
			continue
		}
		var rec model.Record
		if record.Decode(record.Operation, records[i].Data[names.DataKey], &rec) != nil || rec.Owner == "" || !ours(rec.Owner) || rec.Stage == model.StageRemoved {
			continue
		}
		if p.filter == "" && p.vanished != nil { // with a filter those that are not selected would seem to be gone
			p.vanished.add(rec.ClusterName, cluster)
		}
		one := newPlan(model.Desired{Namespace: cluster.Namespace, Name: cluster.Name}, revision, plan.Course{})
		one.Basis = plan.Basis{Kind: plan.Live, Admission: true, SecretsCompared: true}
		object := plan.Object{Key: definitionKey(cluster.Namespace, cluster.Name), Change: plan.Orphaned, Class: plan.InPlace,
			Why: "its definition is gone from " + rec.Owner + ": nothing of the cluster is deleted; `stevedore release` lets it go"}
		switch {
		case rec.DeleteConsent != "":
			object.Change = plan.Removed
			object.Why = "its definition is gone from " + rec.Owner + " and had consented to delete-cluster: the cluster is deleted after --removal-delay, its volumes and Secrets stay"
		case rec.Stage == model.StageRemovalPending:
			continue // it is so already
		}
		one.Objects = []plan.Object{object}
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b plan.Plan) int {
		return strings.Compare(path.Join(a.Namespace, a.Name), path.Join(b.Namespace, b.Name))
	})
	return out, nil
}

// records of all namespaces, or where the role may not read those, of the clusters'
// and of the kubeconfig's.
func (p *plansOf) records(ctx context.Context, client kubernetes.Interface, namespace string) ([]corev1.ConfigMap, error) {
	of := func(namespace string) ([]corev1.ConfigMap, error) {
		list, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: record.Label + "=" + string(record.Operation)})
		if err != nil {
			return nil, err
		}
		return list.Items, nil
	}
	all, err := of(metav1.NamespaceAll)
	if err == nil || !apply.Forbidden(err) {
		return all, err
	}
	namespaces := []string{namespace}
	for _, c := range p.clusters {
		namespaces = append(namespaces, c.cluster.Namespace)
	}
	slices.Sort(namespaces)
	for _, one := range slices.Compact(namespaces) {
		items, err := of(one)
		if err != nil && !apply.Forbidden(err) {
			return nil, err
		}
		all = append(all, items...)
	}
	return all, nil
}

// isGone: there is no definition, or not the one that was asked for.
func isGone(err error) bool {
	_, none := errors.AsType[noCluster](err)
	return none || errors.Is(err, errNoDefinition)
}
