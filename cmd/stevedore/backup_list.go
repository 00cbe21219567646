package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/plaintext"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/model"
)

// clusterBackups is an element of `backup list -o json`.
type clusterBackups struct {
	SchemaVersion int    `json:"schemaVersion"`
	Cluster       string `json:"cluster"`
	Namespace     string `json:"namespace"`
	Name          string `json:"name"`
	// Backups is nil where the definition has no spec.backups.
	Backups *backupsStatus `json:"backups,omitempty"`
	// Repository is where the snapshots are; "" while there is none. Settings are its parameters, but for
	// those that are secret.
	Repository string            `json:"repository,omitempty"`
	Settings   map[string]string `json:"settings,omitempty"`
	// Listed is when the daemon last compared them with what is in the repository; zero for not yet.
	Listed time.Time `json:"listed,omitzero"`
	// Snapshots are the newest first.
	Snapshots []listedSnapshot `json:"snapshots"`

	attended attendance.Cluster
	// restoring: the cluster is being made from a snapshot.
	restoring bool
}

// listedSnapshot is one that is there, or is being taken.
type listedSnapshot struct {
	Name string `json:"name"`
	// Schedule is "now" for one that a command asked for.
	Schedule string `json:"schedule"`
	// Due is its window, Began when it began, zero where that is not known, and Ended zero while it runs.
	Due   time.Time `json:"due"`
	Began time.Time `json:"began,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
	// State is CrateDB's: IN_PROGRESS, SUCCESS, PARTIAL or FAILED.
	State  string `json:"state"`
	Tables int    `json:"tables,omitempty"`
	// Names of the tables, "schema.table", sorted; nil where the record does not have them: while it runs, and of old ones
	// where there was no room.
	Names []string `json:"names"`
	// Kept is why it stays: command, no-schedule, no-limit, newest-failed, keepFor, keep, keepAtLeast or proven; ""
	// for one that is dropped next, and for one that runs.
	Kept string `json:"kept,omitempty"`
	// Proof is what a drill has found out of it; nil where none has tried it.
	Proof *model.Proof `json:"proof,omitempty"`

	words string
}

func newBackupList() *cobra.Command {
	var (
		kube   kubeFlags
		output string
		all    bool
	)
	cmd := &cobra.Command{
		Use:   "list [CLUSTER]",
		Short: "Show which snapshots there are, and why each is kept",
		Long: `list shows the snapshots that the daemon has recorded for each cluster; the daemon need
not run, and no database is asked. ENDED is in UTC, AGE is since then, and TOOK is known of
those that the daemon itself has followed. KEPT names the field of spec.backups that keeps a
snapshot: one that no field keeps is dropped next. Snapshots of a command, and of a schedule
that the definition has no more, stay until somebody drops them. CrateDB knows no sizes.
With -o wide the last column has the names of the tables.`,
		Example: `  stevedore backup list prod/orders
  stevedore backup list prod/orders -o wide
  stevedore backup list -A -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "" && output != "json" && output != "wide" {
				return fmt.Errorf("-o %q is not known: write json or wide", output)
			}
			of, err := kube.selected(args, all)
			if err != nil {
				return err
			}
			objects, err := of.records(cmd.Context())
			if err != nil {
				return err
			}
			found, attended := []clusterBackups{}, []attendance.Cluster(nil)
			var failed []error
			for _, object := range objects {
				one, err := backupsIn(object, time.Now())
				if err != nil {
					failed = append(failed, err)
					continue
				}
				found, attended = append(found, one), append(attended, one.attended)
			}
			slices.SortFunc(found, func(a, b clusterBackups) int { return strings.Compare(a.Cluster, b.Cluster) })
			if output == "json" {
				err = printJSON(cmd.OutOrStdout(), found)
			} else {
				_, width := terminalOf(cmd.OutOrStdout(), "never")
				err = printBackups(cmd.OutOrStdout(), found, of.namespace, output == "wide", width, time.Now())
			}
			if err != nil {
				return err
			}
			warnIfNobodyActs(cmd.Context(), of.client, attended, cmd.ErrOrStderr())
			return errors.Join(failed...)
		},
	}
	kube.add(cmd, true)
	cmd.ValidArgsFunction = kube.clusterNames
	cmd.Flags().StringVarP(&output, "output", "o", "", "json, or wide: with the names of the tables (default: for people)")
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "all namespaces")
	return cmd
}

