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

const nightlyTaken = "stevedore-nightly-20260102t013000z"

func taken(r *model.Record) {
	r.Backups.Listed = time.Now()
	r.Backups.Taken = []model.TakenSnapshot{{Name: nightlyTaken, State: model.SnapshotSuccess, Finished: time.Now()}}
}

func TestTablesAndDrillsAreAskedForAndWhatHoldsThemIsSaid(t *testing.T) {
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	const when = `^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/`
	is := func(changes ...func(*model.Record)) *model.Record {
		return new(backedUp(append([]func(*model.Record){taken}, changes...)...))
	}
	for _, c := range []struct {
		name  string
		rec   *model.Record
		args  []string
		given string
		says  string
		err   string
	}{
		{"a drill", is(), []string{"backup", "drill", "orders"}, when + "drill\\?snapshot=" + nightlyTaken + "$", "cluster prod/orders: a drill of snapshot " + nightlyTaken + " is asked for; the daemon begins it at its next look", ""},
		{"a drill of one", is(), []string{"backup", "drill", "orders", "--snapshot", nightlyTaken}, when + "drill\\?snapshot=" + nightlyTaken + "$", "a drill of snapshot " + nightlyTaken, ""},
		{"tables", is(), []string{"restore", "orders", "--table", "doc.a", "--table", "doc.B", "--schema", "old"}, when + "restore\\?schema=old&snapshot=" + nightlyTaken + "&tables=doc.a%2Cdoc.B$", "the restore of doc.a, doc.B under schema old from snapshot " + nightlyTaken + " is asked for", ""},
		{"two tables under one name", is(), []string{"restore", "orders", "--table", "a.t", "--table", "b.t", "--schema", "old"}, "", "", "two of the tables would be old.t"},
		{"a partition", is(), []string{"restore", "orders", "--table", "doc.a PARTITION (day='x')", "--schema", "old"}, "", "", "single partitions are not restored"},
		{"a table in its place", is(), []string{"restore", "orders", "--table", "doc.a", "--replace", "doc.a"}, when + "replace\\?snapshot=" + nightlyTaken + "&tables=doc.a$", "the restore of doc.a from snapshot " + nightlyTaken + ", which takes the place of the table, is asked for", ""},
		{"in its place, and another is named", is(), []string{"restore", "orders", "--table", "doc.a", "--replace", "doc.b"}, "", "", "--replace doc.b: write the same name as with --table"},
		{"two in their place", is(), []string{"restore", "orders", "--table", "doc.a", "--table", "doc.b", "--replace", "doc.a"}, "", "", "one table is replaced at a time"},
		{"in its place, under another schema", is(), []string{"restore", "orders", "--table", "doc.a", "--replace", "doc.a", "--schema", "old"}, "", "", "--schema goes with none of --replace"},
		{"what would be lost of nothing", is(), []string{"restore", "orders", "--table", "doc.a", "--dry-run"}, "", "", "--dry-run goes with --replace"},
		{"it is taken back, also where no snapshot is left", is(func(r *model.Record) { r.Backups.Taken = nil }), []string{"restore", "orders", "--undo", "doc.a"}, when + "undo\\?tables=doc.a$", "the exchange of doc.a with the table that is kept of it is asked for", ""},
		{"what is kept is dropped", is(), []string{"restore", "orders", "--drop-kept", "doc.a"}, when + "drop-kept\\?tables=doc.a$", "the drop of what is kept of doc.a is asked for", ""},
		{"both", is(), []string{"restore", "orders", "--drop-kept", "doc.a", "--undo", "doc.a"}, "", "", "ask for one"},
		{"it is taken back to a snapshot", is(), []string{"restore", "orders", "--undo", "doc.a", "--snapshot", nightlyTaken}, "", "", "need nothing but the table"},
		{"a schema of tables that were replaced", is(), []string{"restore", "orders", "--table", "doc.a", "--schema", "stevedore_replaced_1"}, "", "", "is none for tables of people"},
		{"a snapshot that is not there", is(), []string{"restore", "orders", "--table", "doc.a", "--snapshot", "x"}, "", "", "has no snapshot x: `stevedore backup list prod/orders` shows those that are there"},
		{"no snapshot at all", is(func(r *model.Record) { r.Backups.Taken = nil }), []string{"backup", "drill", "orders"}, "", "", "has no snapshot yet: `stevedore backup now prod/orders` takes one"},
		{"the definition has no snapshots", new(doneRecord()), []string{"backup", "drill", "orders"}, "", "", "has no spec.backups"},
		{"it is paused", is(because("wait", "paused", "p")), []string{"backup", "drill", "orders"}, when, "it waits for paused: p", ""},
		{"a Secret is missing", is(because("information", "repository-secret-missing", "s3")), []string{"backup", "drill", "orders"}, when, "it waits for repository-secret-missing: s3", ""},
		{"tables are restored", is(func(r *model.Record) { r.Backups.Fetch = &model.Fetch{Snapshot: "s"} }), []string{"backup", "drill", "orders"}, when,
			"it begins after the restore of tables of snapshot s, which is under way; if that does not end, `stevedore abort prod/orders` ends it, and this command too: ask again after `stevedore resume prod/orders`", ""},
		{"another one is tried", is(func(r *model.Record) { r.Backups.Fetch = &model.Fetch{Snapshot: "s", Drill: true} }), []string{"backup", "drill", "orders"}, when, "it begins after the drill of snapshot s, which is under way; if that does not end, `stevedore abort prod/orders` ends it", ""},
		{"the repository is refused", is(because("wait", "action-failed", "set-repository stevedore_1 failed (3 times): no such bucket")), []string{"backup", "drill", "orders"}, when, "the repository is not ready: set-repository stevedore_1 failed (3 times): no such bucket", ""},
		{"the daemon says what it waits for", is(because("information", "tables-restored", "the restore or drill that was asked for waits: the repository is not ready: it needs Secret s3, key id")), []string{"backup", "drill", "orders"}, when, "; the restore or drill that was asked for waits: the repository is not ready: it needs Secret s3, key id", ""},
		{"one is being taken", is(running), []string{"backup", "drill", "orders"}, when, "it begins after snapshot " + nightlyTaken + ", which is being taken", ""},
		{"no time", is(), []string{"backup", "drill", "orders", "--timeout", "0s"}, "", "", "--timeout must be longer than nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newAPIServer(t, "prod")
			api.follows(attendance.Followed{}, 0)
			api.record(orders, *c.rec)
			end := stevedore(t, c.args...)
			if c.given == "" {
				assert.Equal(t, exitError, end.code)
				assert.Contains(t, end.err, c.err)
				assert.Empty(t, api.commands(orders))
				return
			}
			assert.Zero(t, end.code, end.err)
			assert.Regexp(t, c.given, api.commands(orders)[names.FetchAtAnnotation])
			assert.Contains(t, end.out, c.says)
			_, err := model.ReadFetchCommand(api.commands(orders)[names.FetchAtAnnotation])
			assert.NoError(t, err, "the daemon reads it")
		})
	}
}

