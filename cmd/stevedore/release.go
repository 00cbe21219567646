package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// endsRelease says what a push does afterwards.
const endsRelease = "`stevedore resume` ends that, and so does a push that changes its definition"

func newRelease() *cobra.Command {
	var (
		of      clusterArgs
		wait    bool
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "release CLUSTER",
		Short: "Give back what is held of a cluster, then leave it alone until its definition changes",
		Long: `release gives back what stevedore holds of a cluster (the allocation, exclusions,
disruption budgets) and then does nothing to it any more. resume ends the release, and
so does a push that changes the definition of the cluster: stevedore then manages it as
before. To keep it released, remove its definition from the source. Nothing of the
cluster is deleted. The daemon does the giving back: --wait waits until it has, which is
what to do before stevedore is removed.`,
		Example: `  stevedore release prod/orders
  stevedore release --all --all-namespaces --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, clusters, err := of.find(cmd.Context(), args)
			if err != nil {
				return err
			}
			store := record.NewStore(record.OverClient(client.CoreV1(), nil))
			given, failed := giveEach(cmd.Context(), client, store, clusters, one(record.Release))
			if !wait {
				for _, one := range given {
					if _, err := fmt.Fprintf(cmd.OutOrStdout(), "cluster %s: released; the daemon gives back what it holds and then leaves the cluster alone; %s\n", one.cluster, endsRelease); err != nil {
						return err
					}
				}
			}
			if len(given) == 0 && failed != nil {
				return failed
			}
			if err := endOfCommand(cmd, client, "release", given); err != nil || !wait {
				return errors.Join(failed, err)
			}
			patience := make(chan time.Time)
			timer := time.AfterFunc(timeout, func() { close(patience) })
			defer timer.Stop()
			// One that nobody releases keeps no other from being waited for, and told.
			for _, one := range given {
				if err := untilLetGo(cmd.Context(), store, one.cluster, patience); err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "cluster %s: released, and nothing of it is held any more; %s\n", one.cluster, endsRelease); err != nil {
					return err
				}
			}
			return failed
		},
	}
	of.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&wait, "wait", false, "end when the daemon has given everything back")
	flags.DurationVar(&timeout, "timeout", 5*time.Minute, "how long --wait waits, for all clusters together")
	return cmd
}

// untilLetGo waits for the daemon, until patience ends.
func untilLetGo(ctx context.Context, store *record.Store, cluster record.Cluster, patience <-chan time.Time) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		var rec model.Record
		if _, err := store.Load(ctx, cluster, record.Operation, &rec); err != nil {
			return err
		}
		if rec.ReleaseDone() {
			return nil
		}
		select {
		case <-tick.C:
		case <-patience:
			return fmt.Errorf("cluster %s was told to be released, and that is not done in time%s: do not remove stevedore before it is", cluster, heldWords(rec))
		case <-ctx.Done():
			return fmt.Errorf("told to stop before cluster %s was released%s: it stays asked for; do not remove stevedore before it is done", cluster, heldWords(rec))
		}
	}
}

// heldWords say what is left to do for the daemon.
func heldWords(rec model.Record) string {
	if rec.Command.Commands.Released != "true" {
		return " (no daemon has seen it: does one run that may act in this namespace?)"
	}
	var parts []string
	if rec.Lock != nil {
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