// backupsIn reads a record.
func backupsIn(object *corev1.ConfigMap, now time.Time) (clusterBackups, error) {
	cluster, _, _ := record.IsRecord(object)
	var rec model.Record
	if err := record.Decode(record.Operation, object.Data[names.DataKey], &rec); err != nil {
		return clusterBackups{}, fmt.Errorf("cluster %s: %w", cluster, err)
	}
	out := clusterBackups{
		SchemaVersion: names.SchemaVersion, Cluster: cluster.String(), Namespace: cluster.Namespace, Name: cluster.Name,
		Backups: backupsOf(rec, now), Snapshots: []listedSnapshot{}, attended: attendedBy(cluster, rec),
	}
	out.restoring = rec.Restore != nil && !rec.Bootstrap.Done
	b := rec.Backups
	if b == nil {
		return out, nil
	}
	out.Repository, out.Listed = b.Repository.Name, b.Listed
	for _, s := range b.Repository.Settings.Settings() {
		if out.Settings == nil {
			out.Settings = map[string]string{}
		}
		out.Settings[s.Name] = s.Value
	}
	why := backup.Kept(b, now)
	for i, k := range b.Taken {
		one := listedSnapshot{Name: k.Name, Began: k.Began, Ended: k.Finished, State: k.State, Tables: k.Tables, Kept: string(why[i])}
		if !k.Proof.At.IsZero() {
			one.Proof = &k.Proof
		}
		one.Names, _ = b.TablesOf(&k)
		one.Schedule, one.Due, _ = model.SnapshotOf(k.Name)
		one.words = keptWords(b, one.Schedule, why[i])
		out.Snapshots = append(out.Snapshots, one)
	}
	if s := b.Running; s != nil {
		one := listedSnapshot{Name: s.Name, Schedule: s.Schedule, Began: s.Began, State: model.SnapshotInProgress}
		_, one.Due, _ = model.SnapshotOf(s.Name)
		out.Snapshots = append(out.Snapshots, one)
	}
	slices.Reverse(out.Snapshots)
	return out, nil
}

// keptWords say why a snapshot stays.
func keptWords(b *model.Backups, schedule string, why backup.Why) string {
	var of model.RecordedSchedule
	if i := slices.IndexFunc(b.Schedules, func(s model.RecordedSchedule) bool { return s.Name == schedule }); i >= 0 {
		of = b.Schedules[i]
	}
	switch why {
	case backup.ByCommand:
		return "until somebody drops it"
	case backup.ByNoSchedule:
		return "until somebody drops it: its schedule is gone"
	case backup.ByNoLimit:
		return "without a limit"
	case backup.ByFailure:
		return "while the newest has not succeeded"
	case backup.ByKeepFor:
		return "keepFor " + spanWords(of.KeepFor)
	case backup.ByKeep:
		return "keep " + strconv.Itoa(of.Keep)
	case backup.ByProven:
		return "proven, keepAtLeast " + strconv.Itoa(b.KeepAtLeast)
	case backup.ByAtLeast:
		return "keepAtLeast " + strconv.Itoa(b.KeepAtLeast)
	}
	return "no: it is dropped next"
}

// spanWords are as the definition has them: "30d", or a duration.
func spanWords(d time.Duration) string {
	const day = 24 * time.Hour
	if d > 0 && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return d.String()
}

var snapshotColumns = []string{"CLUSTER", "SNAPSHOT", "SCHEDULE", "STATE", "ENDED", "AGE", "TOOK", "TABLES", "PROVEN", "KEPT", "NAMES"}

