package model

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/render/definition"
)

// Backups is what is remembered of a cluster's snapshots. All of it but the commands can be found
// again: the snapshots are in the repository, and their names say when they were due.
type Backups struct {
	// Since is when spec.backups was first seen: no window before that is caught up.
	Since      time.Time          `json:"since"`
	Repository RecordedRepository `json:"repository"`
	// Schedules are those of the definition, and those that it had.
	Schedules []RecordedSchedule `json:"schedules,omitempty"`
	// KeepAtLeast is the definition's; 0 in records of releases that did not write it.
	KeepAtLeast int `json:"keepAtLeast,omitempty"`
	// Running is the snapshot that is being taken; nil for none. It is recorded before it begins.
	Running *RunningSnapshot `json:"running,omitempty"`
	// Taken are our snapshots in the repository, oldest first.
	Taken []TakenSnapshot `json:"taken,omitempty"`
	// Contents are the tables of those (NoteTables).
	Contents []SnapshotContents `json:"contents,omitempty"`
	// Listed is of the list in sys.snapshots that has last shown something new; zero where Taken was not compared with any yet.
	Listed time.Time `json:"listed,omitzero"`
	// Command is the last command for a snapshot that was carried out.
	Command string `json:"command,omitempty"`
	// Due is the window that waits, Waiting since when one of its schedule was seen to, and Overdue whether that
	// was reported.
	Due     DueSnapshot `json:"due,omitzero"`
	Waiting time.Time   `json:"waiting,omitzero"`
	Overdue bool        `json:"overdue,omitempty"`
	// Delays is what something desired waits for, as it was reported last; "" for nothing.
	Delays string `json:"delays,omitempty"`
	// Needed is since when an operation waits for a newer snapshot; zero for none.
	Needed time.Time `json:"needed,omitzero"`
	// Policy is what else the definition says, in words; "" where a release before wrote none.
	Policy string `json:"policy,omitempty"`
	// Gone is since when CrateDB does not show the repository; zero where it does.
	Gone time.Time `json:"gone,omitzero"`
	// Foreign is a snapshot in the repository that is not ours; "" for none. ForeignAt is when it was seen last.
	Foreign   string    `json:"foreign,omitempty"`
	ForeignAt time.Time `json:"foreignAt,omitzero"`
	// Failed is how the last attempt failed; "" where it did not. Unreadable are tables that
	// make one of all tables fail, for which it was reported.
	Failed     string `json:"failed,omitempty"`
	Unreadable string `json:"unreadable,omitempty"`
	// FailedSnapshot is the last one that did not succeed, and FailedAt when that was found; both stay
	// after a success.
	FailedSnapshot string    `json:"failedSnapshot,omitempty"`
	FailedAt       time.Time `json:"failedAt,omitzero"`
	// Fetch is what is being restored into the cluster; nil for nothing.
	Fetch *Fetch `json:"fetch,omitempty"`
	// FetchCommand is the last command for one that was begun, and Fetched what became of it.
	FetchCommand string       `json:"fetchCommand,omitempty"`
	Fetched      FetchOutcome `json:"fetched,omitzero"`
	// Kept are tables that another one of a snapshot has taken the place of, and that nobody has dropped yet.
	Kept []KeptTable `json:"kept,omitempty"`
	// Drills is true where the definition asks for drills, and Drilled the last window of theirs that was begun.
	// Drill is when, in words; DrillCron and DrillTimeZone are the definition's, "" where a release before wrote none.
	Drills        bool      `json:"drills,omitempty"`
	Drill         string    `json:"drill,omitempty"`
	DrillCron     string    `json:"drillCron,omitempty"`
	DrillTimeZone string    `json:"drillTimeZone,omitempty"`
	Drilled       time.Time `json:"drilled,omitzero"`
}

// RecordedRepository is a repository as it was last created and verified.
type RecordedRepository struct {
	// Name in CrateDB; "" while there is none.
	Name string `json:"name,omitempty"`
	// Settings are its parameters without those that are secret, "type" among them.
	Settings SettingList `json:"settings,omitempty"`
	// Secrets are the versions of the Secrets with the others, a line each: "name uid resourceVersion".
	Secrets string `json:"secrets,omitempty"`
	// Nodes are the ids of the nodes that have verified it, sorted, with commas between them.
	Nodes string `json:"nodes,omitempty"`
}