// The daemon would take the second for the first, which it has begun.
func TestTwoDrillsOfOneSecondAreTwo(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	c := model.FetchCommand{Drill: true, At: now}
	assert.Equal(t, now.Truncate(time.Second), nextFetch(&model.Backups{}, c, now))
	assert.Equal(t, now.Truncate(time.Second).Add(time.Second), nextFetch(&model.Backups{FetchCommand: c.String()}, c, now))
}

// It would end at once.
func TestNoTablesAreAskedForWhileAnAbortStands(t *testing.T) {
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	api := newAPIServer(t, "prod")
	api.follows(attendance.Followed{}, 0)
	api.record(orders, backedUp(taken))
	require.Zero(t, stevedore(t, "abort", "orders").code)
	for _, args := range [][]string{{"backup", "drill", "orders"}, {"restore", "orders", "--table", "doc.a"}} {
		end := stevedore(t, args...)
		assert.Equal(t, exitError, end.code)
		assert.Contains(t, end.err, "an abort of cluster prod/orders stands: `stevedore resume prod/orders` takes it back")
		assert.NotContains(t, api.commands(orders), names.FetchAtAnnotation)
	}
	require.Zero(t, stevedore(t, "resume", "orders").code)
	end := stevedore(t, "backup", "drill", "orders")
	assert.Zero(t, end.code, end.err)
}

// The one that waits would be lost without a word.
func TestACommandForTablesDoesNotTakeThePlaceOfOneThatWaits(t *testing.T) {
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	api := newAPIServer(t, "prod")
	api.follows(attendance.Followed{}, 0)
	api.record(orders, backedUp(taken))
	end := stevedore(t, "restore", "orders", "--table", "doc.a")
	assert.Zero(t, end.code, end.err)
	before := api.commands(orders)
	end = stevedore(t, "backup", "drill", "orders")
	assert.Equal(t, exitError, end.code)
	assert.Contains(t, end.err, "the restore of doc.a from snapshot "+nightlyTaken+" was asked for before, and the daemon has not begun it yet")
	assert.Equal(t, before, api.commands(orders))
}

