package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// fetchFlags are those of what restores tables.
type fetchFlags struct {
	kube    kubeFlags
	command model.FetchCommand
	wait    bool
	timeout time.Duration
	// replace, undo and kept name the table that is there and that the command is about.
	replace, undo, kept string
}

func newBackupDrill() *cobra.Command {
	f := &fetchFlags{command: model.FetchCommand{Drill: true}}
	cmd := &cobra.Command{
		Use:   "drill CLUSTER",
		Short: "Ask the daemon to prove a snapshot now",
		Long: `drill asks the daemon to restore a snapshot on trial: each of its tables under a schema
that begins with stevedore_drill_, ten at a time and without replicas. The daemon compares
each with what it recorded when the snapshot began, and drops it again. An operation and a
snapshot go before. Without --snapshot it is the newest good one.`,
		Example: `  stevedore backup drill prod/orders --wait
  stevedore backup drill prod/orders --snapshot stevedore-nightly-20260101t030000z`,
		Args: takesOne("CLUSTER"), ValidArgsFunction: f.kube.clusterNames,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.add(cmd)
	return cmd
}

func newRestore() *cobra.Command {
	f := &fetchFlags{}
	cmd := &cobra.Command{
		Use:   "restore CLUSTER --table SCHEMA.TABLE",
		Short: "Ask the daemon to restore tables of a snapshot",
		Long: `restore asks the daemon to restore tables of a snapshot into a cluster that runs: under
another schema with --schema, or under their own names where no table has them. No table that
is there is changed. A table that does not come is dropped again. What is desired, and each
snapshot, waits for it, no longer than spec.backups.maxDelay. Neither users nor settings come.
A new cluster is made from a snapshot by spec.backups.restore (docs/backups.md).

With --replace a table that is there becomes what it was in the snapshot, and has to be named
again. It is restored under another name first, compared, and given the replicas and privileges
of the table; then the two exchange their names. The table before is kept until --drop-kept;
--undo exchanges the two again. --dry-run says what would be lost, and changes nothing.`,
		Example: `  stevedore restore prod/orders --table doc.orders --schema old --wait
  stevedore restore prod/orders --table doc.a --table doc.b --schema old
  stevedore restore prod/orders --table doc.orders --replace doc.orders --dry-run
  stevedore restore prod/orders --table doc.orders --replace doc.orders --wait
  stevedore restore prod/orders --undo doc.orders --wait
  stevedore restore prod/orders --drop-kept doc.orders --wait`,
		Args: takesOne("CLUSTER"), ValidArgsFunction: f.kube.clusterNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.kind(); err != nil {
				return err
			}
			if err := checkFetch(&f.command); err != nil {
				return err
			}
			return f.run(cmd, args[0])
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.command.Tables, "table", nil, "a table of the snapshot with its schema; more than one may be given")
	flags.StringVar(&f.command.Schema, "schema", "", "the schema that the tables come under (default: their own)")
	flags.StringVar(&f.replace, "replace", "", "the table that is replaced, named again: it is kept until --drop-kept")
	flags.BoolVar(&f.command.Dry, "dry-run", false, "with --replace: say what would be lost, and change nothing")
	flags.StringVar(&f.undo, "undo", "", "a table that was replaced: it and the one that is kept exchange their names again")
	flags.StringVar(&f.kept, "drop-kept", "", "a table that was replaced: what is kept of before is dropped for good")
	return cmd
}

func (f *fetchFlags) add(cmd *cobra.Command) {
	f.kube.add(cmd, true)
	flags := cmd.Flags()
	flags.StringVar(&f.command.Snapshot, "snapshot", "", "its name, as backup list has it (default: the newest good one)")
	flags.BoolVar(&f.wait, "wait", false, "end when it was done, or has failed")
	flags.DurationVar(&f.timeout, "timeout", 6*time.Hour, "how long --wait waits")
}

var (
	// partitionNamed is how CrateDB's own RESTORE SNAPSHOT names one.
	partitionNamed = regexp.MustCompile(`(?i)\sPARTITION\b`)
	tableNamed     = regexp.MustCompile(`^[^."\s,]+\.[^."\s,]+$`)
	schemaNamed    = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// checkFetch says what is wrong with what a person asks for.
func checkFetch(c *model.FetchCommand) error {
	switch {
	case len(c.Tables) == 0:
		return errors.New("name a table: --table doc.orders")
	case slices.ContainsFunc(c.Tables, func(t string) bool { return partitionNamed.MatchString(t) }):
		return fmt.Errorf("--table %s: single partitions are not restored: restore the table under another schema (--schema), and copy the rows of the partition: INSERT INTO ... SELECT ... WHERE", strings.Join(c.Tables, " "))
	case slices.ContainsFunc(c.Tables, func(t string) bool { return !tableNamed.MatchString(t) }):
		return fmt.Errorf("--table %s: write each with its schema, doc.orders, without quotes", strings.Join(c.Tables, " "))
	case c.Schema != "" && !schemaNamed.MatchString(c.Schema):
		return fmt.Errorf("--schema %q: write a-z, 0-9 and _, beginning with a letter", c.Schema)
	case model.Scratch(c.Schema), model.Kept(c.Schema), slices.Contains([]string{"sys", "information_schema", "pg_catalog", "blob"}, c.Schema):
		return fmt.Errorf("--schema %s is none for tables of people: write another one", c.Schema)
	case (&model.Fetch{Schema: c.Schema, Rest: c.Tables}).Twice() != "":
		return fmt.Errorf("two of the tables would be %s: ask for them one by one, under several schemas", (&model.Fetch{Schema: c.Schema, Rest: c.Tables}).Twice())
	case len(c.String()) > maxFetchCommand:
		return fmt.Errorf("%d tables are too many for one command: ask for them in several", len(c.Tables))
	}
	return nil
}

// maxFetchCommand is how long a command becomes: it is an annotation.
const maxFetchCommand = 64 << 10

func (f *fetchFlags) run(cmd *cobra.Command, arg string) error {
	if f.timeout <= 0 {
		return errors.New("--timeout must be longer than nothing")
	}
	asked, err := f.ask(cmd, arg)
	if err != nil || !f.wait {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	v, err := asked.until(ctx)
	if cmd.Context().Err() != nil {
		return fmt.Errorf("told to stop before %s of cluster %s was done: it stays asked for", asked.what, asked.cluster)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "cluster %s: %s\n", asked.cluster, v.done)
	return err
}

// ask gives the command.
func (f *fetchFlags) ask(cmd *cobra.Command, arg string) (askedSnapshot, error) {
	ctx := cmd.Context()
	client, store, cluster, rec, commands, err := f.kube.backedUp(ctx, arg)
	if err != nil {
		return askedSnapshot{}, err
	}
	if err := standingFetch(commands, cluster); err != nil {
		return askedSnapshot{}, err
	}
	if record.Effective(nil, commands, cmp.Or(rec.Seen, rec.Revision))[names.AbortAnnotation] == "true" {
		return askedSnapshot{}, fmt.Errorf("an abort of cluster %s stands: `stevedore resume %s` takes it back, and what was aborted begins again then", cluster, cluster)
	}
	ofKept := f.command.Verb == model.FetchUndo || f.command.Verb == model.FetchDropKept
	if err := noSnapshot(rec.Backups, f.command.Snapshot, cluster); err != nil && !ofKept {
		return askedSnapshot{}, err
	}
	if f.command.Snapshot == "" && !ofKept {
		f.command.Snapshot = newestWhole(rec.Backups) // a snapshot that is taken while this waits may lack the table
	}
	f.command.At = nextFetch(rec.Backups, f.command, time.Now())
	command := record.Fetch(f.command.String())
	rec, handsOff, err := give(ctx, store, cluster, one(func(string) record.Command { return command }))
	if err != nil {
		return askedSnapshot{}, noRecord(ctx, client, cluster, err)
	}
	asked := askedSnapshot{
		client: client, store: store, cluster: cluster, command: command.Value, fetch: true, what: f.words(),
		tick: askedTick, stuckFor: askedStuckFor, say: func(format string, of ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", of...) },
	}
	out := cmd.OutOrStdout()
	if f.wait {
		out = cmd.ErrOrStderr()
	}
	if _, err := fmt.Fprintf(out, "cluster %s: %s is asked for%s\n", cluster, asked.what, nextWords(cluster, f.wait, beforeFetch(cluster, rec, handsOff, command.Value))); err != nil {
		return asked, err
	}
	warnIfNobodyActs(ctx, client, []attendance.Cluster{attendedBy(cluster, rec)}, cmd.ErrOrStderr())
	return asked, nil
}

// nextFetch is the time of a command: by the second, and no command that was begun has the same words.
func nextFetch(b *model.Backups, c model.FetchCommand, now time.Time) time.Time {
	c.At = now.UTC().Truncate(time.Second)
	for c.String() == b.FetchCommand {
		c.At = c.At.Add(time.Second)
	}
	return c.At
}

// standingFetch says that a command waits which this one would take the place of.
func standingFetch(commands []record.Command, cluster record.Cluster) error {
	for _, c := range commands {
		if c.Key == record.Fetch("").Key {
			what := "another restore or drill"
			if of, err := model.ReadFetchCommand(c.Value); err == nil {
				what = (&fetchFlags{command: of}).words()
			}
			return fmt.Errorf("cluster %s: %s was asked for before, and the daemon has not begun it yet: ask again when it has; `stevedore status %s` says what it waits for", cluster, what, cluster)
		}
	}
	return nil
}

// newestWhole is the newest good snapshot of all tables, or else the newest good one; "" for none.
func newestWhole(b *model.Backups) string {
	some := map[string]bool{}
	for _, s := range b.Schedules {
		some[s.Name] = s.Tables != ""
	}
	whole := *b
	whole.Taken = slices.DeleteFunc(slices.Clone(b.Taken), func(k model.TakenSnapshot) bool {
		schedule, _, _ := model.SnapshotOf(k.Name)
		return some[schedule]
	})
	for _, of := range []*model.Backups{&whole, b} {
		if k := newestGood(of, ""); k != nil {
			return k.Name
		}
	}
	return ""
}

func (f *fetchFlags) words() string {
	of := "the newest good snapshot"
	if f.command.Snapshot != "" {
		of = "snapshot " + f.command.Snapshot
	}
	switch table := strings.Join(f.command.Tables, ""); {
	case f.command.Drill:
		return "a drill of " + of
	case f.command.Verb == model.FetchUndo:
		return "the exchange of " + table + " with the table that is kept of it"
	case f.command.Verb == model.FetchDropKept:
		return "the drop of what is kept of " + table
	case f.command.Dry:
		return "what a restore of " + table + " from " + of + " would do"
	case f.command.Verb == model.FetchReplace:
		return "the restore of " + table + " from " + of + ", which takes the place of the table,"
	}
	return "the restore of " + tablesWords(&f.command, "") + " from " + of
}

// tablesWords name the tables of a command, and the schema that they come under after the verb. More than three are counted.
func tablesWords(c *model.FetchCommand, verb string) string {
	words := strings.Join(c.Tables, ", ")
	if len(c.Tables) > 3 {
		words = fmt.Sprintf("%d tables", len(c.Tables))
	}
	words += verb
	if c.Schema != "" {
		words += " under schema " + c.Schema
	}
	return words
}

// beginsSoon is said where nothing is in the way.
const beginsSoon = "the daemon begins it at its next look"

// nextWords are what is said after "is asked for": what it waits for. Whoever waits for the end is shown that on the next line.
func nextWords(cluster record.Cluster, waits bool, why string) string {
	switch {
	case waits:
		return ""
	case why == beginsSoon:
		return fmt.Sprintf("; %s; `stevedore status %s` says what becomes of it", why, cluster)
	}
	return "; " + why
}

// noSnapshot says that a snapshot is not there.
func noSnapshot(b *model.Backups, name string, cluster record.Cluster) error {
	if b.Listed.IsZero() || name == "" && len(b.Taken) > 0 {
		return nil // the daemon finds out
	}
	if slices.ContainsFunc(b.Taken, func(k model.TakenSnapshot) bool { return k.Name == name }) {
		return nil
	}
	if name == "" {
		return fmt.Errorf("cluster %s has no snapshot yet: `stevedore backup now %s` takes one", cluster, cluster)
	}
	return fmt.Errorf("cluster %s has no snapshot %s: `stevedore backup list %s` shows those that are there", cluster, name, cluster)
}

// beforeFetch says what has to be over before a command begins, as far as the record says.
func beforeFetch(cluster record.Cluster, rec model.Record, handsOff, command string) string {
	b, operation, needs := rec.Backups, rec.Operation, needsPerson(rec)
	asked, _ := model.ReadFetchCommand(command)
	switch {
	case needs != nil:
		return "it waits for " + needs.Name + ": " + needs.Message
	case handsOff != "":
		return "the cluster is " + handsOff + ", and it begins when that is taken back: stevedore resume " + cluster.String()
	case len(rec.Suspended) > 0 && operation == nil:
		return "the cluster is suspended, and it begins when the cluster runs again"
	case b.Fetch != nil && b.Fetch.Drill && !asked.Drill:
		return "the drill of snapshot " + b.Fetch.Snapshot + " gives way: it begins when the tables of that drill are dropped"
	case b.Fetch != nil:
		what := map[bool]string{true: "the drill", false: "the restore of tables"}[b.Fetch.Drill]
		return fmt.Sprintf("it begins after %s of snapshot %s, which is under way; if that does not end, `stevedore abort %s` ends it, and this command too: ask again after `stevedore resume %s`", what, b.Fetch.Snapshot, cluster, cluster)
	case shownReason(rec, gates.TablesRestoredRule) != nil:
		return shownReason(rec, gates.TablesRestoredRule).Message
	case repositoryFails(rec) != "":
		return "the repository is not ready: " + repositoryFails(rec)
	case b.Running != nil:
		return "it begins after snapshot " + b.Running.Name + ", which is being taken"
	case operation != nil:
		return "it begins after the operation " + string(operation.Kind)
	}
	return beginsSoon
}

// judgeFetch says what became of a restore by the record.
func (a askedSnapshot) judgeFetch(rec model.Record, commands []record.Command) snapshotVerdict {
	b := rec.Backups
	if f := b.Fetched; f.Command == a.command {
		if f.Failed != "" {
			return snapshotVerdict{failed: f.Words()}
		}
		return snapshotVerdict{done: fetchedWords(&f)}
	}
	if f := b.Fetch; f != nil && f.Command == a.command {
		return snapshotVerdict{why: fetchWords(rec, f)}
	}
	standing := ""
	for _, c := range commands {
		if c.Key == record.Fetch("").Key {
			standing = c.Value
		}
	}
	switch handsOff := leftAlone(rec, commands); {
	case standing == "" && b.FetchCommand == a.command:
		return snapshotVerdict{stuck: true, why: "the daemon has ended the command, and its record does not say what became of it"}
	case standing == "":
		return snapshotVerdict{stuck: true, why: "the command stands no more: somebody has taken it back"}
	case standing != a.command:
		return snapshotVerdict{stuck: true, why: "another command has taken the place of this one: " + standing}
	default:
		return snapshotVerdict{stuck: handsOff != "" || rec.IsSuspended() || needsPerson(rec) != nil, why: beforeFetch(a.cluster, rec, handsOff, a.command)}
	}
}

// fetchWords are what the daemon last showed of it.
func fetchWords(rec model.Record, f *model.Fetch) string {
	for _, r := range rec.Shown.Reasons {
		if r.Name == gates.DrillRunningRule.Name || r.Name == gates.TablesRestoredRule.Name {
			return r.Message
		}
	}
	switch {
	case f.Verb == model.FetchUndo || f.Verb == model.FetchDropKept:
		return "it is under way"
	case f.Of == 0:
		return "the daemon looks which tables snapshot " + f.Snapshot + " has"
	}
	return fmt.Sprintf("%d of %d tables of snapshot %s were restored", f.Done, f.Of, f.Snapshot)
}

func fetchedWords(f *model.FetchOutcome) string {
	if f.Said != "" {
		return f.Said
	}
	c, err := model.ReadFetchCommand(f.Command)
	if err == nil && c.Verb == model.FetchDropKept {
		return "what was kept of " + c.Tables[0] + " is dropped"
	}
	if err == nil && c.Drill {
		if f.Compared < f.Of {
			return fmt.Sprintf("%d of %d table(s) were restored on trial, and %d of them compared", f.Done, f.Of, f.Compared)
		}
		return fmt.Sprintf("the snapshot is proven: each of its %d table(s) was restored and compared", f.Of)
	}
	if err == nil && len(c.Tables) == f.Done {
		return tablesWords(&c, " restored")
	}
	return fmt.Sprintf("%d table(s) are there", f.Done)
}
