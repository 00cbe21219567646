package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

func cut(text string) (before, after string, found bool) { return strings.Cut(text, "/") }

func newPause() *cobra.Command {
	return command("pause", "Keep stevedore's hands off a cluster",
		`pause makes the daemon do nothing to a cluster until resume, or until the
cluster's definition changes. What it holds in the database is given back; a
restart that was under way goes on after the pause.`,
		one(record.Pause), "is to be paused; `stevedore resume` goes on, and so does a change of its definition")
}

func newResume() *cobra.Command {
	return command("resume", "Go on with a cluster that was paused, aborted or released",
		`resume takes a pause, an abort or a release back, also one that the definition's
annotation asks for, until the cluster's definition changes. With --all a released
cluster stays released: name it to end its release.`,
		func(revision string) []record.Command {
			return []record.Command{record.Resume(revision), record.Unabort(revision), record.Keep(revision)}
		}, "resumed: no pause, abort or release by command stands any more")
}

// resumePaused leaves a release as it is.
func resumePaused(revision string) []record.Command {
	return []record.Command{record.Resume(revision), record.Unabort(revision)}
}

func newAbort() *cobra.Command {
	return command("abort", "End what is in progress where it stands",
		`abort ends what is under way, a restart, an upgrade, a grow or a shrink: what is held
in the database is given back, no further pod goes down, and it is not begun again
until the cluster's definition changes or resume takes the abort back. Pods that were
restarted stay so, and so do nodes that have left. A drill and a restore of tables end too:
the tables of the drill are dropped, and of the restore those that are not whole yet. No
other one begins until the abort is taken back.`,
		one(record.Abort), "is to be aborted; the daemon gives back what it holds and begins nothing of this definition again")
}

func newRestart() *cobra.Command {
	return command("restart", "Restart every node of a cluster, one after the other",
		`restart asks for a rolling restart of what started before now: dedicated masters
first, then the groups in order, each pod behind every gate. It takes back an abort
that stands. The same is asked for in Git by the annotation stevedore.dev/restartedAt.`,
		func(revision string) []record.Command {
			return []record.Command{record.Restart(time.Now(), revision), record.Unabort(revision)}
		}, "a rolling restart is asked for; `stevedore status` shows it")
}

func command(verb, short, long string, make func(revision string) []record.Command, said string) *cobra.Command {
	var of clusterArgs
	cmd := &cobra.Command{
		Use:   verb + " CLUSTER",
		Short: short,
		Long:  long,
		Example: "  stevedore " + verb + " prod/orders\n" +
			"  stevedore " + verb + " --all -n prod",
		RunE: func(cmd *cobra.Command, args []string) error {
			client, clusters, err := of.find(cmd.Context(), args)
			if err != nil {
				return err
			}
			store := record.NewStore(record.OverClient(client.CoreV1(), nil))
			if verb == "resume" && of.all {
				make, said = resumePaused, "resumed: no pause or abort by command stands any more; a release stays"
			}
			given, err := giveEach(cmd.Context(), client, store, clusters, make)
			for _, one := range given {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "cluster %s: %s\n", one.cluster, answer(verb, said, one)); err != nil {
					return err
				}
			}
			if err != nil {
				return err
			}
			return endOfCommand(cmd, client, verb, given)
		},
	}
	of.add(cmd)
	return cmd
}

// answer says what a command does with this cluster, where that is not what it does with most (said).
func answer(verb, said string, one givenTo) string {
	switch {
	case verb == "restart" && one.handsOff != "":
		return "a rolling restart is asked for; the cluster is " + one.handsOff + ", and it begins when that is taken back: stevedore resume " + one.cluster.String()
	case verb == "restart" && one.suspended:
		return "the cluster is suspended, and no node runs that could be restarted: all nodes start when its definition has replicas again"
	case verb == "resume" && one.suspended:
		return said + "; the cluster is suspended, and only its definition ends that: it starts when the definition has replicas again"
	case verb == "abort" && one.idle:
		return "from now on nothing of this definition begins, until `stevedore resume " + one.cluster.String() + "` or until the definition changes; nothing was in progress that had to stop"
	}
	return said
}

