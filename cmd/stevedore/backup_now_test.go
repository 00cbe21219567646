package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// backedUp is the record of a cluster with two schedules, and one that is gone.
func backedUp(changes ...func(*model.Record)) model.Record {
	rec := doneRecord()
	rec.Backups = &model.Backups{
		Since: time.Now().Add(-30 * time.Minute), KeepAtLeast: 3,
		Repository: model.RecordedRepository{Name: "stevedore_12345678", Settings: "base_path=prod/orders/id-1\nbucket=snapshots\ntype=s3"},
		Schedules: []model.RecordedSchedule{
			{Name: "hourly", Cron: "0 * * * *", Keep: 24},
			{Name: "nightly", Cron: "30 2 * * *", TimeZone: "Europe/Vienna", KeepFor: 30 * 24 * time.Hour},
			{Name: "weekly", Last: time.Now()},
		},
	}
	for _, change := range changes {
		change(&rec)
	}
	return rec
}

// because shows reasons, as a daemon does.
func because(kind, name, message string) func(*model.Record) {
	return func(r *model.Record) {
		r.Shown.Reasons = append(r.Shown.Reasons, model.ShownReason{Kind: kind, Name: name, Message: message})
	}
}

func running(r *model.Record) {
	began := time.Date(2026, 1, 2, 2, 30, 5, 0, time.UTC)
	r.Backups.Running = &model.RunningSnapshot{Name: "stevedore-nightly-20260102t013000z", Schedule: "nightly", Began: began, Asked: began}
}

func TestASnapshotIsAskedForAndWhatHoldsItIsSaid(t *testing.T) {
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	const when = `^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`
	is := func(changes ...func(*model.Record)) *model.Record { return new(backedUp(changes...)) }
	for _, c := range []struct {
		name string
		rec  *model.Record
		args []string
		// given is the command; "" for none.
		given string
		says  string
		err   string
	}{
		{"at once", is(), []string{"prod/orders"}, when + "$", "; the daemon begins it at its next look", ""},
		{"one of its own", is(), []string{"orders"}, when + "$", "cluster prod/orders: snapshot stevedore-now-", ""},
		{"one of a schedule", is(), []string{"orders", "--schedule", "nightly"}, when + "/nightly$", "cluster prod/orders: snapshot stevedore-nightly-", ""},
		{"a schedule that is not there", is(), []string{"orders", "--schedule", "daily"}, "", "", `has no schedule "daily": there are hourly, nightly; without`},
		{"a schedule that is gone", is(), []string{"orders", "--schedule", "weekly"}, "", "", `has no schedule "weekly": there are hourly, nightly; without`},
		{"no schedule at all", is(func(r *model.Record) { r.Backups.Schedules = nil }), []string{"orders", "--schedule", "daily"}, "", "", `has no schedule "daily", nor any other`},
		{"the definition has no snapshots", new(doneRecord()), []string{"orders"}, "", "", "cluster prod/orders has no spec.backups, as far as the daemon has seen"},
		{"the cluster is not made yet", &model.Record{}, []string{"orders"}, "", "", "cluster prod/orders is not created yet"},
		{"there is no such cluster", nil, []string{"prod/typo"}, "", "", "there is no record of a cluster prod/typo"},
		{"there is no such namespace", nil, []string{"typo/orders"}, "", "", "namespace typo does not exist"},
		{"it is paused", is(because("wait", "paused", "p")), []string{"orders"}, when + "$", "; the cluster is paused, and it begins when that is taken back: stevedore resume prod/orders", ""},
		{"it is released", is(because("wait", "released", "r")), []string{"orders"}, when + "$", "; the cluster is released, and it begins when", ""},
		{"its definition is gone", is(because("wait", "orphaned", "o")), []string{"orders"}, when + "$", "; it waits for orphaned: o", ""},
		{"a Secret is missing", is(because("information", "backup-waits", "w"), because("information", "repository-secret-missing", "the repository needs Secret s3, key id")),
			[]string{"orders"}, when + "$", "; it waits for repository-secret-missing: the repository needs Secret s3, key id", ""},
		{"it is suspended", is(func(r *model.Record) { r.Suspended = []model.RecordedSet{{}} }), []string{"orders"}, when + "$", "; the cluster is suspended, and it begins when the cluster runs again", ""},
		{"another one runs", is(running), []string{"orders"}, when + "$", "; it begins after stevedore-nightly-20260102t013000z, which is being taken since 2026-01-02T02:30:05Z", ""},
		{"an operation is under way", is(func(r *model.Record) {
			r.Operation = &model.Operation{Kind: model.OperationRestart, Restart: &model.Restart{}}
		}), []string{"orders"}, when + "$", "; it begins after the operation restart, or between two of its pods", ""},
		{"two clusters", nil, []string{"a", "b"}, "", "", "takes one CLUSTER and was given 2 (a, b)"},
		{"all of them", nil, []string{"--all"}, "", "", "unknown flag: --all"},
		{"no time", is(), []string{"orders", "--timeout", "0s"}, "", "", "--timeout must be longer than nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newAPIServer(t, "prod")
			api.follows(attendance.Followed{}, 0)
			if c.rec != nil {
				api.record(orders, *c.rec)
			}
			end := stevedore(t, append([]string{"backup", "now"}, c.args...)...)
			if c.given == "" {
				assert.Equal(t, exitError, end.code)
				assert.Contains(t, end.err, c.err)
				assert.Empty(t, end.out)
				if c.rec != nil {
					assert.Empty(t, api.commands(orders))
				}
				return
			}
			assert.Zero(t, end.code, end.err)
			assert.Regexp(t, c.given, api.commands(orders)[names.BackupAtAnnotation])
			assert.Contains(t, end.out, c.says)
			assert.Empty(t, end.err)
		})
	}
}

