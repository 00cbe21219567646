package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

func newBackupNow() *cobra.Command {
	var (
		kube     kubeFlags
		schedule string
		wait     bool
		timeout  time.Duration
	)
	cmd := &cobra.Command{
		Use:   "now CLUSTER",
		Short: "Ask the daemon for a snapshot now",
		Long: `now asks the daemon for a snapshot of all tables, which stays until somebody drops it. With
--schedule it is one of that schedule: it has the schedule's tables, is kept as long as
the schedule says, and makes up for a window that waits. It begins as soon as one by
schedule would: after the operation that is under way, and after the snapshot that runs.
A push in between does not take it back. --wait says on standard error what it waits for,
and ends when the snapshot was taken or has failed.`,
		Example: `  stevedore backup now prod/orders
  stevedore backup now prod/orders --schedule nightly --wait --timeout 4h`,
		Args:              takesOne("CLUSTER"),
		ValidArgsFunction: kube.clusterNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout <= 0 {
				return errors.New("--timeout must be longer than nothing")
			}
			asked, err := askSnapshot(cmd, &kube, args[0], schedule, wait)
			if err != nil || !wait {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			v, err := asked.until(ctx)
			if cmd.Context().Err() != nil {
				return fmt.Errorf("told to stop before snapshot %s of cluster %s was taken: it stays asked for", asked.snapshot, asked.cluster)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "cluster %s: snapshot %s was taken%s\n", asked.cluster, v.taken.Name, takenWords(*v.taken))
			return err
		},
	}
	kube.add(cmd, true)
	flags := cmd.Flags()
	flags.StringVar(&schedule, "schedule", "", "a schedule of spec.backups that it is to be one of")
	flags.BoolVar(&wait, "wait", false, "end when it was taken, or has failed")
	flags.DurationVar(&timeout, "timeout", 2*time.Hour, "how long --wait waits")
	complete(cmd, "schedule", kube.scheduleNames)
	return cmd
}

// askSnapshot gives the command, and says what it waits for already.
func askSnapshot(cmd *cobra.Command, kube *kubeFlags, arg, schedule string, wait bool) (askedSnapshot, error) {
	ctx := cmd.Context()
	client, store, cluster, rec, _, err := kube.backedUp(ctx, arg)
	if err != nil {
		return askedSnapshot{}, err
	}
	if schedule != "" && !slices.Contains(schedulesIn(rec.Backups), schedule) {
		return askedSnapshot{}, noSchedule(cluster, schedule, schedulesIn(rec.Backups))
	}
	var command record.Command
	var same bool
	replaced := ""
	rec, handsOff, err := giveBy(ctx, store, cluster, func(rec *model.Record, commands []record.Command, _ string) []record.Command {
		command, same = nextBackup(rec, commands, time.Now(), schedule)
		if replaced = ""; !same {
			replaced = standingBackup(rec, commands)
		}
		return []record.Command{command}
	})
	if err != nil {
		return askedSnapshot{}, noRecord(ctx, client, cluster, err)
	}
	of, at, _ := model.BackupCommand(command.Value)
	asked := askedSnapshot{
		client: client, store: store, cluster: cluster, command: command.Value, snapshot: model.SnapshotName(of, at),
		tick: askedTick, stuckFor: askedStuckFor, say: func(format string, of ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", of...) },
	}
	out := cmd.OutOrStdout()
	if wait {
		out = cmd.ErrOrStderr()
	}
	is := "is asked for"
	if same {
		is = "is asked for already, and this is the same one"
	}
	if of, at, ok := model.BackupCommand(replaced); ok {
		is += "; it takes the place of " + model.SnapshotName(of, at) + ", which was asked for before and has not begun"
	}
	if _, err := fmt.Fprintf(out, "cluster %s: snapshot %s %s%s\n", cluster, asked.snapshot, is, nextWords(cluster, wait, beforeSnapshot(cluster, rec, handsOff))); err != nil {
		return asked, err
	}
	warnIfNobodyActs(ctx, client, []attendance.Cluster{attendedBy(cluster, rec)}, cmd.ErrOrStderr())
	return asked, nil
}

// standingBackup is a command for a snapshot that the daemon has not begun; "" for none.
func standingBackup(rec *model.Record, commands []record.Command) string {
	for _, c := range commands {
		if c.Key == names.BackupAtAnnotation && (rec.Backups == nil || c.Value != rec.Backups.Command) {
			return c.Value
		}
	}
	return ""
}

// nextBackup is the command for one more snapshot: with a time whose name no snapshot has, as it is by the second. It is the
// same where one of the schedule is asked for and has not begun: that one has all that there is now.
func nextBackup(rec *model.Record, commands []record.Command, now time.Time, schedule string) (command record.Command, same bool) {
	of := cmp.Or(schedule, definition.CommandSchedule)
	standing := standingBackup(rec, commands)
	if waiting, _, ok := model.BackupCommand(standing); ok && waiting == of {
		return record.Command{Key: names.BackupAtAnnotation, Value: standing}, true
	}
	at := now.UTC().Truncate(time.Second)
	for nameTaken(rec.Backups, of, at) {
		at = at.Add(time.Second)
	}
	return record.Backup(at, schedule), false
}

// nameTaken reports whether a snapshot has the name that one of this time would have, or had it.
func nameTaken(b *model.Backups, schedule string, at time.Time) bool {
	if b == nil {
		return false
	}
	name := model.SnapshotName(schedule, at)
	of, was, ok := model.BackupCommand(b.Command)
	return slices.ContainsFunc(b.Taken, func(k model.TakenSnapshot) bool { return k.Name == name }) ||
		b.Running != nil && b.Running.Name == name || b.FailedSnapshot == name || ok && model.SnapshotName(of, was) == name
}

func noSchedule(cluster record.Cluster, schedule string, there []string) error {
	if len(there) == 0 {
		return fmt.Errorf("cluster %s has no schedule %q, nor any other: leave --schedule out", cluster, schedule)
	}
	return fmt.Errorf("cluster %s has no schedule %q: there are %s; without --schedule a snapshot is none of theirs", cluster, schedule, strings.Join(there, ", "))
}

// beforeSnapshot says what has to be over before one begins, as far as the record says.
func beforeSnapshot(cluster record.Cluster, rec model.Record, handsOff string) string {
	reason, operation := holdsSnapshot(rec), rec.Operation
	switch b := rec.Backups; {
	case handsOff != "":
		return "the cluster is " + handsOff + ", and it begins when that is taken back: stevedore resume " + cluster.String()
	case reason != nil:
		return "it waits for " + reason.Name + ": " + reason.Message
	case len(rec.Suspended) > 0 && operation == nil:
		return "the cluster is suspended, and it begins when the cluster runs again"
	case b != nil && b.Running != nil:
		return "it begins after " + b.Running.Name + ", which is being taken since " + b.Running.Began.UTC().Format(time.RFC3339)
	case repositoryFails(rec) != "":
		return "the repository is not ready: " + repositoryFails(rec)
	case operation != nil:
		return "it begins after the operation " + string(operation.Kind) + ", or between two of its pods once it has waited for spec.backups.maxDelay"
	}
	return beginsSoon
}

// takenWords are ": 12 tables in 1m5s".
func takenWords(k model.TakenSnapshot) string {
	words := ""
	if k.Tables > 0 {
		words = fmt.Sprintf(": %d table", k.Tables)
		if k.Tables > 1 {
			words += "s"
		}
	}
	if !k.Began.IsZero() {
		words += " in " + daysSince(k.Began, k.Finished)
	}
	return words
}
