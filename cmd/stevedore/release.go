package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops"
)

func newRelease() *cobra.Command {
	var (
		kube          kubeFlags
		all           bool
		allNamespaces bool
		wait          bool
		timeout       time.Duration
	)
	cmd := &cobra.Command{
		Use:   "release [CLUSTER]",
		Short: "Let a cluster go: give back what is held, then keep hands off",
		Long: `release gives back what stevedore holds of a cluster (the allocation, exclusions,
disruption budgets) and then does nothing to it any more, until its definition
changes or resume takes the release back. Nothing of the cluster is deleted. The
daemon does the giving back: --wait waits until it has, which is what to do before
stevedore is removed.`,
		Example: `  stevedore release -n prod orders
  stevedore release --all --all-namespaces --wait`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && !all:
				return errors.New("which cluster? Name one, or say --all")
			case len(args) == 1 && (all || allNamespaces):
				return errors.New("either one CLUSTER or --all")
			case allNamespaces && !all:
				return errors.New("--all-namespaces goes with --all")
			}
			cfg, namespace, err := kube.config()
			if err != nil {
				return err
			}
			client, err := kubernetes.NewForConfig(cfg)
			if err != nil {
				return fmt.Errorf("making the client for the API server: %w", err)
			}
			var clusters []record.Cluster
			switch {
			case len(args) == 1:
				clusters = []record.Cluster{{Namespace: namespace, Name: args[0]}}
			case allNamespaces:
				namespace = metav1.NamespaceAll
				fallthrough
			default:
				if clusters, err = recordedClusters(cmd.Context(), client, namespace); err != nil {
					return err
				}
				if len(clusters) == 0 {
					_, err := fmt.Fprintln(cmd.OutOrStdout(), "no clusters are recorded: there is nothing to release")
					return err
				}
			}
			store := record.NewStore(record.OverClient(client.CoreV1(), nil))
			said := "released; the daemon gives back what it holds and then keeps its hands off"
			for _, cluster := range clusters {
				if _, err := give(cmd.Context(), store, cluster, one(record.Release)); err != nil {
					return err
				}
				if wait {
					continue
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "cluster %s: %s\n", cluster, said); err != nil {
					return err
				}
			}
			if !wait {
				return nil
			}
			patience := make(chan time.Time)
			timer := time.AfterFunc(timeout, func() { close(patience) })
			defer timer.Stop()
			for _, cluster := range clusters {
				if err := untilLetGo(cmd.Context(), store, cluster, patience); err != nil {
					return err
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "cluster %s: released, and nothing of it is held any more\n", cluster); err != nil {
					return err
				}
			}
			return nil
		},
	}
	kube.add(cmd, true)
	cmd.ValidArgsFunction = kube.clusterNames
	flags := cmd.Flags()
	flags.BoolVar(&all, "all", false, "every cluster of the namespace")
	flags.BoolVarP(&allNamespaces, "all-namespaces", "A", false, "with --all: of all namespaces")
	flags.BoolVar(&wait, "wait", false, "end when the daemon has given everything back")
	flags.DurationVar(&timeout, "timeout", 5*time.Minute, "how long --wait waits, for all clusters together")
	return cmd
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

// untilLetGo waits for the daemon, until patience ends.
func untilLetGo(ctx context.Context, store *record.Store, cluster record.Cluster, patience <-chan time.Time) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		var rec ops.Record
		if _, err := store.Load(ctx, cluster, record.Operation, &rec); err != nil {
			return err
		}
		if rec.LetGo() {
			return nil
		}
		select {
		case <-tick.C:
		case <-patience:
			return fmt.Errorf("cluster %s was told to be released, and that is not done in time%s: do not remove stevedore before it is", cluster, heldWords(rec))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// heldWords say what is left to do for the daemon.
func heldWords(rec ops.Record) string {
	if rec.Command.Commands.Released != "true" {
		return " (no daemon has seen it: does one run that may act in this namespace?)"
	}
	var parts []string
	if rec.Hold != nil {
		parts = append(parts, "the allocation is held")
	}
	if rec.Exclusions != nil {
		parts = append(parts, "nodes are excluded")
	}
	for _, reason := range rec.Shown.Reasons {
		parts = append(parts, reason.Name+": "+reason.Message)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}
