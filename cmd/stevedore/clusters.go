package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/spelling"
)

// clusterArgs say which clusters a verb is for: one CLUSTER, or with --all those of a
// namespace, or of every namespace.
type clusterArgs struct {
	kube               kubeFlags
	all, allNamespaces bool
	// many says that it may be several CLUSTERs.
	many bool
	// namespace is where those of --all are, once they were found; "" for all.
	namespace string
}

func (a *clusterArgs) add(cmd *cobra.Command) {
	a.kube.add(cmd, true)
	cmd.Args = a.check
	cmd.ValidArgsFunction = a.kube.clusterNames
	cmd.Flags().BoolVar(&a.all, "all", false, "every cluster of the namespace")
	cmd.Flags().BoolVarP(&a.allNamespaces, "all-namespaces", "A", false, "with --all: of all namespaces")
}

func (a *clusterArgs) check(cmd *cobra.Command, args []string) error {
	switch {
	case a.allNamespaces && !a.all:
		return fmt.Errorf("%s: --all-namespaces goes with --all", cmd.CommandPath())
	case a.allNamespaces && a.kube.namespace != "":
		return fmt.Errorf("%s: either -n %s or --all-namespaces: the two name different clusters", cmd.CommandPath(), a.kube.namespace)
	case a.all && len(args) > 0:
		return fmt.Errorf("%s: either one CLUSTER or --all", cmd.CommandPath())
	case a.all:
		return nil
	case a.many && len(args) > 0:
		return nil
	}
	return takesOne("CLUSTER (or --all)")(cmd, args)
}

// find gives the clusters. None in a namespace is an error: a mistyped namespace is
// not to look like success. None in all namespaces is none: nothing was mistyped.
func (a *clusterArgs) find(ctx context.Context, args []string) (kubernetes.Interface, []record.Cluster, error) {
	client, namespace, err := a.kube.client(0)
	if err != nil {
		return nil, nil, err
	}
	if !a.all {
		var clusters []record.Cluster
		for _, arg := range args {
			cluster, err := a.kube.cluster(arg, namespace)
			if err != nil {
				return nil, nil, err
			}
			if !slices.Contains(clusters, cluster) {
				clusters = append(clusters, cluster)
			}
		}
		return client, clusters, nil
	}
	if a.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	a.namespace = namespace
	clusters, err := recordedClusters(ctx, client, namespace)
	if err != nil || len(clusters) > 0 || a.allNamespaces {
		return client, clusters, err
	}
	if err := namespaceThere(ctx, client, namespace); err != nil {
		return client, nil, err
	}
	return client, nil, fmt.Errorf("no cluster is recorded in namespace %s: check -n; `stevedore status -A` lists the clusters of all namespaces", namespace)
}

// cluster reads NAME or NAMESPACE/NAME; namespace is that of a NAME alone.
func (k *kubeFlags) cluster(text, namespace string) (record.Cluster, error) {
	before, after, both := strings.Cut(text, "/")
	switch {
	case !both && text != "":
		return record.Cluster{Namespace: namespace, Name: text}, nil
	case before == "" || after == "" || strings.Contains(after, "/"):
		return record.Cluster{}, fmt.Errorf("%q names no cluster: write NAMESPACE/NAME, or NAME with -n NAMESPACE", text)
	case k.namespace != "" && k.namespace != before:
		return record.Cluster{}, fmt.Errorf("%s is in namespace %s, and -n says %s: leave -n out", text, before, k.namespace)
	}
	return record.Cluster{Namespace: before, Name: after}, nil
}

// noRecord says of a cluster without a record whether its namespace is there at all.
func noRecord(ctx context.Context, client kubernetes.Interface, cluster record.Cluster, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	if missing := namespaceThere(ctx, client, cluster.Namespace); missing != nil {
		return missing
	}
	return errors.New(unrecorded(ctx, client, cluster))
}

// unrecorded says that there is no record of a cluster, and which clusters have one: a name is
// mistyped more often than a record is missing.
func unrecorded(ctx context.Context, client kubernetes.Interface, cluster record.Cluster) string {
	said := fmt.Sprintf("there is no record of a cluster %s: check its name and namespace, and that the daemon has seen its definition", cluster)
	others, err := recordedClusters(ctx, client, metav1.NamespaceAll)
	if err != nil {
		// A role of one namespace may list only there.
		others, err = recordedClusters(ctx, client, cluster.Namespace)
	}
	if err != nil || len(others) == 0 {
		return said
	}
	if meant := meantClusters(cluster, others); len(meant) > 0 {
		return fmt.Sprintf("there is no record of a cluster %s: did you mean %s?", cluster, strings.Join(meant, " or "))
	}
	var listed []string
	for _, other := range others {
		listed = append(listed, other.String())
	}
	listed = spelling.Sorted(cluster.String(), listed)
	return fmt.Sprintf("%s; there are records of %s", said, strings.Join(listed[:min(len(listed), 5)], ", "))
}

// meantClusters are those of the same name in other namespaces; without one, those whose name is
// spelled most like it, in the same namespace if there is one.
func meantClusters(cluster record.Cluster, others []record.Cluster) []string {
	called := func(name string) (all []string) {
		for _, other := range others {
			if other.Name == name {
				all = append(all, other.String())
			}
		}
		return all
	}
	meant := called(cluster.Name)
	if len(meant) == 0 {
		var known []string
		for _, other := range others {
			known = append(known, other.Name)
		}
		near := record.Cluster{Namespace: cluster.Namespace, Name: spelling.Nearest(cluster.Name, known)}
		if meant = called(near.Name); slices.Contains(meant, near.String()) {
			meant = []string{near.String()}
		}
	}
	slices.Sort(meant)
	return meant[:min(len(meant), 5)]
}

// recordedClusters are those that stevedore has a record of.
func recordedClusters(ctx context.Context, client kubernetes.Interface, namespace string) ([]record.Cluster, error) {
	list, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: record.Label + "=" + string(record.Operation)})
	if err != nil {
		return nil, fmt.Errorf("listing the records of clusters: %w", err)
	}
	var clusters []record.Cluster
	for i := range list.Items {
		if cluster, kind, ok := record.IsRecord(&list.Items[i]); ok && kind == record.Operation {
			clusters = append(clusters, cluster)
		}
	}
	return clusters, nil
}
