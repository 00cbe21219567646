package daemon

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/internal/telemetry"
	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
)

// newWorker is one of a daemon that has no API server, only records.
func newWorker(t *testing.T, configMaps *recordtest.ConfigMaps) *worker {
	l := &leadership{usable: time.Hour}
	l.note(time.Now())
	d := &daemon{
		leadership: l, fleet: newFleet(), store: record.NewStore(configMaps), outcome: map[record.Cluster]string{},
		metrics: telemetry.NewMetrics(telemetry.Build{}, nil), options: Options{Interval: time.Minute},
		reporter: &reports.Reporter{Log: slog.New(slog.DiscardHandler)},
	}
	return &worker{daemon: d, key: key("c"), log: slog.New(slog.DiscardHandler), wake: make(chan struct{}, 1)}
}

func (w *worker) saved(t *testing.T, rec model.Record) record.Entry {
	entry, err := w.store.Load(t.Context(), w.key, record.Operation, &model.Record{})
	require.NoError(t, err)
	rec.SchemaVersion = model.RecordVersion
	entry, err = w.store.Save(t.Context(), entry, rec)
	require.NoError(t, err)
	return entry
}

// Two daemons that follow two sources with one cluster would otherwise take
// turns in saying that the other is refused, and drop each other's commands.
func TestNothingIsWrittenToTheRecordOfAnotherSource(t *testing.T) {
	configMaps := recordtest.NewConfigMaps()
	w := newWorker(t, configMaps)
	theirs := model.Record{SchemaVersion: model.RecordVersion, Owner: "git:theirs", Revision: "theirs", Stage: model.StageVerified}
	w.saved(t, theirs)
	require.NoError(t, w.store.Give(t.Context(), w.key, record.Pause("theirs")))
	var rec model.Record
	entry, err := w.store.Load(t.Context(), w.key, record.Operation, &rec)
	require.NoError(t, err)
	writes := configMaps.Writes()

	desired := model.Desired{Namespace: "ns", Name: "c", Owner: "git:ours", Revision: "ours"}
	decision := ops.Decide(desired, model.Observed{}, rec, model.Policy{}, time.Now())
	require.False(t, decision.Apply)
	wait, err := w.act(t.Context(), passState{entry: entry, before: rec, want: wanted{owner: "git:ours"}, desired: desired, decision: decision})
	require.NoError(t, err)
	assert.Equal(t, w.options.Interval, wait)
	assert.Equal(t, writes, configMaps.Writes())
	assert.Contains(t, w.undone[w.key], "this cluster belongs to git:theirs", "nothing but --once says so")
	entry, err = w.store.Load(t.Context(), w.key, record.Operation, &rec)
	require.NoError(t, err)
	assert.Len(t, entry.Commands(), 1, "their pause stands")
}

func TestTheOwnerOutlivesALostRecord(t *testing.T) {
	w := newWorker(t, recordtest.NewConfigMaps())
	rec := model.Record{}
	w.ownerFromObservation(t.Context(), &rec)
	assert.Empty(t, rec.Owner)
	w.reading = model.Database{Contact: model.Yes, NodesKnown: true, At: time.Now()}
	w.publish(t.Context(), model.Decision{Apply: true, Record: model.Record{Owner: "git:theirs", Bootstrap: model.Bootstrap{Done: true}}})
	w.ownerFromObservation(t.Context(), &rec)
	assert.Equal(t, "git:theirs", rec.Owner)
}

func TestAFailedActionIsTriedAgainLaterAndLater(t *testing.T) {
	now := time.Now()
	action := model.Action{Kind: model.ActionSetUser, User: "ada"}
	failed := func(count int, ago time.Duration) []model.Failure {
		return []model.Failure{{Action: action, Count: count, At: now.Add(-ago)}}
	}
	for _, c := range []struct {
		name     string
		failures []model.Failure
		early    bool
	}{
		{"it never failed", nil, false},
		{"another one failed", []model.Failure{{Action: model.Action{Kind: model.ActionSetUser, User: "eve"}, Count: 9, At: now}}, false},
		{"it failed just now", failed(1, 0), true},
		{"once, a second ago", failed(1, time.Second), false},
		{"five times, a second ago", failed(5, time.Second), true},
		{"a thousand times, ten seconds ago", failed(1000, 10*time.Second), true},
		{"a thousand times, a while ago", failed(1000, actionRetryMax), false},
		{"in the future, after the clock went back", failed(1000, -time.Hour), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, early := tooEarly(c.failures, action, now)
			assert.Equal(t, c.early, early)
		})
	}
}

