package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/snapshots"
	"stevedore.dev/stevedore/render/definition"
)

// backupsStatus is what `status` says of a cluster's snapshots. All of it is in the record, but the times
// that come.
type backupsStatus struct {
	// Newest is the newest successful snapshot; nil for none.
	Newest    *newestSnapshot  `json:"newest,omitempty"`
	Schedules []scheduleStatus `json:"schedules"`
	// Running is the snapshot that is being taken, Waiting the window that is due; nil for none.
	Running *model.RunningSnapshot `json:"running,omitempty"`
	Waiting *waitingSnapshot       `json:"waiting,omitempty"`
	// Proven is the newest snapshot of which a drill has restored and compared each table; nil for none, and where
	// nobody asked for drills. Restoring is what is being restored now; nil for nothing.
	Proven *provenSnapshot `json:"proven,omitempty"`
	Drills bool            `json:"drills,omitempty"`
	Drill  string          `json:"drill,omitempty"` // when, in words
	// NextDrill is the next window of the drills, zero for none and where nobody knows; DrillWaits is true where one is
	// due and cannot begin.
	NextDrill  time.Time    `json:"nextDrill,omitzero"`
	DrillWaits bool         `json:"drillWaits,omitempty"`
	Restoring  *model.Fetch `json:"restoring,omitempty"`
	// Failed is how the last attempt failed, at FailedAt; "" where it did not.
	Failed   string    `json:"failed,omitempty"`
	FailedAt time.Time `json:"failedAt,omitzero"`
	// Held is why no snapshot is taken until a person acts: "paused", "released", "orphaned" or "suspended"; "" for not.
	Held string `json:"held,omitempty"`

	drillCron, drillZone string
}

type newestSnapshot struct {
	Name     string    `json:"name"`
	Finished time.Time `json:"finished"`
}

type provenSnapshot struct {
	Name     string    `json:"name"`
	Finished time.Time `json:"finished"`
	// At is when the drill ended, and Took how long it took CrateDB to restore all tables, once and without replicas.
	At   time.Time     `json:"at"`
	Took time.Duration `json:"took"`
}

// scheduleStatus is a schedule of the definition.
type scheduleStatus struct {
	Name     string `json:"name"`
	Cron     string `json:"cron"`
	TimeZone string `json:"timeZone"`
	// Next is its next window; zero for none within five years.
	Next time.Time `json:"next,omitzero"`
	// Success is when its newest successful snapshot ended; zero for none.
	Success time.Time `json:"success,omitzero"`
	// Late is true where two windows have passed since that one's, without another success.
	Late bool `json:"late,omitempty"`
}

// waitingSnapshot is one that is due.
type waitingSnapshot struct {
	Schedule string    `json:"schedule"`
	Due      time.Time `json:"due"`
	Since    time.Time `json:"since"`
	// Gate is what it waits for, with the gate's own words; "" where the daemon has not said that yet.
	Gate    string `json:"gate,omitempty"`
	Message string `json:"message,omitempty"`
}

