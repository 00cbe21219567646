package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/sources"
)

// find gives the clusters that are waited for. With --dir it notes the revision of the directory,
// and --all are the clusters that it defines: others of their namespaces may belong to other
// sources, and never take that revision.
func (w *waiting) find(ctx context.Context, cmd *cobra.Command, of *clusterArgs, args []string, rendering *renderFlags, dir string) (kubernetes.Interface, []record.Cluster, error) {
	if dir != "" {
		snapshot, err := snapshotOfDir(ctx, dir)
		if err != nil {
			return nil, nil, err
		}
		w.revision, w.newest = snapshot.Revision, true
		if of.all {
			clusters, err := definedBy(ctx, cmd, rendering, dir, snapshot, of.kube.namespace)
			if err != nil {
				return nil, nil, err
			}
			client, _, err := of.kube.client(0)
			return client, clusters, err
		}
	}
	client, clusters, err := of.find(ctx, args)
	w.all, w.namespace = of.all, of.namespace
	return client, clusters, err
}

// snapshotOfDir has the revision that a daemon calls a directory by that is as this one is now.
func snapshotOfDir(ctx context.Context, dir string) (sources.Snapshot, error) {
	source, err := (&sourceFlags{dir: dir}).open(nil, nil)
	if err != nil {
		return sources.Snapshot{}, err
	}
	defer func() { _ = source.Close() }()
	return source.Fetch(ctx)
}

// definedBy are the clusters that a directory defines, in one namespace or, where it is "", in all.
// Where a definition cannot be read, it may be that of one more cluster: that is an error.
func definedBy(ctx context.Context, cmd *cobra.Command, rendering *renderFlags, dir string, snapshot sources.Snapshot, namespace string) (clusters []record.Cluster, err error) {
	renderer, err := rendering.renderer(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = renderer.Close() }()
	build, err := renderer.Build(ctx, snapshot.Tree, ".")
	if err != nil {
		return nil, fmt.Errorf("reading --dir %s: %w", dir, err)
	}
	if len(build.Problems) > 0 {
		sayProblems(cmd, dir, build.Problems)
		return nil, fmt.Errorf("reading --dir %s: which clusters it defines is not known before these problems are corrected", dir)
	}
	for _, one := range build.Clusters {
		cluster := record.Cluster{Namespace: one.Namespace, Name: one.Name}
		if (namespace == "" || namespace == cluster.Namespace) && !slices.Contains(clusters, cluster) {
			clusters = append(clusters, cluster)
		}
	}
	if len(clusters) == 0 && namespace != "" {
		return nil, fmt.Errorf("reading --dir %s: it defines no cluster in namespace %s: correct -n, or leave it out", dir, namespace)
	}
	if len(clusters) == 0 {
		return nil, fmt.Errorf("reading --dir %s: %w in it: %s", dir, errNoDefinition, whatIsThere(snapshot.Tree, "."))
	}
	return clusters, nil
}
