package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

func TestAStatusSaysHowTheSnapshotsAre(t *testing.T) {
	now := time.Date(2026, 1, 12, 12, 0, 0, 0, time.UTC)
	rec := func(changes ...func(*model.Record)) model.Record {
		return backedUp(append([]func(*model.Record){func(r *model.Record) {
			r.Backups.Since = now.Add(-10 * time.Minute)
			r.Backups.Schedules = r.Backups.Schedules[1:] // nightly, and one that is gone
		}}, changes...)...)
	}
	since := func(at time.Time) func(*model.Record) { return func(r *model.Record) { r.Backups.Since = at } }
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	nightly := func(day int) model.TakenSnapshot {
		return takenAt("nightly", model.SnapshotSuccess, time.Date(2026, 1, day, 1, 30, 0, 0, time.UTC))
	}
	const next = "the next window is that of schedule nightly at 2026-01-13 02:30 Europe/Vienna (30 2 * * *)"
	const late = "WARNING: the newest good snapshot of schedule nightly is "
	for _, c := range []struct {
		name string
		rec  model.Record
		want []string
	}{
		{"the definition has none", doneRecord(), nil},
		{"nothing yet", rec(), []string{"backups: no snapshot has succeeded yet; " + next}},
		{"the last window's", rec(with(nightly(11), nightly(12))), []string{"backups: the newest good snapshot is stevedore-nightly-20260112t013000z, 10h28m59s old; " + next}},
		{"the last window's is missing, and the next one may make up for it", rec(with(nightly(11))), []string{"backups: the newest good snapshot is stevedore-nightly-20260111t013000z, 34h28m59s old; " + next}},
		{"two windows' are missing", rec(with(nightly(10))), []string{
			"backups: the newest good snapshot is stevedore-nightly-20260110t013000z, 2d10h old; " + next,
			late + "2d10h old, and more than two of its windows have passed since",
		}},
		{"one of another schedule makes up for nothing", rec(with(nightly(10), takenAt("now", model.SnapshotSuccess, ago(time.Hour)))), []string{
			"backups: the newest good snapshot is stevedore-now-20260112t110000z, 58m59s old; " + next,
			late + "2d10h old, and more than two of its windows have passed since",
		}},
		{"nor does one that has failed", rec(with(nightly(10), takenAt("nightly", model.SnapshotPartial, ago(time.Hour)))), []string{
			"backups: the newest good snapshot is stevedore-nightly-20260110t013000z, 2d10h old; " + next,
			late + "2d10h old, and more than two of its windows have passed since",
		}},
		{"two windows' are missing of a cluster that is suspended", rec(with(nightly(10)), func(r *model.Record) { r.Suspended = []model.RecordedSet{{}} }), []string{
			"backups: the newest good snapshot is stevedore-nightly-20260110t013000z, 2d10h old; none is taken while the cluster is suspended",
		}},
		{"none has ever succeeded", rec(since(ago(60 * time.Hour))), []string{
			"backups: no snapshot has succeeded yet; " + next,
			"WARNING: no snapshot of schedule nightly has succeeded yet, and more than two of its windows have passed",
		}},
		{"the first of a schedule that is new runs", rec(since(ago(60*time.Hour)), func(r *model.Record) {
			r.Backups.Running = &model.RunningSnapshot{Name: "s", Schedule: "nightly", Began: ago(time.Minute)}
		}), []string{"backups: no snapshot has succeeded yet; s has been running for 1m0s; " + next}},
		{"one waits", rec(func(r *model.Record) {
			r.Backups.Due, r.Backups.Waiting = model.DueSnapshot{Schedule: "nightly", At: ago(time.Hour)}, ago(time.Hour)
		}), []string{"backups: no snapshot has succeeded yet; the snapshot of schedule nightly has waited for 1h0m0s; " + next}},
		{"it waits for a gate, of several the nearest", rec(func(r *model.Record) {
			r.Backups.Due, r.Backups.Waiting = model.DueSnapshot{Schedule: "nightly", At: ago(time.Hour)}, ago(time.Hour)
		}, because("information", "backup-waits", "the repository"), because("information", "repository-secret-missing", "s3")), []string{
			"backups: no snapshot has succeeded yet; the snapshot of schedule nightly has waited for 1h0m0s (repository-secret-missing); " + next,
		}},
		{"the last one failed", rec(func(r *model.Record) { r.Backups.Failed, r.Backups.FailedAt = "f", ago(time.Hour) }), []string{"backups: no snapshot has succeeded yet; the last one failed 1h0m0s ago; " + next}},
		{"a failure of a release that wrote no time", rec(func(r *model.Record) { r.Backups.Failed = "f" }), []string{"backups: no snapshot has succeeded yet; the last one failed; " + next}},
		{"one failed before the newest", rec(with(nightly(12)), func(r *model.Record) { r.Backups.FailedAt = ago(48 * time.Hour) }), []string{"backups: the newest good snapshot is stevedore-nightly-20260112t013000z, 10h28m59s old; " + next}},
		{"no schedule", rec(func(r *model.Record) { r.Backups.Schedules = nil }), []string{"backups: no snapshot has succeeded yet; there is no schedule: `stevedore backup now` takes one"}},
		{"nobody acts on it", rec(because("information", "paused", "it is paused")), []string{"backups: no snapshot has succeeded yet; none is taken while the cluster is paused"}},
		{"the snapshot before an operation waits", rec(func(r *model.Record) {
			r.Backups.Due, r.Backups.Waiting = model.DueSnapshot{Schedule: "before", At: ago(time.Hour)}, ago(time.Hour)
		}), []string{"backups: no snapshot has succeeded yet; the snapshot before an operation has waited for 1h0m0s; " + next}},
		{"a drill has proven the newest", rec(with(nightly(12)), func(r *model.Record) {
			r.Backups.Drills = true
			r.Backups.Taken[0].Proof = model.Proof{At: ago(time.Hour), Of: 2, Restored: 2, Compared: 2, Took: 90 * time.Second}
		}), []string{"backups: the newest good snapshot is stevedore-nightly-20260112t013000z, 10h28m59s old, and proven by a drill that restored it in 1m30s; " + next}},
		{"a drill has proven an older one", rec(with(nightly(11), nightly(12)), func(r *model.Record) {
			r.Backups.Drills = true
			r.Backups.Taken[0].Proof = model.Proof{At: ago(time.Hour), Of: 2, Restored: 2, Compared: 2, Took: 90 * time.Second}
		}), []string{"backups: the newest good snapshot is stevedore-nightly-20260112t013000z, 10h28m59s old; the newest proven one is stevedore-nightly-20260111t013000z, 34h28m59s old, restored by a drill in 1m30s; " + next}},
		{"a drill runs, and none has proven one", rec(with(nightly(12)), func(r *model.Record) {
			r.Backups.Drills = true
			r.Backups.Fetch = &model.Fetch{Drill: true, Snapshot: "s", Done: 10, Of: 25}
		}), []string{"backups: the newest good snapshot is stevedore-nightly-20260112t013000z, 10h28m59s old; no drill has proven one yet; tables of s are being restored, 10 of 25 are done; " + next}},
		{"the next drill", rec(with(nightly(12)), drillsOn("0 4 * * 0", "Europe/Vienna")), []string{
			"backups: the newest good snapshot is stevedore-nightly-20260112t013000z, 10h28m59s old; no drill has proven one yet; " + next +
				"; the next drill is at 2026-01-18 04:00 Europe/Vienna (0 4 * * 0)",
		}},
		{"the next drill, of a cluster that is paused", rec(drillsOn("0 4 * * 0", ""), because("information", "paused", "it is paused")), []string{
			"backups: no snapshot has succeeded yet; no drill has proven one yet; none is taken while the cluster is paused",
		}},
		{"a drill that waits", rec(with(nightly(12)), drillsOn("0 4 * * 0", ""), because("information", "drill-waits", "the drill waits: an abort stands")), []string{
			"backups: the newest good snapshot is stevedore-nightly-20260112t013000z, 10h28m59s old; no drill has proven one yet; " + next + "; a drill is due, and waits (drill-waits)",
		}},
		{"a drill without a window", rec(with(nightly(12)), drillsOn("0 0 30 2 *", "")), []string{
			"backups: the newest good snapshot is stevedore-nightly-20260112t013000z, 10h28m59s old; no drill has proven one yet; " + next + "; drills have no window within five years",
		}},
		{"a schedule without a window", rec(func(r *model.Record) {
			r.Backups.Schedules[0].Cron, r.Backups.Since = "0 0 30 2 *", ago(10000*time.Hour)
		}), []string{"backups: no snapshot has succeeded yet; no schedule has a window within five years"}},
		{"the window that comes first, in UTC where no time zone is written", rec(func(r *model.Record) {
			r.Backups.Schedules = append(r.Backups.Schedules, model.RecordedSchedule{Name: "noon", Cron: "30 12 * * *"})
		}), []string{"backups: no snapshot has succeeded yet; the next window is that of schedule noon at 2026-01-12 12:30 UTC (30 12 * * *)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			status := clusterStatus{Cluster: "prod/orders", Backups: backupsOf(c.rec, now)}
			assert.Equal(t, c.want, status.remarks(now))
			for _, width := range []int{80, 100, 200} {
				var out strings.Builder
				require.NoError(t, printStatuses(&out, []clusterStatus{status}, "", width, now))
				words := strings.Join(strings.Fields(out.String()), " ")
				for line := range strings.Lines(out.String()) {
					assert.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), width, line)
				}
				for _, remark := range c.want {
					assert.Contains(t, words, "prod/orders: "+remark, "no word is broken")
				}
			}
		})
	}
}

