package ops_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

func TestACommandTakesASnapshotInASchedulesName(t *testing.T) {
	const asked = "2026-01-02T03:05:30Z"
	for _, c := range []struct {
		name    string
		command string
		ahead   time.Duration
		want    []string
		what    string
		void    int
	}{
		{"with the schedule's tables", asked + "/often", 0, []string{"stevedore-often-20260102t030530z SUCCESS"}, `TABLE "doc"."one"`, 0},
		{"of its own it has all", asked, 0, []string{"stevedore-now-20260102t030530z SUCCESS"}, "ALL", 0},
		{"and makes up for the window that has come", asked + "/often", 6 * time.Minute, []string{"stevedore-often-20260102t030530z SUCCESS"}, `TABLE "doc"."one"`, 0},
		{"also for one that waited before", "2026-01-02T03:11:00Z/often", 6 * time.Minute, []string{"stevedore-often-20260102t031100z SUCCESS"}, `TABLE "doc"."one"`, 0},
		{"another one does not", asked, 6 * time.Minute, []string{"stevedore-now-20260102t030530z SUCCESS", "stevedore-often-20260102t031000z SUCCESS"}, "ALL", 0},
		{"a schedule that is not there ends the command", asked + "/nightly", 0, nil, "", 1},
		{"and so does what is no time", "soon", 0, nil, "", 1},
		{"or no schedule", asked + "/", 0, nil, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := backedUpWorld(t, func(b *definition.Backups) { b.Schedules[0].Tables = []string{"doc.one"} })
			w.now = time.Date(2026, 1, 2, 3, 5, 40, 0, time.UTC)
			w.ahead(c.ahead)
			w.commands.BackupAt = c.command
			w.calm(60)
			assert.ElementsMatch(t, c.want, w.taken())
			if len(c.want) > 0 {
				assert.Equal(t, c.what, w.repositories[firstOf(w.repositories)].snapshots[0].what)
			}
			assert.Equal(t, c.void, reported(w, "BackupCommandVoid"))
			assert.Equal(t, c.command, w.record.Backups.Command, "it is over")
		})
	}
}

func TestTheRecordSaysWhatBecameOfASnapshot(t *testing.T) {
	w := backedUpWorld(t, func(b *definition.Backups) { b.Schedules[0].Keep, b.Schedules[0].KeepFor = 3, 24*time.Hour })
	w.ahead(10 * time.Minute)
	began := w.now
	w.calm(30)
	b := w.record.Backups
	require.Len(t, b.Taken, 1)
	assert.WithinRange(t, b.Taken[0].Began, began, b.Taken[0].Finished)
	assert.Empty(t, b.FailedSnapshot)
	assert.Equal(t, 2, b.KeepAtLeast)
	assert.Equal(t, 3, b.Schedules[0].Keep)
	assert.Equal(t, 24*time.Hour, b.Schedules[0].KeepFor)

	w.endsAs = model.SnapshotPartial
	w.ahead(10 * time.Minute)
	w.calm(30)
	failed := w.record.Backups.FailedAt
	assert.Equal(t, "stevedore-often-20260102t032000z", w.record.Backups.FailedSnapshot)
	assert.False(t, failed.IsZero())

	w.endsAs = ""
	w.ahead(10 * time.Minute)
	w.calm(30)
	assert.Empty(t, w.record.Backups.Failed)
	assert.Equal(t, failed, w.record.Backups.FailedAt, "when one last failed is kept")
}