func (s listedSnapshot) cells(cluster string, now time.Time) []string {
	ended, old, took, tables := "", "", "", ""
	if !s.Ended.IsZero() {
		ended, old = s.Ended.UTC().Format("2006-01-02 15:04:05"), daysSince(s.Ended, now)
	}
	switch {
	case s.Began.IsZero():
	case s.Ended.IsZero():
		took = daysSince(s.Began, now) + " so far"
	default:
		took = daysSince(s.Began, s.Ended)
	}
	if !s.Ended.IsZero() {
		tables = strconv.Itoa(s.Tables)
	}
	return []string{cluster, s.Name, s.Schedule, s.State, ended, old, took, tables, s.proven(), s.words, s.names()}
}

// names are those of the tables.
func (s listedSnapshot) names() string {
	switch {
	case s.Names == nil && s.Ended.IsZero():
		return "known when it has ended"
	case s.Names == nil:
		return "not known"
	case len(s.Names) == 0:
		return "none"
	}
	return strings.Join(s.Names, ", ")
}

// shown are the columns: that of drills only where one has tried a snapshot, and that of names only with -o wide.
func shown(rows [][]string, wide bool) []string {
	columns := slices.Clone(snapshotColumns)
	without := func(column string) {
		at := slices.Index(columns, column)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], at, at+1)
		}
		columns = slices.Delete(columns, at, at+1)
	}
	at := slices.Index(columns, "PROVEN")
	if !slices.ContainsFunc(rows, func(r []string) bool { return r[at] != "" }) {
		without("PROVEN")
	}
	if !wide {
		without("NAMES")
	}
	return columns
}

// proven says what a drill has found out.
func (s listedSnapshot) proven() string {
	switch p := s.Proof; {
	case p == nil:
		return ""
	case p.Failed != "":
		return "FAILED"
	case p.Whole():
		return "yes"
	default:
		return fmt.Sprintf("%d of %d", p.Compared, p.Of)
	}
}

// printBackups writes for people, the names of tables if it is wide; width is their terminal's, 0 where there is none.
func printBackups(out io.Writer, found []clusterBackups, namespace string, wide bool, width int, now time.Time) error {
	if len(found) == 0 {
		where := whereWords(namespace)
		if namespace != metav1.NamespaceAll {
			where += "; -n names another one, -A all"
		}
		_, err := fmt.Fprintln(out, "no clusters are recorded in "+where)
		return err
	}
	var rows [][]string
	for _, one := range found {
		for _, s := range one.Snapshots {
			rows = append(rows, s.cells(one.Cluster, now))
		}
	}
	var text []string
	if len(rows) > 0 {
		text = table(shown(rows, wide), rows, width)
	}
	for _, one := range found {
		for _, words := range one.remarks(now) {
			if len(text) > 0 {
				text = append(text, "")
			}
			text = append(text, wrapped(one.Cluster+": "+words, width)...)
		}
	}
	_, err := io.WriteString(out, strings.Join(text, "\n")+"\n")
	return err
}

// remarks are what is to be said of a cluster in sentences.
func (c clusterBackups) remarks(now time.Time) []string {
	if c.restoring {
		return []string{"it is being made from a snapshot: `stevedore status` says how far that is"}
	}
	if c.Backups == nil {
		return []string{"no snapshots are taken: its definition has no spec.backups, as far as the daemon has seen"}
	}
	all := c.Backups.remarks(now)
	if c.Repository == "" {
		return append(all, "there is no repository yet")
	}
	var settings []string
	for _, name := range slices.Sorted(maps.Keys(c.Settings)) {
		settings = append(settings, name+"="+c.Settings[name])
	}
	words := fmt.Sprintf("repository %s (%s)", c.Repository, strings.Join(settings, ", "))
	if c.Listed.IsZero() {
		words += "; the daemon has not looked into it yet, and it may have more snapshots than are shown"
	}
	if w := c.Backups.Waiting; w != nil && w.Gate != "" {
		all = append(all, w.Gate+": "+w.Message)
	}
	if c.Backups.Failed != "" {
		all = append(all, plaintext.Line(c.Backups.Failed)) // an object store's words are in it
	}
	return append(all, words)
}
