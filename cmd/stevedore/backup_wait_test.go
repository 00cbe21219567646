package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// begins is a daemon that has begun what a command asks for, and of which the record then says what becomes
// of it at each look.
func (s *apiServer) begins(becomes ...func(b *model.Backups, snapshot string)) {
	asked, looks := "", 0
	s.daemon = func(object *corev1.ConfigMap) {
		if command := object.Annotations[names.BackupAtAnnotation]; command != "" {
			asked = command
			delete(object.Annotations, names.BackupAtAnnotation)
		}
		if asked == "" {
			return
		}
		rec := recordOf(object)
		schedule, at, _ := model.BackupCommand(asked)
		rec.Backups.Command = asked
		becomes[min(looks, len(becomes)-1)](rec.Backups, model.SnapshotName(schedule, at))
		looks++
		text, err := record.Encode(record.Operation, rec)
		assert.NoError(s.t, err)
		object.Data[names.DataKey] = text
	}
}

func began(b *model.Backups, snapshot string) {
	b.Running = &model.RunningSnapshot{Name: snapshot, Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func asked(b *model.Backups, snapshot string) {
	began(b, snapshot)
	b.Running.Asked = b.Running.Began
}

func endedAs(state string) func(b *model.Backups, snapshot string) {
	return func(b *model.Backups, snapshot string) {
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		b.Running = nil
		b.Taken = []model.TakenSnapshot{{Name: snapshot, State: state, Began: at, Finished: at.Add(65 * time.Second), Tables: 3}}
		if state != model.SnapshotSuccess {
			b.Failed, b.FailedSnapshot = "snapshot "+snapshot+" ended as "+state+": shard 1 of doc.t", snapshot
		}
	}
}

func refusedByCrateDB(b *model.Backups, snapshot string) {
	b.FailedSnapshot, b.Failed = snapshot, "snapshot "+snapshot+" ended as FAILED: the relation doc.t is closed"
}

func TestAWaitForASnapshotEndsWithIt(t *testing.T) {
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	for _, c := range []struct {
		name    string
		becomes []func(b *model.Backups, snapshot string)
		args    []string
		code    int
		out     string
		says    []string
	}{
		{"it was taken", []func(*model.Backups, string){endedAs(model.SnapshotSuccess)}, nil, exitOK, " was taken: 3 tables in 1m5s\n", []string{" is asked for\n"}},
		{"one of a schedule", []func(*model.Backups, string){endedAs(model.SnapshotSuccess)}, []string{"--schedule", "nightly"}, exitOK, "cluster prod/orders: snapshot stevedore-nightly-", nil},
		{"it is followed", []func(*model.Backups, string){began, began, asked, endedAs(model.SnapshotSuccess)}, nil, exitOK, " was taken: ",
			[]string{"prod/orders: CrateDB is asked for snapshot stevedore-now-", " is being taken since 2026-01-02T03:04:05Z"}},
		{"tables are missing in it", []func(*model.Backups, string){endedAs(model.SnapshotPartial)}, nil, exitError, "", []string{"ended as PARTIAL: shard 1 of doc.t"}},
		{"CrateDB has refused it", []func(*model.Backups, string){refusedByCrateDB}, nil, exitError, "", []string{"ended as FAILED: the relation doc.t is closed"}},
		{"it does not end in time", []func(*model.Backups, string){asked}, []string{"--timeout", "1s"}, exitLate, "", []string{"not in time: snapshot stevedore-now-"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newAPIServer(t, "prod")
			api.follows(attendance.Followed{}, 0)
			api.record(orders, backedUp())
			api.begins(c.becomes...)
			end := stevedore(t, append([]string{"backup", "now", "prod/orders", "--wait"}, c.args...)...)
			assert.Equal(t, c.code, end.code, end.err)
			assert.Contains(t, end.out, c.out)
			assert.Equal(t, c.out == "", end.out == "", "nothing else is a result")
			for _, words := range c.says {
				assert.Equal(t, 1, strings.Count(end.err, words), "%q is said once: %s", words, end.err)
			}
		})
	}
}

func TestWhoWaitsForASnapshotIsToldWhatItWaitsFor(t *testing.T) {
	const command = "2026-01-02T03:04:05Z"
	const snapshot = "stevedore-now-20260102t030405z"
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	standing := []record.Command{{Key: names.BackupAtAnnotation, Value: command}}
	seen := func(r *model.Record) { r.Command.Commands.BackupAt = command }
	over := func(r *model.Record) { r.Backups.Command = command }
	for _, c := range []struct {
		name     string
		rec      model.Record
		commands []record.Command
		stuck    bool
		says     string
		failed   string
	}{
		{"the daemon has not looked", backedUp(), standing, false, "the daemon has not seen yet the command that somebody gave", ""},
		{"it has", backedUp(seen), standing, false, "the daemon begins it at its next look", ""},
		{"an operation is under way", backedUp(seen, because("information", "backup-waits", "the operation grow has begun before it")), standing, false, "it waits for backup-waits: the operation grow has begun before it", ""},
		{"another one runs", backedUp(seen, running), standing, false, "it begins after stevedore-nightly-20260102t013000z", ""},
		{"a table is closed, and may be open again", backedUp(seen, because("information", "backup-tables-unreadable", "doc.t")), standing, false, "backup-tables-unreadable: doc.t", ""},
		{"a Secret is missing", backedUp(seen, because("information", "repository-secret-missing", "s3")), standing, true, "repository-secret-missing: s3", ""},
		{"the folder has others' snapshots", backedUp(seen, because("information", "repository-not-ours", "nightly-1")), standing, true, "repository-not-ours: nightly-1", ""},
		{"it is paused", backedUp(), append(standing, record.Pause("r1")), true, "the cluster is paused", ""},
		{"it is suspended", backedUp(seen, func(r *model.Record) { r.Suspended = []model.RecordedSet{{}} }), standing, true, "the cluster is suspended", ""},
		{"its definition is gone", backedUp(because("wait", "orphaned", "o")), standing, true, "orphaned: o", ""},
		{"spec.backups is gone", doneRecord(), nil, true, "the definition has no spec.backups any more", ""},
		{"somebody has taken the command back", backedUp(), nil, true, "somebody has taken it back", ""},
		{"another command came", backedUp(), []record.Command{{Key: names.BackupAtAnnotation, Value: "2026-01-02T03:04:06Z"}}, true, "another command for a snapshot has taken the place of this one: 2026-01-02T03:04:06Z", ""},
		{"nothing came of it", backedUp(over), nil, true, "the daemon has ended the command, and there is no such snapshot", ""},
		{"it failed, and another one has succeeded since", backedUp(over, func(r *model.Record) { r.Backups.FailedSnapshot = snapshot }), nil, false, "", "snapshot " + snapshot + " has failed, and another one has succeeded since"},
		{"it failed, and another one too", backedUp(over, func(r *model.Record) {
			r.Backups.FailedSnapshot, r.Backups.Failed = "another", "another"
			r.Backups.Taken = []model.TakenSnapshot{{Name: snapshot, State: model.SnapshotPartial}}
		}), nil, false, "", "snapshot " + snapshot + " ended as PARTIAL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := askedSnapshot{cluster: orders, command: command, snapshot: snapshot}.judge(c.rec, c.commands)
			assert.Nil(t, v.taken)
			assert.Equal(t, c.stuck, v.stuck)
			assert.Contains(t, v.why, c.says)
			assert.Equal(t, c.failed, v.failed)
		})
	}
}

func TestAWaitForASnapshotEndsWhenNothingGoesOnByItself(t *testing.T) {
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	for _, c := range []struct {
		name   string
		rec    *model.Record
		leased bool
		err    error
		says   string
		ends   string
	}{
		{"it needs a person", new(backedUp(because("wait", "paused", "p"))), true, exitCode(exitStuck), "the cluster is paused", "nothing changes until somebody acts"},
		{"nobody looks, and a daemon may come", new(backedUp()), false, exitCode(exitLate), "NOBODY LOOKS AFTER IT: there is no Lease", "not in time"},
		{"its record is gone", nil, true, errNoRecord, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newAPIServer(t, "prod")
			if c.leased {
				api.follows(attendance.Followed{}, 0)
			}
			if c.rec != nil {
				api.record(orders, *c.rec)
			}
			client := waitHere(t).client
			store := record.NewStore(record.OverClient(client.CoreV1(), nil))
			const command = "2026-01-02T03:04:05Z"
			if c.rec != nil {
				require.NoError(t, store.Give(t.Context(), orders, record.Command{Key: names.BackupAtAnnotation, Value: command}))
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var said []string
			_, err := askedSnapshot{
				client: client, store: store, cluster: orders, command: command, snapshot: "stevedore-now-20260102t030405z", tick: time.Millisecond, stuckFor: 50 * time.Millisecond,
				say: func(format string, of ...any) {
					said = append(said, fmt.Sprintf(format, of...))
					if !c.leased {
						stop() // its time is up, once it has said why it waits
					}
				},
			}.until(ctx)
			require.ErrorIs(t, err, c.err)
			if c.says == "" {
				return
			}
			require.Len(t, said, 2)
			assert.Contains(t, said[0], c.says)
			assert.Contains(t, said[1], c.ends)
		})
	}
}

// A command that stands for hours is none that the daemon has not seen.
func TestAWaitHeedsACommandForASnapshot(t *testing.T) {
	given := []record.Command{record.Backup(time.Now(), "nightly")}
	rec := backedUp()
	assert.True(t, unseen(rec, given))
	rec.Command.Commands.BackupAt = given[0].Value
	assert.False(t, unseen(rec, given))
}