// RecordedSchedule is a schedule as the definition has it, and how far it has come.
type RecordedSchedule struct {
	Name string `json:"name"`
	// Cron and TimeZone are "" for one that the definition does not have any more.
	Cron     string `json:"cron,omitempty"`
	TimeZone string `json:"timeZone,omitempty"`
	// Keep and KeepFor are the definition's; 0 is without that limit.
	Keep    int           `json:"keep,omitempty"`
	KeepFor time.Duration `json:"keepFor,omitempty"`
	// Tables are those that are named, with commas between them; "" for all.
	Tables string `json:"tables,omitempty"`
	// Last is the window that was last taken; zero for none.
	Last time.Time `json:"last,omitzero"`
}

// DueSnapshot is a window that is due. The zero value is none.
type DueSnapshot struct {
	Schedule string    `json:"schedule,omitempty"`
	At       time.Time `json:"at,omitzero"`
	// Command is true where a person asked for it.
	Command bool `json:"command,omitempty"`
}

// RunningSnapshot is one that is being taken.
type RunningSnapshot struct {
	Name     string    `json:"name"`
	Schedule string    `json:"schedule"`
	Began    time.Time `json:"began"`
	// Asked is when CREATE SNAPSHOT was answered; zero before that: it may not be there. A listing that
	// began earlier says nothing of it.
	Asked time.Time `json:"asked,omitzero"`
	// Missing is since when listings do not have it; zero where the last one did.
	Missing time.Time `json:"missing,omitzero"`
	// Refused is why CrateDB did not begin it; "" where it did, or was not asked yet.
	Refused string `json:"refused,omitempty"`
	// Tables are those that are asked for, with commas between them; "" for all.
	Tables string `json:"tables,omitempty"`
	// Operations had been done on the tables before it was asked for.
	Operations Operations `json:"operations,omitempty"`
}

// TakenSnapshot is one that has ended.
type TakenSnapshot struct {
	Name string `json:"name"`
	// State is CrateDB's: SUCCESS, PARTIAL or FAILED.
	State    string    `json:"state"`
	Finished time.Time `json:"finished"`
	// Began is zero for one that was found in the repository.
	Began  time.Time `json:"began,omitzero"`
	Tables int       `json:"tables,omitempty"`
	// Contents says which these are (Backups.TablesOf); "" where that was not recorded.
	Contents string `json:"contents,omitempty"`
	// Bytes are not known: CrateDB does not say them.

	// Operations had been done on the tables when it began; "" where that was not recorded, and of older snapshots.
	Operations Operations `json:"operations,omitempty"`
	// Proof is what a drill has found out of it.
	Proof Proof `json:"proof,omitzero"`
}

// The states of a snapshot (sys.snapshots).
const (
	SnapshotInProgress = "IN_PROGRESS"
	SnapshotSuccess    = "SUCCESS"
	SnapshotPartial    = "PARTIAL"
	SnapshotFailed     = "FAILED"
)

// ListedSnapshot is a row of sys.snapshots.
type ListedSnapshot struct {
	Repository, Name, State string
	// Finished is zero while it runs, and where the repository could not say: then State means nothing.
	Finished time.Time
	Tables   int
	// Names of the tables, "schema.table".
	Names []string
	// Failures are CrateDB's words for shards that are not in it, at most 3.
	Failures string
}

// Unread reports whether the repository could not say what became of it: CrateDB then shows FAILED
// without a time (SysSnapshot.ofMissingInfo).
func (s *ListedSnapshot) Unread() bool { return s.State != SnapshotInProgress && s.Finished.IsZero() }

// RunsOfOurs reports whether it is a snapshot of ours that runs, in whichever repository.
func (s *ListedSnapshot) RunsOfOurs() bool {
	_, _, ours := SnapshotOf(s.Name)
	return ours && s.State == SnapshotInProgress
}

// UnreadableTable is a table that makes a snapshot of all tables fail.
type UnreadableTable struct {
	Name string
	// Why: "closed", "blocks.read" or "red".
	Why string
	// Partition: it is so of a partition alone. A snapshot of all tables has it still, one that names the
	// table does not begin (run on 6.3.7 and 6.4.3).
	Partition bool
}

// snapshotPrefix begins the names of our snapshots.
const snapshotPrefix = "stevedore-"