func TestASupersededPassBeginsNothingMore(t *testing.T) {
	w := newWorker(t, recordtest.NewConfigMaps())
	w.fleet.take("a", "1", build(defined("c", "x")))
	want, _ := w.fleet.get(w.key, "a")
	ctx := whileCurrent(t.Context(), func() bool { return w.fleet.still(w.key, "a", want) })
	require.NoError(t, w.leadership.mayWrite(ctx))

	w.fleet.take("a", "2", build(faulty("c")))
	require.NoError(t, w.leadership.mayWrite(ctx), "a mistake supersedes nothing")
	w.fleet.take("a", "3", broken())
	require.NoError(t, w.leadership.mayWrite(ctx))

	w.fleet.take("a", "4", build(defined("c", "x")))
	require.NoError(t, w.leadership.mayWrite(ctx), "nor does a commit that says the same again")

	w.fleet.take("a", "5", build(defined("c", "another")))
	require.ErrorIs(t, w.leadership.mayWrite(ctx), errSuperseded)
	_, ran, err := w.runAll(ctx, model.Record{}, model.Decision{Harmless: []model.Action{{Kind: model.ActionSetUser}}})
	require.ErrorIs(t, err, errSuperseded)
	assert.False(t, ran)

	want, _ = w.fleet.get(w.key, "a")
	ctx = whileCurrent(t.Context(), func() bool { return w.fleet.still(w.key, "a", want) })
	w.fleet.take("b", "1", build(defined("c", "x")))
	require.ErrorIs(t, w.leadership.mayWrite(ctx), errSuperseded, "a second source has come")
	w.leadership.lost()
	require.ErrorIs(t, w.leadership.mayWrite(ctx), ErrNotLeader)
}

// A setting that was set, and is no longer desired by then, was believed not to be set.
func TestWhatWasReadBeforeAnActionIsNotBelievedAfterIt(t *testing.T) {
	w := newWorker(t, recordtest.NewConfigMaps())
	w.reading = model.Database{Contact: model.Yes, NodesKnown: true, At: time.Now()}
	asked := 0
	superseded := whileCurrent(t.Context(), func() bool { asked++; return asked == 1 })
	_, ran, err := w.runAll(superseded, model.Record{}, model.Decision{Harmless: []model.Action{{Kind: "unknown"}, {Kind: model.ActionSetUser}}})
	require.ErrorIs(t, err, errSuperseded)
	require.True(t, ran, "the first of them")
	assert.Zero(t, w.reading)
}

func TestADefectEndsOnePassAndShowsNothingOfWhatItMet(t *testing.T) {
	w := newWorker(t, recordtest.NewConfigMaps())
	w.daemon.live = nil // its use is the defect
	_, err := w.passSafely(t.Context())
	require.ErrorContains(t, err, "a defect of stevedore")
	require.NotContains(t, broke("hunter2").Error(), "hunter2")
}

func TestWhatIsSaidIsWrittenWhenItChangedAndNotElse(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	waits := func(message string) model.Decision {
		return model.Decision{Verdict: model.Wait, Waits: []model.Reason{{Name: "nodes-joined", Message: message}}}
	}
	first := shown(model.Shown{}, waits("1 of 3"), nil, false, now)
	assert.Equal(t, "wait", first.Verdict)
	for _, c := range []struct {
		name     string
		decision model.Decision
		problems []string
		after    time.Duration
		same     bool
	}{
		{"the same", waits("1 of 3"), nil, time.Hour, true},
		{"a number moved a moment later", waits("2 of 3"), nil, time.Second, true},
		{"a number moved and time passed", waits("2 of 3"), nil, shownRefresh, false},
		{"another verdict", model.Decision{}, nil, time.Second, false},
		{"a mistake in the definition", waits("1 of 3"), []string{"a.yaml:1:1: no"}, time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := shown(first, c.decision, c.problems, false, now.Add(c.after))
			assert.Equal(t, c.same, assert.ObjectsAreEqual(first, next))
		})
	}
}

func TestAnActIsShownOnlyWhenItDoesNotGetOn(t *testing.T) {
	w := newWorker(t, recordtest.NewConfigMaps())
	state := passState{desired: model.Desired{Revision: "r"}, decision: model.Decision{Verdict: model.Act, Apply: true}}
	assert.True(t, w.passing(state), "it is over in a moment")
	w.failures = []model.Failure{{}}
	assert.False(t, w.passing(state))
	w.failures, w.applyErrors = nil, []string{"Service crate-c: refused"}
	assert.False(t, w.passing(state))
	w.applyErrors = nil

	state.decision = model.Decision{Verdict: model.Done, Apply: true}
	assert.True(t, w.passing(state), "right after a start nothing is known to be in sync")
	w.applied.Revision = "r"
	assert.False(t, w.passing(state))
	state.problems = []string{"a.yaml:1:1: no"}
	assert.False(t, w.passing(state))
}

func TestACommandStandsUntilTheRenderChanges(t *testing.T) {
	w := newWorker(t, recordtest.NewConfigMaps())
	w.saved(t, model.Record{Owner: "a", Revision: "r1"})
	require.NoError(t, w.store.Give(t.Context(), w.key, record.Pause("r1")))
	entry, err := w.store.Load(t.Context(), w.key, record.Operation, &model.Record{})
	require.NoError(t, err)
	assert.Equal(t, "true", commands(entry, "r1").Paused)
	assert.Empty(t, commands(entry, "r2").Paused)
	entry, err = w.store.Save(t.Context(), entry.DropExpired("r2"), model.Record{SchemaVersion: model.RecordVersion, Owner: "a", Revision: "r2"})
	require.NoError(t, err)
	assert.Empty(t, commands(entry, "r1").Paused, "going back brings no old command back to life")
}