// backupsOf is nil where the definition has no spec.backups.
func backupsOf(rec model.Record, now time.Time) *backupsStatus {
	b := rec.Backups
	if b == nil {
		return nil
	}
	s := &backupsStatus{Running: b.Running, Schedules: []scheduleStatus{}}
	if newest := newestGood(b, ""); newest != nil {
		s.Newest = &newestSnapshot{newest.Name, newest.Finished}
	}
	for _, rule := range []gates.Rule{gates.ReleasedRule, gates.PausedRule, gates.OrphanedRule} {
		if slices.ContainsFunc(rec.Shown.Reasons, func(r model.ShownReason) bool { return r.Name == rule.Name }) {
			s.Held = rule.Name
		}
	}
	if s.Held == "" && rec.IsSuspended() {
		s.Held = "suspended"
	}
	s.Drills, s.Drill, s.Restoring = b.Drills, b.Drill, b.Fetch
	if b.Drills && b.DrillCron != "" {
		s.drillCron, s.drillZone = b.DrillCron, zoneOf(b.DrillTimeZone)
		s.NextDrill, s.DrillWaits = snapshots.Next(definition.BackupSchedule{Cron: b.DrillCron, TimeZone: b.DrillTimeZone}, now), waitsFor(rec, gates.DrillWaitsRule)
	}
	if k := snapshots.NewestProven(b); k != nil {
		s.Proven = &provenSnapshot{Name: k.Name, Finished: k.Finished, At: k.Proof.At, Took: k.Proof.Took}
	}
	if b.Failed != "" {
		s.Failed, s.FailedAt = b.Failed, b.FailedAt
	}
	if b.Due.Schedule != "" && b.Running == nil {
		s.Waiting = &waitingSnapshot{Schedule: b.Due.Schedule, Due: b.Due.At, Since: b.Waiting}
		if reason := holdsSnapshot(rec); reason != nil {
			s.Waiting.Gate, s.Waiting.Message = reason.Name, reason.Message
		}
	}
	for _, r := range b.Schedules {
		if r.Cron == "" {
			continue // the definition does not have it any more
		}
		schedule := definition.BackupSchedule{Name: r.Name, Cron: r.Cron, TimeZone: r.TimeZone}
		one := scheduleStatus{Name: r.Name, Cron: r.Cron, TimeZone: zoneOf(r.TimeZone), Next: snapshots.Next(schedule, now)}
		from := b.Since
		newest := newestGood(b, r.Name)
		if newest != nil {
			one.Success = newest.Finished
			_, from, _ = model.SnapshotOf(newest.Name)
		}
		// The first one of a schedule that is new runs already, and no data of a cluster that is suspended change.
		first := newest == nil && b.Running != nil && b.Running.Schedule == r.Name
		one.Late = !first && len(rec.Suspended) == 0 && twoPassed(schedule, from, now)
		s.Schedules = append(s.Schedules, one)
	}
	return s
}

func zoneOf(name string) string {
	if name == "" {
		return "UTC"
	}
	return name
}

// newestGood is the newest successful snapshot of a schedule, "" for any; nil for none.
func newestGood(b *model.Backups, schedule string) (newest *model.TakenSnapshot) {
	for i := range b.Taken {
		k := &b.Taken[i]
		of, _, ours := model.SnapshotOf(k.Name)
		if ours && k.State == model.SnapshotSuccess && (schedule == "" || of == schedule) && (newest == nil || k.Finished.After(newest.Finished)) {
			newest = k
		}
	}
	return newest
}

// twoPassed reports whether two windows have passed since a time.
func twoPassed(s definition.BackupSchedule, since, now time.Time) bool {
	first := snapshots.Next(s, since)
	if first.IsZero() {
		return false
	}
	second := snapshots.Next(s, first)
	return !second.IsZero() && now.After(second)
}

// snapshotHolders are the gates that keep a snapshot from beginning, what is nearest to the cause first.
var snapshotHolders = []gates.Rule{
	gates.ReleasedRule, gates.PausedRule, gates.OrphanedRule, gates.RepositorySecretRule, gates.RepositoryNotOursRule,
	gates.BackupUnreadableRule, gates.BackupWaitsRule,
}

// holdsSnapshot is the reason that a snapshot waits for; nil where none is shown.
func holdsSnapshot(rec model.Record) *model.ShownReason {
	for _, rule := range snapshotHolders {
		if reason := shownReason(rec, rule); reason != nil {
			return reason
		}
	}
	return nil
}

// shownReason is the reason of a rule that the daemon shows; nil for none.
func shownReason(rec model.Record, rule gates.Rule) *model.ShownReason {
	if i := slices.IndexFunc(rec.Shown.Reasons, func(r model.ShownReason) bool { return r.Name == rule.Name }); i >= 0 {
		return &rec.Shown.Reasons[i]
	}
	return nil
}

// repositoryFails is what CrateDB answers instead of accepting the repository; "" where it has not refused it.
func repositoryFails(rec model.Record) string {
	for _, r := range rec.Shown.Reasons {
		if r.Name == gates.ActionFailedRule.Name && strings.HasPrefix(r.Message, string(model.ActionSetRepository)) {
			return r.Message
		}
	}
	return ""
}

