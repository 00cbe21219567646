package telemetry_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/telemetry"
)

func TestTheMetricsOfSnapshotsSayWhatAnAlertAsks(t *testing.T) {
	const of = `{cluster="orders",namespace="prod"`
	for _, c := range []struct {
		name string
		is   *telemetry.Backups
		want []string
	}{
		{"the definition has none", nil, []string{}},
		{"nothing was taken yet", &telemetry.Backups{Schedules: []telemetry.BackupSchedule{{Name: "nightly", Snapshots: map[string]int{"success": 0}}}}, []string{
			"stevedore_backup_running" + of + `} 0`,
			"stevedore_backup_snapshots" + of + `,schedule="nightly",state="success"} 0`,
		}},
		{"one runs", &telemetry.Backups{Running: true}, []string{"stevedore_backup_running" + of + `} 1`}},
		{"one waits, the last has failed, and before there was a good one", &telemetry.Backups{
			Waiting: start.Add(time.Hour), Failed: start.Add(time.Minute),
			Schedules: []telemetry.BackupSchedule{{Name: "nightly", LastSuccess: start, Snapshots: map[string]int{"success": 7, "partial": 1}}},
		}, []string{
			"stevedore_backup_last_failure_timestamp_seconds" + of + `} 1.79525526e+09`,
			"stevedore_backup_last_success_timestamp_seconds" + of + `,schedule="nightly"} 1.7952552e+09`,
			"stevedore_backup_running" + of + `} 0`,
			"stevedore_backup_snapshots" + of + `,schedule="nightly",state="partial"} 1`,
			"stevedore_backup_snapshots" + of + `,schedule="nightly",state="success"} 7`,
			"stevedore_backup_waiting_since_timestamp_seconds" + of + `} 1.7952588e+09`,
		}},
		{"a drill has proven one", &telemetry.Backups{Proven: start, Drill: start.Add(time.Minute), Restore: 90 * time.Second}, []string{
			"stevedore_backup_last_drill_timestamp_seconds" + of + `} 1.79525526e+09`,
			"stevedore_backup_last_proven_timestamp_seconds" + of + `} 1.7952552e+09`,
			"stevedore_backup_restore_seconds" + of + `} 90`,
			"stevedore_backup_running" + of + `} 0`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := telemetry.NewMetrics(telemetry.Build{}, nil)
			m.Backups(orders, &telemetry.Backups{Running: true, Waiting: start})
			m.Backups(orders, c.is)
			assert.Equal(t, c.want, series(t, m, "stevedore_backup_"))
			m.Forget(orders)
			assert.Empty(t, series(t, m, "stevedore_backup_"), "nothing stays of a cluster that is not kept")
		})
	}
}