func TestTheAgeOfASnapshot(t *testing.T) {
	now := time.Date(2026, 1, 12, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 90 * time.Second: "1m30s", 48*time.Hour - time.Second: "47h59m59s", 48 * time.Hour: "2d0h", 75*time.Hour + 59*time.Minute: "3d3h",
	} {
		assert.Equal(t, want, daysSince(now.Add(-d), now))
	}
}

// A snapshot in the summer is in another time zone than its next window.
func TestTheNextWindowIsByTheClockOfItsTimeZone(t *testing.T) {
	rec := backedUp(func(r *model.Record) { r.Backups.Schedules = r.Backups.Schedules[1:2] })
	for at, want := range map[time.Time]string{
		time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC): "at 2026-03-30 02:30 Europe/Vienna", // 02:30 of the 29th is not there
		time.Date(2026, 7, 1, 0, 29, 0, 0, time.UTC):  "at 2026-07-01 02:30 Europe/Vienna",
		time.Date(2026, 12, 1, 1, 29, 0, 0, time.UTC): "at 2026-12-01 02:30 Europe/Vienna",
	} {
		assert.Contains(t, backupsOf(rec, at).remarks(at)[0], want)
	}
}

func TestAStatusHasTheSnapshotsAsJSON(t *testing.T) {
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	api := newAPIServer(t, "prod")
	due := time.Now().UTC().Add(-100 * time.Hour).Truncate(time.Second)
	api.record(orders, backedUp(with(takenAt("nightly", model.SnapshotSuccess, due)), func(r *model.Record) {
		r.Backups.Due, r.Backups.Waiting = model.DueSnapshot{Schedule: "hourly", At: due}, due
		r.Backups.Failed, r.Backups.FailedAt = "f", due
	}, because("information", "backup-waits", "an operation")))
	end := stevedore(t, "status", "orders", "-o", "json")
	require.Zero(t, end.code, end.err)
	var statuses []clusterStatus
	require.NoError(t, json.Unmarshal([]byte(end.out), &statuses))
	require.Len(t, statuses, 1)
	got := statuses[0].Backups
	require.NotNil(t, got)
	assert.Equal(t, &newestSnapshot{model.SnapshotName("nightly", due), due.Add(61 * time.Second)}, got.Newest)
	assert.Equal(t, &waitingSnapshot{Schedule: "hourly", Due: due, Since: due, Gate: "backup-waits", Message: "an operation"}, got.Waiting)
	assert.Equal(t, "f", got.Failed)
	assert.Equal(t, due, got.FailedAt)
	require.Len(t, got.Schedules, 2)
	assert.True(t, got.Schedules[0].Next.After(time.Now()))
	assert.False(t, got.Schedules[0].Late)
	assert.Equal(t, "UTC", got.Schedules[0].TimeZone)
	assert.True(t, got.Schedules[1].Late)
	assert.Equal(t, "Europe/Vienna", got.Schedules[1].TimeZone)

	end = stevedore(t, "status")
	require.Zero(t, end.code, end.err)
	assert.Contains(t, end.out, "prod/orders: backups: the newest good snapshot is ")
	assert.Contains(t, end.out, "prod/orders: WARNING: the newest good snapshot of schedule nightly is ")
}

// An old record says nothing of what newer ones have.
func TestARecordOfAReleaseBeforeIsRead(t *testing.T) {
	var rec model.Record
	require.NoError(t, record.Decode(record.Operation, `{"schemaVersion":1,"backups":{"since":"2026-01-01T00:00:00Z","repository":{"name":"r"},
		"schedules":[{"name":"nightly","last":"2026-01-02T02:30:00Z"}],"taken":[{"name":"stevedore-nightly-20260102t023000z","state":"SUCCESS","finished":"2026-01-02T02:31:00Z"}]}}`, &rec))
	s := backupsOf(rec, time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC))
	assert.Equal(t, []string{"backups: the newest good snapshot is stevedore-nightly-20260102t023000z, 21h29m0s old; there is no schedule: `stevedore backup now` takes one"}, s.remarks(rec.Backups.Taken[0].Finished.Add(21*time.Hour+29*time.Minute)))
}

// drillsOn has the definition ask for drills.
func drillsOn(cron, zone string) func(*model.Record) {
	return func(r *model.Record) {
		r.Backups.Drills, r.Backups.DrillCron, r.Backups.DrillTimeZone = true, cron, zone
	}
}
