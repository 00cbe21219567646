package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/record"
)

// selection is which clusters a verb that reads shows.
type selection struct {
	client kubernetes.Interface
	// namespace is "" for all; only.Name is "" where no cluster is named.
	namespace string
	only      record.Cluster
}

// selected are the cluster that is named, or those of the namespace, or with all of every namespace.
func (k *kubeFlags) selected(args []string, all bool) (selection, error) {
	client, namespace, err := k.client(0)
	if err != nil {
		return selection{}, err
	}
	s := selection{client: client, namespace: namespace}
	if len(args) == 1 {
		if s.only, err = k.cluster(args[0], namespace); err != nil {
			return selection{}, err
		}
		s.namespace, all = s.only.Namespace, all && !strings.Contains(args[0], "/")
	}
	if all {
		s.namespace = metav1.NamespaceAll
	}
	return s, nil
}

// records of the clusters. A namespace that is not there, and a cluster that is named and has none, are
// errors.
func (s selection) records(ctx context.Context) ([]*corev1.ConfigMap, error) {
	list, err := s.client.CoreV1().ConfigMaps(s.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: record.Label + "=" + string(record.Operation),
	})
	if err != nil {
		return nil, fmt.Errorf("listing the records of clusters: %w", err)
	}
	var objects []*corev1.ConfigMap
	for i := range list.Items {
		cluster, kind, ok := record.IsRecord(&list.Items[i])
		if ok && kind == record.Operation && (s.only.Name == "" || s.only.Name == cluster.Name) {
			objects = append(objects, &list.Items[i])
		}
	}
	if len(objects) > 0 {
		return objects, nil
	}
	if s.namespace != metav1.NamespaceAll {
		if err := namespaceThere(ctx, s.client, s.namespace); err != nil {
			return nil, err
		}
	}
	switch {
	case s.only.Name == "":
		return nil, nil
	case s.namespace == metav1.NamespaceAll:
		return nil, fmt.Errorf("there is no record of a cluster %s in any namespace: check its name, and that the daemon has seen its definition", s.only.Name)
	}
	return nil, errors.New(unrecorded(ctx, s.client, s.only))
}
