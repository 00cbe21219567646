// Package snapshots knows the windows of spec.backups, and which of the snapshots that were taken counts for what. It is
// pure.
package snapshots

import (
	"cmp"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"stevedore.dev/stevedore/render/definition"
)

const day = 24 * time.Hour

// LastWindow is the last window of a schedule after one time and not after another; zero for none.
func LastWindow(s definition.BackupSchedule, after, now time.Time) time.Time {
	schedule := parse(s)
	var found time.Time
	// Most schedules have a window a day: those of years that nobody looked are not walked through.
	for _, back := range []time.Duration{day, 32 * day, 400 * day} {
		from := now.Add(-back)
		if from.Before(after) {
			from = after
		}
		for at := schedule.Next(from); !at.IsZero() && !at.After(now); at = schedule.Next(at) {
			found = at
		}
		if !found.IsZero() || from.Equal(after) {
			break
		}
	}
	return found.UTC()
}

// Next is the next window of a schedule; zero for none within five years, and where this machine does not know
// the time zone.
func Next(s definition.BackupSchedule, now time.Time) time.Time {
	schedule := parse(s)
	if schedule == nil {
		return time.Time{}
	}
	return schedule.Next(now).UTC()
}

// mostParsed bounds what is kept: definitions come and go.
const mostParsed = 1000

// parsed are schedules that were read before: each pass asks for the same few. What one text is read as never changes.
var parsed struct {
	sync.RWMutex
	of map[[2]string]cron.Schedule
}

// parse reads a schedule in its time zone: that of a definition was checked.
func parse(s definition.BackupSchedule) cron.Schedule {
	key := [2]string{s.TimeZone, s.Cron}
	parsed.RLock()
	known, ok := parsed.of[key]
	parsed.RUnlock()
	if ok {
		return known
	}
	schedule, _ := cron.ParseStandard("CRON_TZ=" + cmp.Or(s.TimeZone, "UTC") + " " + s.Cron)
	parsed.Lock()
	defer parsed.Unlock()
	if parsed.of == nil || len(parsed.of) >= mostParsed {
		parsed.of = map[[2]string]cron.Schedule{}
	}
	parsed.of[key] = schedule
	return schedule
}
