package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

func newReplacePod() *cobra.Command {
	var kube kubeFlags
	cmd := &cobra.Command{
		Use:   "replace-pod CLUSTER POD",
		Short: "Replace one stuck pod, which comes back on its set's template",
		Long: `replace-pod asks the daemon to delete one pod that does not come up, so that its
StatefulSet recreates it on its current template. It is for what the daemon does not
decide itself: two faults that meet, each of which waits for the other. The daemon looks
once more, and it never replaces a pod that is ready or whose node is a member, or may be
one. Why it waits is in ` + "`stevedore status`, as replace-pod-waits" + `. The command is for this
pod only, and for none that comes after it. It ends when the cluster's definition changes.`,
		Example:           `  stevedore replace-pod prod/orders crate-data-hot-orders-1`,
		Args:              takesClusterAndPod,
		ValidArgsFunction: kube.clusterThenPod,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, cluster, err := kube.clientFor(args[0], 0)
			if err != nil {
				return err
			}
			return replacePod(cmd, client, cluster, args[1])
		},
	}
	kube.add(cmd, true)
	return cmd
}

// takesClusterAndPod refuses a pod without its cluster, and more than one pod: each is looked
// at before the next.
func takesClusterAndPod(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) < 2:
		return fmt.Errorf("%s: CLUSTER and POD are wanted, as in: %s", cmd.CommandPath(), exampleOf(cmd))
	case len(args) > 2:
		return fmt.Errorf("%s takes one POD and was given %d (%s): see what becomes of one before the next", cmd.CommandPath(), len(args)-1, strings.Join(args[1:], ", "))
	}
	return nil
}

// replacePod gives the command, if the pod is one that may be stuck at all.
func replacePod(cmd *cobra.Command, client kubernetes.Interface, cluster record.Cluster, name string) error {
	ctx := cmd.Context()
	store := record.NewStore(record.OverClient(client.CoreV1(), nil))
	if entry, err := store.Load(ctx, cluster, record.Operation, &model.Record{}); err == nil && !entry.Exists() {
		// A mistyped cluster has no pods either, and that would be the wrong word.
		return noRecord(ctx, client, cluster, store.Give(ctx, cluster))
	}
	uid, err := stuckPod(ctx, client, cluster, name)
	if err != nil {
		return err
	}
	rec, handsOff, err := give(ctx, store, cluster, one(func(revision string) record.Command { return record.ReplacePod(name, uid, revision) }))
	if err != nil {
		return noRecord(ctx, client, cluster, err)
	}
	words := "the daemon looks at it once more and deletes it, unless its node is a member or may be one; `stevedore status` says why it waits"
	if handsOff != "" {
		words = "the cluster is " + handsOff + ", and nothing happens before that is taken back: stevedore resume " + cluster.String()
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "cluster %s: pod %s is to be replaced; %s\n", cluster, name, words); err != nil {
		return err
	}
	warnIfNobodyActs(ctx, client, []attendance.Cluster{attendedBy(cluster, rec)}, cmd.ErrOrStderr())
	return nil
}

// stuckPod is the UID of a pod of the cluster that is not ready.
func stuckPod(ctx context.Context, client kubernetes.Interface, cluster record.Cluster, name string) (string, error) {
	pods, err := podsOf(ctx, client, cluster)
	if err != nil {
		return "", err
	}
	var stuck []string
	for i := range pods {
		p := &pods[i]
		ready := isReady(p)
		switch {
		case p.Name != name && !ready:
			stuck = append(stuck, p.Name)
		case p.Name != name:
		case p.DeletionTimestamp != nil:
			return "", fmt.Errorf("pod %s is on its way out already: see what comes after it", name)
		case ready:
			return "", fmt.Errorf("pod %s is ready, and its node may have shards: it is not replaced; `stevedore restart %s` restarts the cluster's pods, each behind every gate", name, cluster)
		default:
			return string(p.UID), nil
		}
	}
	if len(stuck) == 0 {
		return "", fmt.Errorf("cluster %s has no pod %s, and none of its pods is stuck: all that are there are ready", cluster, name)
	}
	return "", fmt.Errorf("cluster %s has no pod %s; not ready are: %s", cluster, name, strings.Join(stuck, ", "))
}

// podsOf are the pods of a cluster's nodes, by name.
func podsOf(ctx context.Context, client kubernetes.Interface, cluster record.Cluster) ([]corev1.Pod, error) {
	list, err := client.CoreV1().Pods(cluster.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: names.ComponentLabel + "=" + names.Component + "," + names.NameLabel + "=" + cluster.Name,
	})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of cluster %s: %w", cluster, err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// clusterThenPod completes CLUSTER, and then those of its pods that are not ready.
func (k *kubeFlags) clusterThenPod(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return k.clusterNames(cmd, args, typed)
	}
	return quietly(cmd, func(ctx context.Context) ([]string, error) {
		client, cluster, err := k.clientFor(args[0], completionTimeout)
		if err != nil {
			return nil, err
		}
		pods, err := podsOf(ctx, client, cluster)
		var stuck []string
		for i := range pods {
			if !isReady(&pods[i]) {
				stuck = append(stuck, pods[i].Name)
			}
		}
		return stuck, err
	})
}