// A command is written by the second, and so is a window in the name of its snapshot.
func TestTwoSnapshotsNeverHaveOneName(t *testing.T) {
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const free, next = "2026-01-02T03:04:05Z/nightly", "2026-01-02T03:04:06Z/nightly"
	name := model.SnapshotName("nightly", at)
	for _, c := range []struct {
		name      string
		change    func(*model.Record)
		commanded string
		given     string
		same      bool
	}{
		{"none has it", func(*model.Record) {}, "", free, false},
		{"it was taken", with(takenAt("nightly", model.SnapshotSuccess, at)), "", next, false},
		{"it is being taken", func(r *model.Record) { r.Backups.Running = &model.RunningSnapshot{Name: name} }, "", next, false},
		{"it has failed", func(r *model.Record) { r.Backups.FailedSnapshot = name }, "", next, false},
		{"it was asked for, and nobody knows what became of it", func(r *model.Record) { r.Backups.Command = free }, "", next, false},
		{"it was begun, and the command still stands", func(r *model.Record) { r.Backups.Command = free }, free, next, false},
		{"two have it, and the second after", func(r *model.Record) {
			with(takenAt("nightly", model.SnapshotSuccess, at), takenAt("nightly", model.SnapshotSuccess, at.Add(time.Second)))(r)
		}, "", "2026-01-02T03:04:07Z/nightly", false},
		{"one waits that somebody else has asked for", func(*model.Record) {}, "2026-01-02T03:00:00Z/nightly", "2026-01-02T03:00:00Z/nightly", true},
		{"one of another schedule waits", func(*model.Record) {}, "2026-01-02T03:04:05Z/hourly", free, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := backedUp(c.change)
			var commands []record.Command
			if c.commanded != "" {
				commands = append(commands, record.Command{Key: names.BackupAtAnnotation, Value: c.commanded})
			}
			given, same := nextBackup(&rec, commands, at.Add(300*time.Millisecond), "nightly")
			assert.Equal(t, c.given, given.Value)
			assert.Equal(t, c.same, same)
		})
	}

	api := newAPIServer(t, "prod")
	api.follows(attendance.Followed{}, 0)
	api.record(orders, backedUp())
	require.Zero(t, stevedore(t, "backup", "now", "orders").code)
	before := api.commands(orders)
	end := stevedore(t, "backup", "now", "orders")
	assert.Zero(t, end.code, end.err)
	assert.Contains(t, end.out, " is asked for already, and this is the same one; ")
	assert.Equal(t, before, api.commands(orders))
	end = stevedore(t, "backup", "now", "orders", "--schedule", "nightly")
	assert.Zero(t, end.code, end.err)
	assert.Contains(t, end.out, "it takes the place of stevedore-now-")
}

func TestASnapshotThatNobodyTakesIsSaid(t *testing.T) {
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	api := newAPIServer(t, "prod")
	api.record(orders, backedUp())
	end := stevedore(t, "backup", "now", "orders")
	assert.Zero(t, end.code, end.err)
	assert.Contains(t, end.err, "NOBODY LOOKS AFTER prod/orders: there is no Lease ")
	api.damage(orders)
	end = stevedore(t, "backup", "now", "orders")
	assert.Equal(t, exitError, end.code, "a record that cannot be read takes no command")
}

func TestAShellCompletesTheSchedules(t *testing.T) {
	api := newAPIServer(t, "prod")
	api.record(record.Cluster{Namespace: "prod", Name: "orders"}, backedUp())
	assert.Equal(t, []string{"orders"}, completed(t, "backup", "now", ""))
	assert.Equal(t, []string{"hourly", "nightly"}, completed(t, "backup", "now", "orders", "--schedule", ""))
	assert.Empty(t, completed(t, "backup", "now", "--schedule", ""))
	assert.ElementsMatch(t, []string{"list", "now", "drill"}, completed(t, "backup", ""))
}

func TestAVerbThatIsNotThereIsRefusedByName(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"restore", "prod/orders"}, "name a table: --table doc.orders"},
		{[]string{"restore", "prod/orders", "--table", "orders"}, "write each with its schema"},
		{[]string{"restore", "prod/orders", "--table", "doc.orders", "--schema", "Old"}, `--schema "Old": write a-z, 0-9 and _`},
		{[]string{"restore", "prod/orders", "--table", "doc.orders", "--schema", "stevedore_drill_x"}, "is none for tables of people"},
		{[]string{"backup", "lisst"}, `there is no verb "backup lisst": did you mean list?`},
		{[]string{"backup", "prod/orders"}, `there is no verb "backup prod/orders": stevedore backup --help lists them`},
		{[]string{"help", "backup", "lisst"}, `there is no verb "backup lisst": did you mean list?`},
		{[]string{"bakcup"}, `there is no verb "bakcup": did you mean backup?`},
	} {
		end := stevedore(t, c.args...)
		assert.Equal(t, exitError, end.code, "%v", c.args)
		assert.Contains(t, end.err, c.says)
	}
	end := stevedore(t, "backup")
	assert.Zero(t, end.code)
	assert.Contains(t, end.out, "stevedore backup [command]")
}