// remarks are sentences for people.
func (s *backupsStatus) remarks(now time.Time) []string {
	parts := []string{"no snapshot has succeeded yet"}
	if s.Newest != nil {
		parts[0] = fmt.Sprintf("the newest good snapshot is %s, %s old", s.Newest.Name, daysSince(s.Newest.Finished, now))
	}
	switch {
	case s.Proven != nil && s.Newest != nil && s.Proven.Name == s.Newest.Name:
		parts[0] += fmt.Sprintf(", and proven by a drill that restored it in %s", s.Proven.Took.Round(time.Second))
	case s.Proven != nil:
		parts = append(parts, fmt.Sprintf("the newest proven one is %s, %s old, restored by a drill in %s", s.Proven.Name, daysSince(s.Proven.Finished, now), s.Proven.Took.Round(time.Second)))
	case s.Drills:
		parts = append(parts, "no drill has proven one yet")
	}
	if f := s.Restoring; f != nil {
		parts = append(parts, fmt.Sprintf("tables of %s are being restored, %d of %d are done", f.Snapshot, f.Done, f.Of))
	}
	if s.Running != nil {
		parts = append(parts, fmt.Sprintf("%s has been running for %s", s.Running.Name, daysSince(s.Running.Began, now)))
	}
	if w := s.Waiting; w != nil {
		words := fmt.Sprintf("%s has waited for %s", definition.SnapshotWords(w.Schedule), daysSince(w.Since, now))
		if w.Gate != "" {
			words += " (" + w.Gate + ")"
		}
		parts = append(parts, words)
	}
	if s.Failed != "" {
		words := "the last one failed"
		if !s.FailedAt.IsZero() {
			words += " " + daysSince(s.FailedAt, now) + " ago"
		}
		parts = append(parts, words)
	}
	parts = append(parts, s.nextWords())
	if words := s.drillWords(); words != "" {
		parts = append(parts, words)
	}
	all := []string{"backups: " + strings.Join(parts, "; ")}
	for _, schedule := range s.Schedules {
		switch {
		case !schedule.Late:
		case schedule.Success.IsZero():
			all = append(all, fmt.Sprintf("WARNING: no snapshot of schedule %s has succeeded yet, and more than two of its windows have passed", schedule.Name))
		default:
			all = append(all, fmt.Sprintf("WARNING: the newest good snapshot of schedule %s is %s old, and more than two of its windows have passed since", schedule.Name, daysSince(schedule.Success, now)))
		}
	}
	return all
}

// nextWords say which window comes next.
func (s *backupsStatus) nextWords() string {
	var next *scheduleStatus
	for i := range s.Schedules {
		one := &s.Schedules[i]
		if !one.Next.IsZero() && (next == nil || one.Next.Before(next.Next)) {
			next = one
		}
	}
	switch {
	case s.Held != "":
		return "none is taken while the cluster is " + s.Held
	case len(s.Schedules) == 0:
		return "there is no schedule: `stevedore backup now` takes one"
	case next == nil:
		return "no schedule has a window within five years"
	}
	return fmt.Sprintf("the next window is that of schedule %s at %s", next.Name, windowWords(next.Next, next.TimeZone, next.Cron))
}

// drillWords say when the next drill is; "" where there is none, and where nobody acts.
func (s *backupsStatus) drillWords() string {
	switch {
	case s.drillCron == "", s.Held != "":
		return ""
	case s.DrillWaits:
		return "a drill is due, and waits (" + gates.DrillWaitsRule.Name + ")"
	case s.NextDrill.IsZero():
		return "drills have no window within five years"
	}
	return "the next drill is at " + windowWords(s.NextDrill, s.drillZone, s.drillCron)
}

// windowWords are a time as the definition has it, in its zone.
func windowWords(at time.Time, timeZone, cron string) string {
	if zone, err := time.LoadLocation(timeZone); err == nil {
		at = at.In(zone)
	}
	return fmt.Sprintf("%s %s (%s)", at.Format("2006-01-02 15:04"), timeZone, cron)
}

// daysSince is an age in days and hours from two days on. CrateDB's clock may be ahead of ours.
func daysSince(at, now time.Time) string {
	const day = 24 * time.Hour
	d := max(now.Sub(at), 0)
	if d < 2*day {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
}
