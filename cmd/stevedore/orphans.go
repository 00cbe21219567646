package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/daemon"
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

// lookRemoved is daemon.Looker.LookRemoved.
type lookRemoved func(context.Context, record.Cluster) (daemon.Basis, error)

// orphans are the plans of live clusters that this folder made and has no more.
func (p *plansOf) orphans(ctx context.Context, client kubernetes.Interface, look lookRemoved, namespace, revision string) ([]plan.Plan, error) {
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
	var found []goneCluster
	for i := range records {
		cluster, kind, ok := record.IsRecord(&records[i])
		if !ok || kind != record.Operation || there(cluster) {
			continue
		}
		var rec model.Record
		if record.Decode(record.Operation, records[i].Data[names.DataKey], &rec) != nil || rec.Owner == "" || !ours(rec.Owner) || rec.Stage == model.StageRemoved {
			continue
		}
		if p.filter == "" && p.vanished != nil { // with a filter those that are not selected would seem to be gone
			p.vanished.add(rec.ClusterName, cluster)
		}
		found = append(found, goneCluster{cluster, rec})
	}
	var out []plan.Plan
	for _, one := range found {
		if !selects(p.filter, one.Namespace, one.Name) {
			continue
		}
		made, err := p.orphan(ctx, look, one.Cluster, p.vanishedWith(one, found), revision)
		if err != nil {
			return nil, err
		}
		out = append(out, made...)
	}
	slices.SortFunc(out, func(a, b plan.Plan) int {
		return strings.Compare(path.Join(a.Namespace, a.Name), path.Join(b.Namespace, b.Name))
	})
	return out, nil
}

// goneCluster is a live cluster that the folder has no more.
type goneCluster struct {
	record.Cluster
	rec model.Record
}

// vanishedWith are the clusters that vanish together with one, by which the daemon refuses to
// delete many at once.
func (p *plansOf) vanishedWith(one goneCluster, gone []goneCluster) model.Vanished {
	v := model.Vanished{Known: true, Left: len(p.clusters)}
	if p.filter != "" { // those that are not selected only seem to be gone
		v.Clusters, v.Left = []string{one.String()}, 1
		return v
	}
	for _, other := range gone {
		if other.rec.Owner == one.rec.Owner && other.rec.DeleteConsent != "" {
			v.Clusters = append(v.Clusters, other.String())
		}
	}
	return v
}

// orphan is the plan of one cluster that the folder has no more; none where it was released.
func (p *plansOf) orphan(ctx context.Context, look lookRemoved, cluster record.Cluster, v model.Vanished, revision string) ([]plan.Plan, error) {
	basis, err := look(ctx, cluster)
	if err != nil {
		return nil, fmt.Errorf("looking at cluster %s, which has no definition: %w", cluster, err)
	}
	basis.Observed.Vanished = v
	given := basis.Observed.Commands
	from := "its definition is gone from " + basis.Record.Owner
	switch {
	case given.Released == "true":
		return nil, nil // nobody looks after it, with or without a definition
	case basis.Record.DeleteConsent == "":
		return []plan.Plan{untouched(basis, revision, from+": nothing of the cluster is deleted, and nobody looks after it; put the definition back, or give the cluster up with `stevedore release "+cluster.String()+"`")}, nil
	case given.Paused == "true":
		return []plan.Plan{untouched(basis, revision, from+" and had consented to delete-cluster, but the cluster is paused: nothing of it is deleted until `stevedore resume "+cluster.String()+"`")}, nil
	}
	one := deletion(basis, revision, p.now, plan.Basis{Kind: plan.Live, Admission: true, SecretsCompared: true})
	one.Unknown = append(one.Unknown, unknownOf(basis, one.Basis)...)
	return []plan.Plan{one}, nil
}

// untouched is the plan of a cluster without a definition of which nothing is deleted.
func untouched(basis daemon.Basis, revision, why string) plan.Plan {
	one := newPlan(basis.Desired, revision, plan.Course{})
	one.Basis = plan.Basis{Kind: plan.Live, Admission: true, SecretsCompared: true}
	one.Objects = []plan.Object{{Key: definitionKey(one.Namespace, one.Name), Change: plan.Orphaned, Class: plan.InPlace, Why: why}}
	return one
}

// deletion is the plan of a cluster without a definition that had consented to its deletion.
func deletion(basis daemon.Basis, revision string, now time.Time, says plan.Basis) plan.Plan {
	start := startOf(basis, nil, now)
	course := plan.Forward(start)
	one := newPlan(basis.Desired, revision, course)
	one.Basis = says
	sayReading(&one.Basis, basis, now)
	if len(course.Refused) > 0 {
		one.Objects = []plan.Object{{Key: definitionKey(one.Namespace, one.Name), Change: plan.Orphaned, Class: plan.Refused, Why: course.Refused[0].Message}}
		return one
	}
	one.Objects = plan.Deleted(&start)
	return one
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
