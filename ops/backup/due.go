package backup

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/snapshots"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/render/definition"
)

// longest is the window that waits longest; the zero value is none. Of one schedule only its last window
// counts: those before it were missed, and one snapshot makes up for all of them.
func longest(v *view.View) model.DueSnapshot {
	b := v.Record.Backups
	first := commanded(v)
	asked := first.Schedule
	if !b.Needed.IsZero() && v.Desired.Backups.SnapshotNewerThan > 0 && first.Schedule == "" {
		first = model.DueSnapshot{Schedule: definition.BeforeSchedule, At: b.Needed}
	}
	for _, s := range v.Desired.Backups.Schedules {
		if v.Desired.Windowless {
			break
		}
		at := snapshots.LastWindow(s, last(b, s.Name), v.Now)
		// One that is asked for in the schedule's name is its last window, too.
		if !at.IsZero() && s.Name != asked && (first.At.IsZero() || at.Before(first.At)) {
			first = model.DueSnapshot{Schedule: s.Name, At: at}
		}
	}
	return first
}

// commanded is what a person asks for and was not begun; the zero value for nothing.
func commanded(v *view.View) model.DueSnapshot {
	asked := v.Observed.Commands.BackupAt
	if asked == "" || asked == v.Record.Backups.Command {
		return model.DueSnapshot{}
	}
	schedule, at, _ := model.BackupCommand(asked) // one of which nothing can come is void, and has ended
	return model.DueSnapshot{Schedule: schedule, At: at, Command: true}
}

// scheduled reports whether a command may name the schedule.
func scheduled(v *view.View, schedule string) bool {
	return schedule == definition.CommandSchedule ||
		slices.ContainsFunc(v.Desired.Backups.Schedules, func(s definition.BackupSchedule) bool { return s.Name == schedule })
}

// void ends a command that nothing can come of: it would stand until there is a schedule of that name,
// which may be years. Of a name that is there no second snapshot is taken: a window of that very second has it.
func void(t *pass.Pass) {
	b, asked := t.Record.Backups, t.Observed.Commands.BackupAt
	if asked == "" || asked == b.Command {
		return
	}
	schedule, at, ok := model.BackupCommand(asked)
	why, name := "the definition has no such schedule, or it begins with no time", model.SnapshotName(schedule, at)
	if ok && scheduled(&t.View, schedule) {
		why = name + " is there already"
		taken := slices.ContainsFunc(b.Taken, func(k model.TakenSnapshot) bool { return k.Name == name })
		if !taken && (b.Running == nil || b.Running.Name != name) {
			return
		}
	}
	b.Command = asked
	t.Report(model.Report{Reason: "BackupCommandVoid", Warning: true, Message: "no snapshot is taken for the command backupAt=" + asked + ": " + why})
}

// last is when the schedule's last window was; when it is not known, since when there are backups.
func last(b *model.Backups, schedule string) time.Time {
	if s := recordedAs(b.Schedules, schedule); s != nil && !s.Last.IsZero() {
		return s.Last
	}
	return b.Since
}

func recordedAs(all []model.RecordedSchedule, schedule string) *model.RecordedSchedule {
	return model.Find(all, func(s *model.RecordedSchedule) bool { return s.Name == schedule })
}

// schedules notes those of the definition. One that it does not have any more keeps its last window: it
// may come back.
func schedules(t *pass.Pass) {
	before := t.Record.Backups.Schedules
	Note(t.Record.Backups, t.Desired.Backups)
	for _, s := range t.Record.Backups.Schedules {
		was := recordedAs(before, s.Name)
		recurs := was != nil && was.Cron != "" && s.Cron != ""
		if !recurs || was.Cron == s.Cron && was.TimeZone == s.TimeZone {
			continue
		}
		t.Report(model.Report{
			Event: model.EventSchedule, Status: model.StatusSuccess, Reason: "ScheduleChanged", Schedule: s.Name, Cron: s.Cron,
			Message: fmt.Sprintf("schedule %s takes its snapshots at %s %s from now on, and no more at %s", s.Name, s.Cron, cmp.Or(s.TimeZone, "UTC"), was.Cron),
		})
	}
}

// Note writes the schedules of a definition into the record.
func Note(b *model.Backups, d *definition.Backups) {
	var next []model.RecordedSchedule
	for _, s := range d.Schedules {
		recorded := model.RecordedSchedule{Name: s.Name, Cron: s.Cron, TimeZone: s.TimeZone, Keep: s.Keep, KeepFor: s.KeepFor, Tables: strings.Join(s.Tables, ",")}
		if was := recordedAs(b.Schedules, s.Name); was != nil {
			recorded.Last = was.Last
		}
		next = append(next, recorded)
	}
	for _, r := range b.Schedules {
		if recordedAs(next, r.Name) == nil && !r.Last.IsZero() {
			next = append(next, model.RecordedSchedule{Name: r.Name, Last: r.Last})
		}
	}
	b.Schedules, b.KeepAtLeast, b.Drills = next, d.KeepAtLeast, d.Drill != nil
	b.Policy = "keepAtLeast " + strconv.Itoa(d.KeepAtLeast) + ", maxDelay " + d.MaxDelay.String() + ", unreadable " + d.Unreadable
	b.Drill, b.DrillCron, b.DrillTimeZone = "", "", ""
	if d.Drill != nil {
		b.Drill, b.DrillCron, b.DrillTimeZone = d.Drill.String(), d.Drill.Cron, d.Drill.TimeZone
	}
	if d.SnapshotNewerThan > 0 {
		b.Policy += ", snapshotNewerThan " + d.SnapshotNewerThan.String()
	}
}

// recurs reports whether a schedule has windows.
func recurs(schedule string) bool {
	return schedule != definition.CommandSchedule && schedule != definition.BeforeSchedule
}

// took notes the window that a schedule of the definition has taken last.
func took(b *model.Backups, schedule string, at time.Time) {
	b.Schedules = slices.Clone(b.Schedules)
	if s := recordedAs(b.Schedules, schedule); s != nil && at.After(s.Last) {
		s.Last = at
	}
}

// dueSoon is how soon one that is due and waits is looked at again.
const dueSoon = 5 * time.Second

// Soon is when there is something to see of the snapshots of a cluster that is well: how far the one is that
// runs, whether one that waits can begin, or a window. 0 is never.
func Soon(t *pass.Pass) time.Duration {
	b := t.Record.Backups
	if b == nil || t.Desired.Backups == nil {
		return 0
	}
	if b.Running != nil {
		return b.Running.Look(t.Now)
	}
	if b.Due.Schedule != "" || b.Fetch != nil {
		return dueSoon
	}
	soon, all := time.Duration(0), t.Desired.Backups.Schedules
	if d := t.Desired.Backups.Drill; d != nil {
		all = append(slices.Clip(all), definition.BackupSchedule{Cron: d.Cron, TimeZone: d.TimeZone})
	}
	for _, s := range all {
		if next := snapshots.Next(s, t.Now); !next.IsZero() && (soon == 0 || next.Sub(t.Now) < soon) {
			soon = next.Sub(t.Now)
		}
	}
	return soon
}
