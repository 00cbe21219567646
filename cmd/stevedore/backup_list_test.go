package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// takenAt is a snapshot that took a minute.
func takenAt(schedule, state string, due time.Time) model.TakenSnapshot {
	return model.TakenSnapshot{Name: model.SnapshotName(schedule, due), State: state, Began: due.Add(time.Second), Finished: due.Add(61 * time.Second), Tables: 3}
}

func with(taken ...model.TakenSnapshot) func(*model.Record) {
	return func(r *model.Record) { r.Backups.Taken, r.Backups.Listed = taken, time.Now() }
}

// named records which tables a snapshot has.
func named(schedule string, due time.Time) func(*model.Record) {
	return func(r *model.Record) {
		r.Backups.NoteTables(model.SnapshotName(schedule, due), []string{"doc.b", "doc.a", "log.c"})
	}
}

func TestTheSnapshotsOfAClusterAreListed(t *testing.T) {
	orders, metrics := record.Cluster{Namespace: "prod", Name: "orders"}, record.Cluster{Namespace: "test", Name: "metrics"}
	at := func(day, hour int) time.Time { return time.Date(2026, 1, day, hour, 0, 0, 0, time.UTC) }
	is := func(changes ...func(*model.Record)) *model.Record { return new(backedUp(changes...)) }
	young := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, c := range []struct {
		name string
		rec  *model.Record
		args []string
		// says are lines, in the order of the output.
		says []string
	}{
		{"some, the newest first", is(with(takenAt("hourly", model.SnapshotSuccess, at(2, 3)), takenAt("hourly", model.SnapshotPartial, at(2, 4)), takenAt("hourly", model.SnapshotSuccess, at(2, 5)))), nil, []string{
			"CLUSTER      SNAPSHOT ",
			"prod/orders  stevedore-hourly-20260102t050000z  hourly    SUCCESS  2026-01-02 05:01:01  ", "  1m0s  3       keep 24\n",
			"prod/orders  stevedore-hourly-20260102t040000z  hourly    PARTIAL  ", "no: it is dropped next\n",
			"prod/orders  stevedore-hourly-20260102t030000z  ", "keep 24\n",
			"prod/orders: backups: the newest good snapshot is stevedore-hourly-20260102t050000z, ",
			"prod/orders: repository stevedore_12345678 (base_path=prod/orders/id-1, bucket=snapshots, type=s3)\n",
		}},
		{"each is kept by something else", is(with(takenAt("weekly", model.SnapshotSuccess, at(1, 0)), takenAt("now", model.SnapshotSuccess, at(1, 1)), takenAt("nightly", model.SnapshotSuccess, at(1, 2)), takenAt("nightly", model.SnapshotSuccess, young))), nil, []string{
			"  keepFor 30d\n", "  keepAtLeast 3\n", "  until somebody drops it\n", "  until somebody drops it: its schedule is gone\n",
		}},
		{"nothing is dropped after a failure", is(with(takenAt("hourly", model.SnapshotSuccess, at(2, 3)), takenAt("hourly", model.SnapshotFailed, at(2, 4)))), nil, []string{"  FAILED ", "while the newest has not succeeded\n", "  SUCCESS", "while the newest has not succeeded\n"}},
		{"without a limit", is(with(takenAt("hourly", model.SnapshotSuccess, at(2, 3))), func(r *model.Record) { r.Backups.Schedules[0].Keep = 0 }), nil, []string{"without a limit\n"}},
		{"one is found in the repository, and nobody knows when it began", is(with(model.TakenSnapshot{Name: model.SnapshotName("hourly", at(2, 3)), State: model.SnapshotSuccess, Finished: at(2, 4)})), nil, []string{"2026-01-02 04:00:00  "}},
		{"one runs", is(running), nil, []string{"prod/orders  stevedore-nightly-20260102t013000z  nightly   IN_PROGRESS", " so far\n", "; stevedore-nightly-20260102t013000z has been running for "}},
		{"the names of the tables", is(with(takenAt("hourly", model.SnapshotSuccess, at(2, 3)), takenAt("hourly", model.SnapshotSuccess, at(2, 4)), takenAt("hourly", model.SnapshotSuccess, at(2, 5))), named("hourly", at(2, 4)), func(r *model.Record) {
			r.Backups.NoteTables(r.Backups.Taken[2].Name, nil)
			r.Backups.Taken[2].Tables = 0
		}, running), []string{"prod/orders", "-o", "wide"}, []string{
			"  KEPT ", "  NAMES\n",
			"IN_PROGRESS", "  known when it has ended\n",
			"t050000z", "  0       ", "  none\n",
			"t040000z", "  3       ", "  doc.a, doc.b, log.c\n",
			"t030000z", "  3       ", "  not known\n",
		}},
		{"none yet", is(with()), nil, []string{"prod/orders: backups: no snapshot has succeeded yet; the next window is that of schedule ", "prod/orders: repository stevedore_12345678 ("}},
		{"the repository was not read yet", is(), nil, []string{"; the daemon has not looked into it yet, and it may have more snapshots than are shown\n"}},
		{"there is no repository", is(func(r *model.Record) { r.Backups.Repository = model.RecordedRepository{} }), nil, []string{"prod/orders: there is no repository yet\n"}},
		{"one waits", is(func(r *model.Record) {
			r.Backups.Due, r.Backups.Waiting = model.DueSnapshot{Schedule: "nightly", At: at(2, 3)}, time.Now()
		}, because("information", "backup-waits", "an operation")), nil, []string{"; the snapshot of schedule nightly has waited for ", "s (backup-waits); ", "prod/orders: backup-waits: an operation\n"}},
		{"the last one failed", is(func(r *model.Record) {
			r.Backups.Failed, r.Backups.FailedAt = "snapshot s ended as FAILED: no\n\x1b[2Jspace", time.Now().Add(-time.Minute)
		}), nil, []string{"; the last one failed 1m", " ago; ", "prod/orders: snapshot s ended as FAILED: no\\n\\x1b[2Jspace\n"}},
		{"it is being restored", is(func(r *model.Record) {
			r.Backups, r.Bootstrap.Done, r.Restore = nil, false, &model.RecordedRestore{Of: "x", Step: model.RestoreRunning}
		}), nil, []string{"prod/orders: it is being made from a snapshot: `stevedore status` says how far that is\n"}},
		{"the definition has none", new(doneRecord()), nil, []string{"prod/orders: no snapshots are taken: its definition has no spec.backups, as far as the daemon has seen\n"}},
		{"all of a namespace", is(with()), []string{"-n", "prod"}, []string{"prod/orders: repository "}},
		{"of every namespace", is(with()), []string{"-A"}, []string{"prod/orders: repository ", "test/metrics: no snapshots are taken"}},
		{"a namespace without clusters", is(with()), []string{"-n", "empty"}, []string{"no clusters are recorded in namespace empty; -n names another one, -A all\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newAPIServer(t, "prod", "test", "empty")
			api.follows(attendance.Followed{}, 0)
			api.record(orders, *c.rec)
			api.record(metrics, doneRecord())
			if c.args == nil {
				c.args = []string{"prod/orders"}
			}
			end := stevedore(t, append([]string{"backup", "list"}, c.args...)...)
			require.Zero(t, end.code, end.err)
			assert.Empty(t, end.err)
			left := end.out
			for _, words := range c.says {
				_, after, found := strings.Cut(left, words)
				require.True(t, found, "%q in %s", words, left)
				left = after
			}
			assert.Equal(t, strings.Contains(strings.Join(c.args, " "), "-A"), strings.Contains(end.out, "metrics"))
		})
	}
}

