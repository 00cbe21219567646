// Package snapshots knows the windows of spec.backups, and which of the snapshots that were taken counts for what. It is
// pure.
package snapshots

import (
	"time"

	"github.com/robfig/cron/v3"

	"stevedore.dev/stevedore/render/definition"
)

const day = 24 * time.Hour

// LastWindow is the last window of a schedule after one time and not after another; zero for none.
func LastWindow(s definition.BackupSchedule, after, now time.Time) time.Time {
	schedule, err := parse(s)
	if err != nil {
		return time.Time{} // the definition was checked
	}
	// Most schedules have a window a day: those of years that nobody looked are not walked through.
	for _, back := range []time.Duration{day, 32 * day, 400 * day} {
		from := now.Add(-back)
		if from.Before(after) {
			from = after
		}
		var found time.Time
		for at := schedule.Next(from); !at.IsZero() && !at.After(now); at = schedule.Next(at) {
			found = at
		}
		if !found.IsZero() || from.Equal(after) {
			return found.UTC()
		}
	}
	return time.Time{}
}

// Next is the next window of a schedule; zero for none within five years.
func Next(s definition.BackupSchedule, now time.Time) time.Time {
	schedule, err := parse(s)
	if err != nil {
		return time.Time{}
	}
	return schedule.Next(now).UTC()
}

// parse reads a schedule in its time zone.
func parse(s definition.BackupSchedule) (cron.Schedule, error) {
	zone := s.TimeZone
	if zone == "" {
		zone = "UTC"
	}
	return cron.ParseStandard("CRON_TZ=" + zone + " " + s.Cron)
}