// Nothing is decided for a definition that cannot be read. A cluster that was done for days was said to be broken for days.
func TestAClusterIsBrokenSinceItsDefinitionIs(t *testing.T) {
	done := time.Now().Add(-72 * time.Hour).UTC().Truncate(time.Second)
	w := newWorker(t, recordtest.NewConfigMaps())
	before := model.Record{Shown: model.Shown{Verdict: model.Done.String(), Since: done, At: done}}
	entry := w.saved(t, before)
	show := func(before model.Record, problem string) (rec model.Record) {
		_, err := w.show(t.Context(), entry, wanted{}, before, before, model.Decision{Verdict: model.Refuse}, []string{problem})
		require.NoError(t, err)
		entry, err = w.store.Load(t.Context(), w.key, record.Operation, &rec)
		require.NoError(t, err)
		return rec
	}
	broken := show(before, "a.yaml:1:1: no")
	assert.Equal(t, "broken", StateOf(&broken))
	assert.WithinDuration(t, time.Now(), broken.Shown.Since, time.Minute)
	broken.Shown.Since = done
	assert.Equal(t, done, show(broken, "a.yaml:2:1: no").Shown.Since, "another mistake is no other state")
}

func TestARecordThatNothingIsDecidedForCanBeSaved(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*worker, record.Entry) error
	}{
		{"two sources want a new cluster", func(w *worker, entry record.Entry) error {
			desired := model.Desired{Namespace: "ns", Name: "c", Owner: "a", Revision: "r"}
			decision := ops.Decide(desired, model.Observed{OtherOwner: "b"}, model.Record{}, model.Policy{}, time.Now())
			_, err := w.act(t.Context(), passState{entry: entry, desired: desired, decision: decision})
			return err
		}},
		{"a damaged record and a mistake in the definition", func(w *worker, entry record.Entry) error {
			_, err := w.show(t.Context(), entry, wanted{}, model.Record{}, model.Record{}, model.Decision{Verdict: model.Refuse}, []string{"a.yaml:1:1: no"})
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorker(t, recordtest.NewConfigMaps())
			entry := w.saved(t, model.Record{})
			require.NoError(t, c.do(w, entry))
			var rec model.Record
			_, err := w.store.Load(t.Context(), w.key, record.Operation, &rec)
			require.NoError(t, err)
			assert.Equal(t, "refuse", rec.Shown.Verdict)
		})
	}
}

// Carried out, a command stood there for ever; and one for a pod that no watch has shown yet
// must stay.
func TestACommandToReplaceAPodIsOverWhenThePodHasGone(t *testing.T) {
	seen := model.Record{Command: model.SeenCommand{Commands: model.Commands{ReplacePod: "p-0/before"}}}
	given := model.Observed{Commands: seen.Command.Commands}
	there := given
	there.Pods = []model.Pod{{Name: "p-0", UID: "before"}}
	after := given
	after.Pods = []model.Pod{{Name: "p-0", UID: "after"}}
	assert.False(t, spent(seen, &there))
	assert.True(t, spent(seen, &after))
	assert.True(t, spent(seen, &given))
	assert.False(t, spent(model.Record{}, &after), "it was not seen before")
	assert.False(t, spent(model.Record{}, &model.Observed{}), "there is none")
}

// A command that stands takes a snapshot as soon as there are any again, which may be years later.
func TestACommandForASnapshotIsOverWhenItHasBegunOrThereAreNone(t *testing.T) {
	given := []record.Command{record.Pause("r1"), record.Backup(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "nightly")}
	require.Equal(t, "2026-01-02T03:04:05Z/nightly", given[1].Value)
	for _, c := range []struct {
		name         string
		before, next *model.Backups
		over         bool
	}{
		{"not begun", &model.Backups{}, &model.Backups{Command: "2026-01-01T00:00:00Z"}, false},
		{"begun", &model.Backups{}, &model.Backups{Command: given[1].Value}, true},
		{"spec.backups is gone", &model.Backups{}, nil, true},
		{"the cluster is not made yet", nil, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorker(t, recordtest.NewConfigMaps())
			w.saved(t, model.Record{Backups: c.before})
			require.NoError(t, w.store.Give(t.Context(), w.key, given...))
			var before, after model.Record
			entry, err := w.store.Load(t.Context(), w.key, record.Operation, &before)
			require.NoError(t, err)
			next := before
			next.Backups = c.next
			_, err = w.act(t.Context(), passState{entry: entry, before: before, desired: model.Desired{Revision: "r1"}, decision: model.Decision{Record: next}})
			require.NoError(t, err)
			entry, err = w.store.Load(t.Context(), w.key, record.Operation, &after)
			require.NoError(t, err)
			want := given
			if c.over {
				want = given[:1]
			}
			assert.Equal(t, want, entry.Commands(), "the pause stands")
		})
	}
}