func TestAListOfSnapshotsEndsWithAnErrorWhereThereIsNone(t *testing.T) {
	orders, damaged := record.Cluster{Namespace: "prod", Name: "orders"}, record.Cluster{Namespace: "prod", Name: "damaged"}
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"no such cluster", []string{"prod/ordres"}, "there is no record of a cluster prod/ordres: did you mean prod/orders"},
		{"nor anywhere", []string{"nobody", "-A"}, "there is no record of a cluster nobody in any namespace"},
		{"no such namespace", []string{"-n", "typo"}, "namespace typo does not exist"},
		{"a record that cannot be read", nil, "cluster prod/damaged: "},
		{"another format", []string{"-o", "yaml"}, `-o "yaml" is not known: write json or wide`},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newAPIServer(t, "prod")
			api.record(orders, backedUp())
			api.record(damaged, backedUp())
			api.damage(damaged)
			end := stevedore(t, append([]string{"backup", "list"}, c.args...)...)
			assert.Equal(t, exitError, end.code)
			assert.Contains(t, end.err, c.says)
			assert.Equal(t, c.args == nil, strings.Contains(end.out, "prod/orders: repository"), "the others are listed")
			if c.args == nil {
				assert.Contains(t, end.err, "NOBODY LOOKS AFTER prod/orders: ")
			}
		})
	}
}