func TestWhyASnapshotIsKept(t *testing.T) {
	now := time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)
	daysAgo := func(schedule, state string, days ...int) (all []model.TakenSnapshot) {
		for _, n := range days {
			at := now.AddDate(0, 0, -n)
			all = append(all, model.TakenSnapshot{Name: model.SnapshotName(schedule, at), State: state, Finished: at})
		}
		return all
	}
	good := func(days ...int) []model.TakenSnapshot { return daysAgo("nightly", model.SnapshotSuccess, days...) }
	const gone = backup.Why("")
	for _, c := range []struct {
		name     string
		schedule model.RecordedSchedule
		atLeast  int
		taken    []model.TakenSnapshot // oldest first
		want     []backup.Why
	}{
		{"no limit", model.RecordedSchedule{}, 3, good(9, 1), []backup.Why{backup.ByNoLimit, backup.ByNoLimit}},
		{"so many", model.RecordedSchedule{Keep: 2}, 1, good(9, 2, 1), []backup.Why{gone, backup.ByKeep, backup.ByKeep}},
		{"so long", model.RecordedSchedule{KeepFor: 60 * time.Hour}, 1, good(9, 2, 1), []backup.Why{gone, backup.ByKeepFor, backup.ByKeepFor}},
		{"at least so many", model.RecordedSchedule{Keep: 1}, 2, good(9, 2, 1), []backup.Why{gone, backup.ByAtLeast, backup.ByKeep}},
		{"the newest has failed", model.RecordedSchedule{Keep: 1}, 1, append(good(9, 2), daysAgo("nightly", model.SnapshotFailed, 1)...), []backup.Why{backup.ByFailure, backup.ByFailure, backup.ByFailure}},
		{"an older one has failed", model.RecordedSchedule{Keep: 3}, 1, append(daysAgo("nightly", model.SnapshotPartial, 2), good(1)...), []backup.Why{gone, backup.ByKeep}},
		{"a young one that has failed", model.RecordedSchedule{KeepFor: 60 * time.Hour}, 1, append(daysAgo("nightly", model.SnapshotPartial, 2), good(1)...), []backup.Why{backup.ByKeepFor, backup.ByKeepFor}},
		{"by command, and of a schedule that is no more", model.RecordedSchedule{Keep: 1}, 1, append(daysAgo("now", model.SnapshotSuccess, 9), daysAgo("old", model.SnapshotSuccess, 8)...), []backup.Why{backup.ByCommand, backup.ByNoSchedule}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.schedule.Name, c.schedule.Cron = "nightly", "0 2 * * *"
			b := &model.Backups{Taken: c.taken, KeepAtLeast: c.atLeast, Schedules: []model.RecordedSchedule{c.schedule, {Name: "old"}}}
			assert.Equal(t, c.want, backup.Kept(b, now))
		})
	}
}

// Whoever writes the annotation may write a time that a snapshot has already.
func TestACommandForANameThatIsThereTakesNoSecondSnapshot(t *testing.T) {
	w := backedUpWorld(t)
	w.commands.BackupAt = w.now.Format(time.RFC3339) + "/often"
	w.calm(60)
	require.Len(t, w.taken(), 1)
	first := *w.newestTaken()
	w.record.Backups.Command = "" // nobody remembers it
	w.ahead(time.Minute)
	w.calm(60)
	assert.Len(t, w.taken(), 1)
	assert.Equal(t, first, *w.newestTaken())
	assert.Contains(t, messageOf(w, "BackupCommandVoid"), first.Name+" is there already")
	assert.Equal(t, w.commands.BackupAt, w.record.Backups.Command)
}

// A snapshot that is given up has the list read once more before anything is restored from it.
func TestWhatWaitsForTheListOfSnapshotsSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		asks func(w *world)
		says string
	}{
		"tables": {func(w *world) {
			w.commands.FetchAt = model.FetchCommand{At: w.now, Schema: "old", Tables: []string{"doc.a"}}.String()
		}, "the restore or drill that was asked for waits: the list of snapshots"},
		"a drill": {func(w *world) { w.desired.Backups.Drill = &definition.Drill{Cron: "* * * * *"} }, "the drill waits: the list of snapshots"},
	} {
		t.Run(name, func(t *testing.T) {
			w := backedUpWorld(t)
			w.ahead(2 * time.Minute)
			c.asks(w)
			o := w.observe()
			o.Database.Listed, w.record.Backups.Listed = time.Time{}, time.Time{}
			assert.Contains(t, messages(ops.Decide(w.desired, o, w.record, model.Policy{}, w.now).Waits), c.says)
		})
	}
}

// A snapshot may take hours, and a person who asked for tables meanwhile was shown nothing of them.
func TestWhatWaitsForASnapshotSaysSo(t *testing.T) {
	tables := func(w *world) {
		w.commands.FetchAt = model.FetchCommand{At: w.now, Schema: "old", Tables: []string{"doc.a"}}.String()
	}
	drill := func(w *world) { w.desired.Backups.Drill = &definition.Drill{Cron: "* * * * *"} }
	for name, c := range map[string]struct {
		asks func(w *world)
		due  bool
		says string
	}{
		"tables while one is taken":  {tables, false, "the restore or drill that was asked for waits: a snapshot is taken first"},
		"a drill while one is taken": {drill, false, "the drill waits: a snapshot is taken first"},
		"tables while one is due":    {tables, true, "the restore or drill that was asked for waits: a snapshot is due, and is taken first"},
		"a drill while one is due":   {drill, true, "the drill waits: a snapshot is due, and is taken first"},
	} {
		t.Run(name, func(t *testing.T) {
			w := backedUpWorld(t)
			w.ahead(15 * time.Minute)
			if !c.due {
				w.until(func() bool { return w.record.Backups.Running != nil && !w.record.Backups.Running.Asked.IsZero() })
				w.ahead(time.Minute)
			}
			c.asks(w)
			o := w.observe()
			o.Database.NodesKnown = !c.due // one that is due does not begin
			assert.Contains(t, messages(ops.Decide(w.desired, o, w.record, model.Policy{}, w.now).Waits), c.says)
		})
	}
}
