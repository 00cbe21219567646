package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

func newBackup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "List a cluster's snapshots, take one now, and prove one",
		Long: `backup is about the snapshots that spec.backups asks for: list shows those that are
there and why each is kept, now asks the daemon for one more, and drill has it restore one
on trial.`,
		Example: `  stevedore backup list prod/orders
  stevedore backup now prod/orders --wait
  stevedore backup drill prod/orders --wait`,
		Args: knownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBackupList(), newBackupNow(), newBackupDrill())
	return cmd
}

// backedUp is the record of a cluster that has spec.backups.
func (k *kubeFlags) backedUp(ctx context.Context, arg string) (client kubernetes.Interface, store *record.Store, cluster record.Cluster, rec model.Record, commands []record.Command, err error) {
	if client, cluster, err = k.clientFor(arg, 0); err != nil {
		return nil, nil, cluster, rec, nil, err
	}
	store = record.NewStore(record.OverClient(client.CoreV1(), nil))
	entry, err := store.Load(ctx, cluster, record.Operation, &rec)
	switch {
	case err != nil:
	case !entry.Exists():
		err = noRecord(ctx, client, cluster, store.Give(ctx, cluster))
	case rec.Backups == nil:
		err = errNoBackups(cluster, &rec)
	}
	return client, store, cluster, rec, entry.Commands(), err
}

// errNoBackups says of a cluster that no snapshots of it are taken, and why.
func errNoBackups(cluster record.Cluster, rec *model.Record) error {
	if !rec.Bootstrap.Done {
		return fmt.Errorf("cluster %s is not created yet: snapshots begin after that, where its definition has spec.backups", cluster)
	}
	return fmt.Errorf("cluster %s has no spec.backups, as far as the daemon has seen: write into its definition where its snapshots go (docs/backups.md), and push it", cluster)
}

// scheduleNames completes --schedule with those of the cluster that was typed already.
func (k *kubeFlags) scheduleNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return quietly(cmd, func(ctx context.Context) ([]string, error) {
		if len(args) == 0 {
			return nil, errors.New("no cluster is typed")
		}
		client, cluster, err := k.clientFor(args[0], completionTimeout)
		if err != nil {
			return nil, err
		}
		var rec model.Record
		_, err = record.NewStore(record.OverClient(client.CoreV1(), nil)).Load(ctx, cluster, record.Operation, &rec)
		return schedulesIn(rec.Backups), err
	})
}

// schedulesIn are the names of those that the definition has.
func schedulesIn(b *model.Backups) (names []string) {
	if b == nil {
		return nil
	}
	for _, s := range b.Schedules {
		if s.Cron != "" {
			names = append(names, s.Name)
		}
	}
	return names
}