func TestTheListOfSnapshotsAsJSON(t *testing.T) {
	due := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	api := newAPIServer(t, "prod")
	api.record(record.Cluster{Namespace: "prod", Name: "orders"}, backedUp(with(takenAt("hourly", model.SnapshotSuccess, due)), running, named("hourly", due)))
	api.record(record.Cluster{Namespace: "prod", Name: "plain"}, doneRecord())
	end := stevedore(t, "backup", "list", "orders", "-o", "json")
	require.Zero(t, end.code, end.err)
	var found []clusterBackups
	require.NoError(t, json.Unmarshal([]byte(end.out), &found))
	require.Len(t, found, 1)
	got := found[0]
	assert.Equal(t, "prod/orders", got.Cluster)
	assert.Equal(t, "stevedore_12345678", got.Repository)
	assert.Equal(t, map[string]string{"type": "s3", "bucket": "snapshots", "base_path": "prod/orders/id-1"}, got.Settings)
	assert.False(t, got.Listed.IsZero())
	require.NotNil(t, got.Backups)
	assert.Len(t, got.Backups.Schedules, 2)
	began := time.Date(2026, 1, 2, 2, 30, 5, 0, time.UTC)
	assert.Equal(t, []listedSnapshot{
		{Name: "stevedore-nightly-20260102t013000z", Schedule: "nightly", Due: began.Truncate(time.Hour).Add(-30 * time.Minute), Began: began, State: model.SnapshotInProgress},
		{Name: "stevedore-hourly-20260102t030000z", Schedule: "hourly", Due: due, Began: due.Add(time.Second), Ended: due.Add(61 * time.Second), State: model.SnapshotSuccess, Tables: 3, Names: []string{"doc.a", "doc.b", "log.c"}, Kept: "keep"},
	}, got.Snapshots)

	end = stevedore(t, "backup", "list", "plain", "-o", "json")
	require.Zero(t, end.code, end.err)
	assert.NotContains(t, end.out, `"backups"`)
	assert.Contains(t, end.out, `"snapshots": []`)
}

// A terminal breaks lines in the middle of words.
func TestNoWordOfTheSnapshotsIsBroken(t *testing.T) {
	now := time.Now()
	rec := backedUp(running, with(takenAt("hourly", model.SnapshotSuccess, now.Add(-time.Hour)), takenAt("weekly", model.SnapshotPartial, now.Add(-90*24*time.Hour))), func(r *model.Record) {
		r.Backups.Failed = "snapshot s ended as FAILED: " + strings.Repeat("[doc.measurements] cannot be written, ", 9) + "that is all"
	})
	api := newAPIServer(t, "prod")
	cluster := record.Cluster{Namespace: "prod", Name: "orders"}
	api.record(cluster, rec)
	objects, err := selection{client: waitHere(t).client, namespace: "prod"}.records(t.Context())
	require.NoError(t, err)
	found, err := backupsIn(objects[0], now)
	require.NoError(t, err)
	for _, width := range []int{80, 100, 200} {
		var out strings.Builder
		require.NoError(t, printBackups(&out, []clusterBackups{found}, "prod", true, width, now))
		for line := range strings.Lines(out.String()) {
			assert.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), width, line)
		}
		words := strings.Join(strings.Fields(out.String()), " ")
		require.Len(t, found.Snapshots, 3)
		for _, s := range found.Snapshots {
			for _, cell := range s.cells(found.Cluster, now) {
				assert.Contains(t, words, cell, "all is said, at %d columns", width)
			}
		}
		for _, remark := range found.remarks(now) {
			assert.Contains(t, words, remark)
		}
	}
}