func TestTheNewestSnapshotOfAllTablesIsAskedFor(t *testing.T) {
	at := time.Now()
	b := &model.Backups{Schedules: []model.RecordedSchedule{{Name: "some", Tables: "doc.a"}, {Name: "nightly"}}, Taken: []model.TakenSnapshot{
		{Name: model.SnapshotName("nightly", at.Add(-2*time.Hour)), State: model.SnapshotSuccess, Finished: at.Add(-2 * time.Hour)},
		{Name: model.SnapshotName("nightly", at.Add(-time.Minute)), State: model.SnapshotPartial, Finished: at.Add(-time.Minute)},
		{Name: model.SnapshotName("some", at), State: model.SnapshotSuccess, Finished: at},
	}}
	assert.Equal(t, b.Taken[0].Name, newestWhole(b))
	b.Taken = b.Taken[1:]
	assert.Equal(t, b.Taken[1].Name, newestWhole(b))
	assert.Empty(t, newestWhole(&model.Backups{}))
}

func TestWhoWaitsForTablesIsToldWhatBecomesOfThem(t *testing.T) {
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	command := model.FetchCommand{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Tables: []string{"doc.a"}}.String()
	drill := model.FetchCommand{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Drill: true}.String()
	standing := []record.Command{{Key: names.FetchAtAnnotation, Value: command}}
	ended := func(outcome model.FetchOutcome) func(*model.Record) {
		return func(r *model.Record) { r.Backups.Fetched, r.Backups.FetchCommand = outcome, outcome.Command }
	}
	for _, c := range []struct {
		name             string
		command          string
		rec              model.Record
		commands         []record.Command
		stuck            bool
		says, done, fail string
	}{
		{"the daemon begins it", command, backedUp(), standing, false, "the daemon begins it at its next look", "", ""},
		{"it is paused", command, backedUp(), append(standing, record.Pause("r1")), true, "the cluster is paused", "", ""},
		{"a Secret is missing", command, backedUp(because("information", "repository-secret-missing", "s3")), standing, true, "repository-secret-missing: s3", "", ""},
		{"tables come", command, backedUp(func(r *model.Record) { r.Backups.Fetch = &model.Fetch{Command: command, Snapshot: "s", Done: 1, Of: 2} }), nil, false, "1 of 2 tables of snapshot s were restored", "", ""},
		{"in the daemon's words", command, backedUp(because("information", "tables-restored", "20 %"), func(r *model.Record) { r.Backups.Fetch = &model.Fetch{Command: command} }), nil, false, "20 %", "", ""},
		{"the daemon does not know yet which they are", command, backedUp(func(r *model.Record) { r.Backups.Fetch = &model.Fetch{Command: command, Snapshot: "s"} }), nil, false, "the daemon looks which tables snapshot s has", "", ""},
		{"two tables exchange their names", command, backedUp(func(r *model.Record) { r.Backups.Fetch = &model.Fetch{Command: command, Verb: model.FetchUndo, Of: 1} }), nil, false, "it is under way", "", ""},
		{"they are there", command, backedUp(ended(model.FetchOutcome{Command: command, Done: 1, Of: 1})), nil, false, "", "doc.a restored", ""},
		{"they did not come", command, backedUp(ended(model.FetchOutcome{Command: command, Failed: "doc.a: no room"})), nil, false, "", "", "doc.a: no room"},
		{"a snapshot is proven", drill, backedUp(ended(model.FetchOutcome{Command: drill, Done: 2, Compared: 2, Of: 2})), nil, false, "", "the snapshot is proven: each of its 2 table(s)", ""},
		{"some of it was tried", drill, backedUp(ended(model.FetchOutcome{Command: drill, Done: 2, Compared: 1, Of: 3})), nil, false, "", "2 of 3 table(s) were restored on trial, and 1 of them compared", ""},
		{"somebody has taken it back", command, backedUp(), nil, true, "somebody has taken it back", "", ""},
		{"another one came", command, backedUp(), []record.Command{{Key: names.FetchAtAnnotation, Value: drill}}, true, "another command has taken the place of this one", "", ""},
		{"spec.backups is gone", command, doneRecord(), nil, true, "the definition has no spec.backups any more", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := askedSnapshot{cluster: orders, command: c.command, fetch: true, what: "it"}.judge(c.rec, c.commands)
			assert.Equal(t, c.stuck, v.stuck)
			assert.Contains(t, v.why, c.says)
			assert.Contains(t, v.done, c.done)
			assert.Equal(t, c.fail, v.failed)
		})
	}
}
