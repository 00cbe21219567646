package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/internal/telemetry"
	"stevedore.dev/stevedore/ops/model"
)

func TestTheMetricsOfSnapshotsAreThoseOfTheRecord(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 1, 2, hour, 0, 0, 0, time.UTC) }
	taken := func(schedule, state string, hour int) model.TakenSnapshot {
		return model.TakenSnapshot{Name: model.SnapshotName(schedule, at(hour)), State: state, Finished: at(hour)}
	}
	nightly, gone := model.RecordedSchedule{Name: "nightly", Cron: "0 2 * * *"}, model.RecordedSchedule{Name: "gone", Last: at(1)}
	both := []model.RecordedSchedule{nightly, gone}
	for _, c := range []struct {
		name string
		of   *model.Backups
		want *telemetry.Backups
	}{
		{"the definition has none", nil, nil},
		{"nothing is taken yet, and that is known", &model.Backups{Listed: at(1), Schedules: both},
			&telemetry.Backups{Schedules: []telemetry.BackupSchedule{{Name: "nightly", Snapshots: map[string]int{"success": 0}}}}},
		{"nobody has looked into the repository", &model.Backups{Schedules: both}, &telemetry.Backups{Schedules: []telemetry.BackupSchedule{{Name: "nightly"}}}},
		{"one runs", &model.Backups{Running: &model.RunningSnapshot{}}, &telemetry.Backups{Running: true}},
		{"one waits", &model.Backups{Due: model.DueSnapshot{Schedule: "nightly"}, Waiting: at(2)}, &telemetry.Backups{Waiting: at(2)}},
		{"it waits no more", &model.Backups{Waiting: at(2)}, &telemetry.Backups{}},
		{"one has failed", &model.Backups{FailedAt: at(3)}, &telemetry.Backups{Failed: at(3)}},
		{"some are there", &model.Backups{Listed: at(1), Schedules: both, Taken: []model.TakenSnapshot{
			taken("gone", model.SnapshotSuccess, 1), taken("nightly", model.SnapshotSuccess, 2), taken("nightly", model.SnapshotSuccess, 3),
			taken("nightly", model.SnapshotPartial, 4), taken("now", model.SnapshotSuccess, 5),
		}}, &telemetry.Backups{Schedules: []telemetry.BackupSchedule{
			{Name: "nightly", LastSuccess: at(3), Snapshots: map[string]int{"success": 2, "partial": 1}},
			{Name: "gone", Snapshots: map[string]int{"success": 1}},
			{Name: "now", LastSuccess: at(5), Snapshots: map[string]int{"success": 1}},
		}}},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, measuredBackups(c.of)) })
	}
}

func TestAClusterThatIsSuspendedWakesNobodyByItsSnapshots(t *testing.T) {
	w := newWorker(t, recordtest.NewConfigMaps())
	waiting := func() int {
		all, err := w.metrics.Gatherer().Gather()
		require.NoError(t, err)
		for _, one := range all {
			if one.GetName() == "stevedore_backup_waiting_since_timestamp_seconds" {
				return len(one.GetMetric())
			}
		}
		return 0
	}
	rec := model.Record{Backups: &model.Backups{Due: model.DueSnapshot{Schedule: "nightly"}, Waiting: time.Now()}}
	w.measure(model.Decision{Record: rec}, model.Observed{})
	assert.Equal(t, 1, waiting())
	rec.Bootstrap.Done, rec.Suspended = true, []model.RecordedSet{{Name: "hot"}}
	w.measure(model.Decision{Record: rec}, model.Observed{})
	assert.Zero(t, waiting())
}