// endOfCommand says what hinders a command that was given: no daemon, or no cluster.
func endOfCommand(cmd *cobra.Command, client kubernetes.Interface, verb string, given []givenTo) error {
	if len(given) == 0 {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "no clusters are recorded in any namespace: there is nothing to %s\n", verb)
		return err
	}
	var clusters []attendance.Cluster
	for _, one := range given {
		clusters = append(clusters, one.attended)
	}
	warnIfNobodyActs(cmd.Context(), client, clusters, cmd.ErrOrStderr())
	return nil
}

// givenTo is a cluster that a command was given to.
type givenTo struct {
	cluster record.Cluster
	// handsOff says how the cluster is left alone; "" where it is not.
	handsOff string
	// idle: neither an operation nor a restore of tables is recorded.
	idle bool
	// suspended: it is, and is not on its way back.
	suspended bool
	attended  attendance.Cluster
}

// giveEach gives a command to each cluster. One that cannot take it does not keep it
// from the others, and is named in the error.
func giveEach(ctx context.Context, client kubernetes.Interface, store *record.Store, clusters []record.Cluster, make func(revision string) []record.Command) (given []givenTo, err error) {
	var failed []error
	for _, cluster := range clusters {
		rec, handsOff, err := give(ctx, store, cluster, make)
		if err != nil {
			failed = append(failed, noRecord(ctx, client, cluster, err))
			continue
		}
		given = append(given, givenTo{cluster, handsOff, idle(rec), rec.IsSuspended(), attendedBy(cluster, rec)})
	}
	return given, errors.Join(failed...)
}

func idle(rec model.Record) bool {
	return rec.Operation == nil && (rec.Backups == nil || rec.Backups.Fetch == nil)
}

func one(command func(revision string) record.Command) func(revision string) []record.Command {
	return func(revision string) []record.Command { return []record.Command{command(revision)} }
}

// give writes the command; a write of the daemon in between is no reason to
// bother the person. It says whether the cluster is paused or released.
func give(ctx context.Context, store *record.Store, cluster record.Cluster, make func(revision string) []record.Command) (rec model.Record, handsOff string, err error) {
	return giveBy(ctx, store, cluster, func(_ *model.Record, _ []record.Command, revision string) []record.Command { return make(revision) })
}

// giveBy gives what follows from the record, and the commands that it has.
func giveBy(ctx context.Context, store *record.Store, cluster record.Cluster, make func(rec *model.Record, commands []record.Command, revision string) []record.Command) (rec model.Record, handsOff string, err error) {
	for range 10 {
		rec = model.Record{}
		entry, err := store.Load(ctx, cluster, record.Operation, &rec)
		if err != nil {
			return rec, "", err
		}
		revision := rec.Revision
		if rec.Seen != "" {
			revision = rec.Seen
		}
		given := make(&rec, entry.Commands(), revision)
		if entry.Exists() {
			err = store.GiveTo(ctx, entry, given...)
		} else {
			err = store.Give(ctx, cluster, given...) // it says what is wrong
		}
		if !errors.Is(err, record.ErrConflict) {
			return rec, leftAlone(rec, entry.Commands()), err
		}
	}
	return rec, "", fmt.Errorf("cluster %s: its record changes all the time, try again", cluster)
}

// leftAlone says how a cluster is left alone; "" where it is not. A command that the
// daemon has not seen yet counts as well.
func leftAlone(rec model.Record, commands []record.Command) string {
	for _, state := range []struct {
		words, key string
		rule       gates.Rule
	}{{"released", names.ReleasedAnnotation, gates.ReleasedRule}, {"paused", names.PausedAnnotation, gates.PausedRule}} {
		asked := ""
		for _, command := range commands {
			if command.Key == state.key {
				asked = command.Value
			}
		}
		if asked == "true" || asked == "" && waitsFor(rec, state.rule) {
			return state.words
		}
	}
	return ""
}