// snapshotTime is how a window stands in the name of a snapshot: CrateDB takes no capitals.
const snapshotTime = "20060102t150405z"

// SnapshotName is that of a schedule's window.
func SnapshotName(schedule string, due time.Time) string {
	return snapshotPrefix + schedule + "-" + due.UTC().Format(snapshotTime)
}

// SnapshotOf is the schedule and the window in the name of a snapshot; ok is false for one that is not ours.
func SnapshotOf(name string) (schedule string, due time.Time, ok bool) {
	rest, ours := strings.CutPrefix(name, snapshotPrefix)
	at := strings.LastIndexByte(rest, '-')
	if !ours || at < 1 {
		return "", time.Time{}, false
	}
	due, err := time.Parse(snapshotTime, rest[at+1:])
	return rest[:at], due, err == nil
}

// BackupCommand reads a command for a snapshot, "TIME" or "TIME/SCHEDULE"; ok is false for another text.
// Without a schedule it is definition.CommandSchedule.
func BackupCommand(text string) (schedule string, at time.Time, ok bool) {
	asked, schedule, named := strings.Cut(text, "/")
	at, err := time.Parse(time.RFC3339, asked)
	if !named {
		schedule = definition.CommandSchedule
	}
	return schedule, at.UTC(), err == nil && schedule != ""
}

// Look is how long after the last look at it the next one is: a snapshot that has run for long runs on
// for longer, and each look costs CrateDB two objects of each snapshot that there is.
func (s *RunningSnapshot) Look(now time.Time) time.Duration {
	return min(max(now.Sub(s.Began)/4, 2*time.Second), time.Minute)
}

func (b *Backups) equal(o *Backups) bool {
	if b == nil || o == nil {
		return b == o
	}
	switch {
	case b.Repository != o.Repository, !b.Since.Equal(o.Since), !b.Listed.Equal(o.Listed), b.Command != o.Command, b.Overdue != o.Overdue:
	case b.Foreign != o.Foreign, b.Failed != o.Failed, b.Unreadable != o.Unreadable, b.Due.Schedule != o.Due.Schedule, !b.Due.At.Equal(o.Due.At), !b.Waiting.Equal(o.Waiting):
	case b.KeepAtLeast != o.KeepAtLeast, b.FailedSnapshot != o.FailedSnapshot, !b.FailedAt.Equal(o.FailedAt), !b.Needed.Equal(o.Needed), b.Policy != o.Policy, !b.Gone.Equal(o.Gone), b.Due.Command != o.Due.Command, !b.ForeignAt.Equal(o.ForeignAt):
	case !slices.EqualFunc(b.Schedules, o.Schedules, func(a, c RecordedSchedule) bool {
		last, again := a.Last, c.Last
		a.Last, c.Last = time.Time{}, time.Time{}
		return a == c && last.Equal(again)
	}):
	case !slices.EqualFunc(b.Taken, o.Taken, func(a, c TakenSnapshot) bool {
		same := a.Began.Equal(c.Began) && a.Finished.Equal(c.Finished)
		same = same && a.Name == c.Name && a.State == c.State && a.Tables == c.Tables
		return same && a.Contents == c.Contents && a.Operations == c.Operations && a.Proof.equal(&c.Proof)
	}):
	case !b.Running.equal(o.Running), !b.Fetch.equal(o.Fetch), b.FetchCommand != o.FetchCommand, !b.Fetched.equal(&o.Fetched), !slices.EqualFunc(b.Kept, o.Kept, KeptTable.equal):
	case b.Drills != o.Drills, b.Drill != o.Drill, b.DrillCron != o.DrillCron, b.DrillTimeZone != o.DrillTimeZone, b.Delays != o.Delays, !b.Drilled.Equal(o.Drilled), !slices.Equal(b.Contents, o.Contents):
	default:
		return true
	}
	return false
}

func (s *RunningSnapshot) equal(o *RunningSnapshot) bool {
	if s == nil || o == nil {
		return s == o
	}
	other := *o
	other.Asked, other.Began, other.Missing = s.Asked, s.Began, s.Missing // an instant has more than one form
	return s.Asked.Equal(o.Asked) && s.Began.Equal(o.Began) && s.Missing.Equal(o.Missing) && *s == other
}
