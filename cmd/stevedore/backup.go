package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

func newBackup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "List a cluster's snapshots, and take one now",
		Long: `backup is about the snapshots that spec.backups asks for: list shows those that are
there and why each is kept, and now asks the daemon for one more.`,
		Example: `  stevedore backup list prod/orders
  stevedore backup now prod/orders --wait`,
		Args: knownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBackupList(), newBackupNow(),
		notYet("drill", "this release tries no snapshot out. RESTORE SNAPSHOT in another cluster, which has the same repository with readonly = true, shows that one can be read"))
	return cmd
}

// notYet is a verb that people look for and that this release does not have: that it is unknown would send
// them looking for the right word.
func notYet(verb, why string) *cobra.Command {
	return &cobra.Command{
		Use: verb, Hidden: true, DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fmt.Errorf("`%s` is not there yet: %s", cmd.CommandPath(), why)
		},
	}
}

// newRestore is refused by its name.
func newRestore() *cobra.Command {
	return notYet("restore", "a new cluster is made from a snapshot by spec.backups.restore (docs/backups.md). Into a cluster that runs CrateDB's statement RESTORE SNAPSHOT restores tables, with the repository and the name that `stevedore backup list` shows")
}

// errNoBackups says of a cluster that no snapshots of it are taken, and why.
func errNoBackups(cluster record.Cluster, rec *model.Record) error {
	if !rec.Bootstrap.Done {
		return fmt.Errorf("cluster %s is not created yet: snapshots begin after that, where its definition has spec.backups", cluster)
	}
	return fmt.Errorf("cluster %s has no spec.backups, as far as the daemon has seen: write there where its snapshots go", cluster)
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
