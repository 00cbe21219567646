package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/ops/rollout"
)

// pass is one round: read the record, render, observe, decide, and then act in
// the order that a kill at any point survives: reports are queued, the intent
// is recorded, objects are applied, actions run, and what they did is recorded.
// It returns when to look again without an event.
func (w *worker) pass(ctx context.Context) (wait time.Duration, err error) {
	take, began := w.following.now(), time.Now()
	w.looked, w.verdict = false, "undecided"
	defer func() {
		if err != nil {
			w.verdict = "error"
		}
		w.metrics.Reconciled(w.verdict, time.Since(began))
		if w.looked && err == nil {
			w.following.looked(w.key, take)
			w.metrics.Looked(w.key, time.Now())
		}
	}()
	if wait, ok := w.rests(ctx); ok {
		w.looked, w.verdict = true, "rest"
		return wait, nil
	}
	w.resting, w.rendered = nil, w.kept.rendered()
	defer func() { w.rendered = nil }()
	if err := w.live.EnsureNamespace(ctx, w.key.Namespace); err != nil {
		return 0, fmt.Errorf("watching namespace %s: %w: does it exist, and has deploy/namespace been applied to it?", w.key.Namespace, err)
	}
	if ok, behind := w.live.CaughtUp(w.key.Namespace, w.key.Name); !ok {
		w.log.Debug("waiting for the watch to show our own writes", "objects", len(behind))
		return retryMin, nil
	}
	rec := model.Record{}
	entry, err := w.store.Load(ctx, w.key, record.Operation, &rec)
	if errors.Is(err, record.ErrDamaged) {
		if err := w.store.KeepAside(ctx, entry); err != nil {
			return 0, err
		}
		w.log.Warn("the record is damaged: it is kept aside and rebuilt from what is live", "error", err, "aside", entry.Aside())
		rec = model.Record{}
		w.ownerFromObservation(ctx, &rec)
	} else if err != nil {
		return 0, err
	}
	if len(rec.Sets) == 0 {
		// What stood here before has to be known first: a new cluster may be one
		// of them under a new name. One that was refused for it has a record.
		w.adoptNamespace(ctx, w.key.Namespace)
	}
	if !entry.Exists() {
		w.ownerFromObservation(ctx, &rec)
	}
	want, ok := w.fleet.get(w.key, rec.Owner)
	if !ok {
		return w.options.Interval, nil
	}
	if words := w.another(ctx, rec, want.owner); words != "" {
		return w.leaveTo(words, take), nil
	}
	if given := record.Effective(nil, entry.Commands(), rec.Revision); given[names.ForgetAnnotation] == "true" {
		return w.forgetAsked(ctx, entry, rec, want)
	}
	if want.removed && rec.Stage != model.StageRemovalPending && commands(entry, rec.Revision) == (model.Commands{}) {
		if unread := w.unread(want.owner); unread != "" {
			w.log.Debug("the definition is gone, another source may name the cluster by now", "source", want.owner, "unread", unread)
			return w.options.Interval, nil
		}
	}
	before := rec
	problems := problemTexts(want.problems)
	problems = append(problems, w.render(ctx, want, PinsOf(rec, w.live, w.key.Namespace, w.key.Name))...)
	if want.held.message != "" {
		problems = append(problems, want.held.message)
	}
	desired, ok := w.desired(ctx, want, &rec)
	if !ok {
		if want.removed && w.neverMade(entry, rec) {
			return w.forget(ctx, want.owner, "the definition is gone, and nothing was ever made of it: its record is gone too")
		}
		// There has been no good definition yet: nothing is known to be wanted.
		if want.waits != "" {
			w.noteOutcome(w.key, outcomeWaiting)
		}
		return w.show(ctx, entry, want, before, rec, model.Decision{Verdict: model.Refuse, Record: rec}, problems)
	}
	if !entry.Exists() {
		defer w.applier.LookAhead(ctx, w.key.Namespace, w.key.Name, w.objects(want))()
	}
	for _, name := range secretNames(desired) {
		if err := w.live.EnsureSecret(ctx, w.key.Namespace, name, w.key.Name); err != nil {
			return 0, fmt.Errorf("watching Secret %s/%s: %w", w.key.Namespace, name, err)
		}
	}

	observed := w.observe(w.live, desired)
	if lifecycle.NeedsStorage(&desired, &observed) {
		if observed.Storage = w.storage.Read(ctx, desired.Storage); observed.Storage.Again {
			return 0, fmt.Errorf("looking at what the claims ask for: %s", observed.Storage.Unread)
		}
	}
	if !want.removed {
		rec.Saved = w.savedOrLive(desired.Revision, rec, &observed)
		manifest.NoteTemplates(&desired, w.rendered.Objects, observed.Sets, &rec)
		desired.Changes = w.classify(desired.Revision, rec.Saved, observed.Sets)
	}
	observed.Resize, observed.DeletesClaims = w.canResize(ctx, &desired, &rec), w.mayDeleteClaims(ctx, &rec)
	if observed.Foreign, err = w.foreign(ctx, w.objects(want), rec.Sets); err != nil {
		return 0, err
	}
	if observed.Adopting, err = w.adopting(ctx, &desired, observed.Sets); err != nil {
		return 0, err
	}
	if observed.Leftovers, err = w.leftovers(ctx, want); err != nil {
		return 0, err
	}
	if want.removed && rec.DeleteConsent != "" {
		if rec.Stage == model.StageRemoved {
			return w.forget(ctx, want.owner, "the cluster was deleted, and its records with it")
		}
		w.place.leave() // there is one of these at a time
		w.removing.Lock()
		defer w.removing.Unlock()
		observed.Vanished = w.vanished(ctx, want.owner)
	}
	w.hidden = repositorySecrets(w.live, desired)
	w.observeDatabase(ctx, desired, rec, &observed)
	observed.At = w.reading.At
	observed.Applied, observed.ApplyErrors, observed.Failures = w.applied, w.applyErrors, w.failures
	observed.Altered = w.altered
	observed.Explained = w.explain(ctx, &observed, redactionOf(w.live, desired), time.Now())
	observed.Placement = w.readNodeFits(ctx, desired, rec, time.Now())
	observed.OtherOwner = want.otherOwner
	if rollout.Detailed(&desired, &rec) && !rec.Operation.Disrupts() {
		// Whoever may begin is looked at one after the other, until what was
		// decided is in the record: or two would begin at once.
		w.place.leave() // there is one of these at a time
		w.disrupting.Lock()
		defer w.disrupting.Unlock()
		if observed.Disrupted, err = w.otherDisrupted(ctx); err != nil {
			return 0, err
		}
	}
	observed.Commands = commands(entry, desired.Revision)
	var now time.Time
	decision := onAll(&w.reading, &rec, func() model.Decision {
		now = time.Now()
		return waitingFor(ops.Decide(desired, observed, rec, w.options.Policy, now), want)
	}, func() { w.observeAll(ctx, desired, rec, &observed) })
	w.measure(decision, observed)
	w.again = decision.LookAgain

	w.noteRefused(desired.Revision, now)
	rest := w.rest(want, desired, observed, before, decision, problems, now)
	ctx = whileCurrent(ctx, func() bool { return w.fleet.still(w.key, rec.Owner, want) })
	return w.act(ctx, passState{entry: entry, before: before, want: want, desired: desired, decision: decision, problems: problems, refused: w.refusedObjects(decision, now), spent: spent(before, &observed), rest: rest})
}

// passState is what deciding leaves for acting.
type passState struct {
	entry    record.Entry
	before   model.Record
	want     wanted
	desired  model.Desired
	decision model.Decision
	problems []string
	// refused is what Kubernetes refuses, once that is a failure.
	refused *model.Reason
	// spent: the command to replace a pod was carried out, or has nothing left to replace.
	spent bool
	// rest is kept where nothing is found to do.
	rest *resting
}

func (w *worker) act(ctx context.Context, s passState) (time.Duration, error) {
	decision, next := s.decision, s.decision.Record
	if next.Owner != "" && next.Owner != s.desired.Owner {
		// The record is another source's, and its commands are not ours to drop.
		if len(decision.Refusals) > 0 {
			w.noteUndone(w.key, decision.Refusals[0].Message)
		}
		w.noteSettledVerdict(decision, s.problems, false)
		w.looked = true
		return w.options.Interval, w.showRefused(ctx, s)
	}
	var effective []*unstructuredObject
	if decision.Apply {
		var err error
		effective, next.Saved, err = manifest.Materialise(w.objects(s.want), next.Saved, decision.Effective)
		if err != nil {
			return 0, fmt.Errorf("making the effective objects: %w", err)
		}
	}
	// Also of a record that was empty and that nothing was decided for.
	next.SchemaVersion = model.RecordVersion
	next.Shown = s.before.Shown
	if !w.passing(s) {
		next.Shown = shown(s.before.Shown, decision, s.problems, stepped(&s.before, &next), time.Now())
	} else if decision.Verdict == model.Act && !next.Equal(&s.before) {
		// The record is written in any case: what is waited for no more does not stay in it.
		next.Shown = withoutPast(next.Shown, decision, time.Now())
	}
	next.Shown.Since = since(&s.before, &next, time.Now())
	next.Shown.Source, next.Shown.RefusalReported, next.Shown.Lease = whose(next, s.want), toldOf(s), w.attendsAs()
	next.Shown.Commit = brokenBy(s.before.Shown, next.Shown, s.want)
	told := append(decision.Reports, definedTwice(w.key, s.before.Shown, decision.Waits, s.want)...)
	told = append(told, w.refusedReport(s)...)
	if err := w.tell(ctx, s.entry, append(append(told, brokenDefinition(w.key, s.before.Shown, s.problems, s.want)...), heldSource(w.key, s.before.Shown, s.want)...)); err != nil {
		return 0, err
	}
	w.sayStatus(ctx, s, next)
	entry := s.entry.DropExpired(s.desired.Revision)
	if s.spent {
		entry = entry.Drop(names.ReplacePodAnnotation)
	}
	given := s.entry.Commands()
	if endedBackup(given, s.before.Backups, next.Backups) {
		entry = entry.Drop(names.BackupAtAnnotation)
	}
	if endedFetch(given, s.before.Backups, next.Backups) {
		entry = entry.Drop(names.FetchAtAnnotation)
	}
	entry, err := w.store.Save(ctx, entry, next)
	if err != nil {
		return 0, err
	}
	w.looked = true

	wrote := false
	if decision.Apply {
		if wrote, err = w.sync(ctx, s.desired, decision, effective); err != nil {
			return 0, err
		}
	}
	acted := false
	if w.givesWay(next, decision, wrote) && !wrote {
		return 0, nil
	}
	if !wrote {
		// What was just written is not visible yet; an action is decided again
		// once it is.
		after, ran, err := w.runAll(ctx, next, decision)
		if err != nil {
			return 0, err
		}
		acted = ran
		if ran {
			if _, err := w.store.Save(ctx, entry, after); err != nil {
				return 0, err
			}
		}
	}
	w.publish(ctx, decision)
	w.noteSettledVerdict(decision, s.problems, wrote || acted)
	switch {
	case wrote, acted:
		return retryMin, nil
	case s.rest != nil:
		w.resting = s.rest
		if decision.Verdict == model.Done {
			w.kept.tighten()
			w.live.Rest(w.key.Namespace, w.key.Name)
		}
		return w.options.Interval, nil
	case decision.LookAgain > 0:
		return decision.LookAgain, nil
	default:
		return w.options.Interval, nil
	}
}

// passing says that a decision is not worth showing: an act is over in a moment,
// and right after a start it is not known yet that all is in sync, which must
// not cost a write.
func (w *worker) passing(s passState) bool {
	if !w.fleet.ready(len(w.options.Sources)) && said(s.before.Shown.Reasons, gates.DefinedTwiceRule.Name) {
		return true // the other source has not been read yet
	}
	if len(s.problems) > 0 || len(s.decision.Refusals) > 0 || len(w.failures) > 0 || len(w.applyErrors) > 0 {
		return false
	}
	return s.decision.Verdict == model.Act || (s.decision.Apply && w.applied.Revision != s.desired.Revision && len(s.decision.Waits) == 0)
}

// objects that are desired; none of a cluster whose definition is gone.
func (w *worker) objects(want wanted) []*unstructuredObject {
	if want.removed || w.rendered == nil {
		return nil
	}
	return w.rendered.Objects
}

// desired makes the typed values to decide on; ok is false when there is
// neither a definition nor a record to go by.
func (w *worker) desired(ctx context.Context, want wanted, rec *model.Record) (model.Desired, bool) {
	if want.removed {
		if rec.Owner == "" && rec.ClusterID == "" {
			return model.Desired{}, false
		}
		return manifest.RemovedDesired(w.key.Namespace, w.key.Name, want.owner, want.commit, rec), true
	}
	if w.rendered == nil {
		return model.Desired{}, false
	}
	desired := manifest.NewDesired(w.renderedFrom.Definition, manifest.Render{
		Objects: w.rendered.Objects, Revision: w.rendered.Revision,
		Pins: model.Pins(w.rendered.Pins),
	}, want.owner, want.commit)
	desired.RenamedFrom = want.renamedFrom
	rec.Saved = w.completeSaved(*rec)
	return desired, true
}

// classify compares the wanted StatefulSets with those that were effective, as far as they
// were applied, only when one of these changed.
func (w *worker) classify(revision string, saved model.Saved, live []model.ObservedSet) []model.Change {
	key := keyOf(revision, saved, live)
	if w.changesFor == key {
		return w.changes
	}
	last, err := manifest.UnpackLive(saved, live)
	if err != nil {
		// completeSaved found it readable.
		w.log.Warn("what was last effective cannot be read", "error", err)
		last = w.ownedSets()
	}
	w.changes, w.changesFor = nil, key
	if len(last) > 0 {
		w.changes = manifest.Classify(statefulSets(w.rendered.Objects), last)
	}
	return w.changes
}

// sync applies the effective objects; wrote is true when a request left.
func (w *worker) sync(ctx context.Context, desired model.Desired, decision model.Decision, objects []*unstructuredObject) (wrote bool, err error) {
	if w.syncFor != desired.Revision {
		w.syncFails, w.syncAfter, w.syncFor = 0, time.Time{}, desired.Revision
	} else if !w.syncStep.Equal(decision.Effective) {
		// A step of an operation does not wait for an object that is refused.
		w.syncAfter = time.Time{}
	}
	w.syncStep = decision.Effective
	if time.Now().Before(w.syncAfter) {
		return false, nil
	}
	select {
	case w.writers <- struct{}{}:
		defer func() { <-w.writers }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	result, err := w.applier.Sync(ctx, w.key.Namespace, w.key.Name, objects, apply.Adoption(decision.Adopt))
	if errors.Is(err, ErrNotLeader) || errors.Is(err, errSuperseded) || ctx.Err() != nil {
		return false, err
	}
	w.metrics.Applied("in-sync", result.InSync)
	w.metrics.Applied("applied", len(result.Written))
	w.metrics.Applied("failed", len(result.Failed))
	w.applyErrors = nil
	for _, failed := range result.Failed {
		w.applyErrors = append(w.applyErrors, failed.Error())
	}
	if err != nil && len(w.applyErrors) == 0 {
		w.applyErrors = []string{err.Error()}
	}
	if len(w.applyErrors) > 0 {
		// A refused object is not asked for again at each event.
		w.syncFails++
		w.syncAfter = time.Now().Add(min(time.Second<<min(w.syncFails, 8), time.Minute))
		w.applied = model.Applied{}
		w.log.Warn("objects could not be applied", "errors", strings.Join(w.applyErrors, "; "))
		// The server may have applied what seems to have failed: what acts on it looks again first.
		return len(result.Written)+len(result.Failed) > 0, nil
	}
	w.syncFails, w.syncAfter = 0, time.Time{}
	altered := alteredWords(result.Altered)
	now := model.Applied{Revision: desired.Revision, Effective: decision.Effective}
	if len(result.Written) == 0 {
		if !slices.Equal(w.altered, altered) {
			w.altered = altered
			w.poke()
		}
		if w.applied.Revision != now.Revision || !w.applied.Effective.Equal(now.Effective) {
			w.applied = now
			w.poke()
		}
		return false, nil
	}
	return true, nil
}

// runAll carries out the decision's actions and returns the record after them. What has run
// is looked at anew, also where a newer definition came before the next one: then it is
// recorded nowhere, and what was read before it says nothing of it.
func (w *worker) runAll(ctx context.Context, rec model.Record, decision model.Decision) (model.Record, bool, error) {
	if len(decision.Actions()) == 0 {
		return rec, false, nil
	}
	var failures []model.Failure
	ran := false
	defer func() {
		if ran {
			w.reading = model.Database{}
		}
	}()
	for _, action := range decision.Actions() {
		if old, early := tooEarly(w.failures, action, time.Now()); early {
			failures = append(failures, old)
			continue
		}
		if err := w.leadership.mayWrite(ctx); err != nil {
			w.failures = failures
			return rec, ran, err
		}
		ran = true
		var result model.Result
		var err error
		w.whilePodsAnswer(func() { result, err = execute.Run(ctx, action, w.tools()) })
		now := time.Now()
		w.metrics.Acted(string(action.Kind), err)
		if errors.Is(err, ErrNotLeader) || ctx.Err() != nil {
			return rec, false, errors.Join(err, ctx.Err())
		}
		if err != nil {
			failure := model.Failure{Action: action, Message: err.Error(), At: now, Count: 1}
			for _, old := range w.failures {
				if old.Action == action {
					failure.Count = old.Count + 1
				}
			}
			failures = append(failures, failure)
			w.log.Warn("action failed, it will be decided again", "action", string(action.Kind), "subject", action.Subject(), "error", err, "times", failure.Count)
			continue
		}
		w.log.Info("done", "action", string(action.Kind), "subject", plan.StepOf(action, &rec, w.nodeNamed).Target, "found", result.Message)
		rec = ops.RecordResult(rec, action, result, now)
	}
	w.failures = failures
	return rec, ran, nil
}

// tooEarly says that an action has failed and is not to be tried again yet: one
// that always fails must not become a load on the database or the API server.
func tooEarly(failures []model.Failure, action model.Action, now time.Time) (model.Failure, bool) {
	for _, old := range failures {
		if old.Action == action {
			wait := min(retryMin<<min(old.Count, 10), actionRetryMax)
			since := now.Sub(old.At)
			return old, since >= 0 && since < wait
		}
	}
	return model.Failure{}, false
}

// actionRetryMax is the longest wait before a failed action is tried again.
const actionRetryMax = 15 * time.Second

func keyOfSet(namespace, name string) compare.Key {
	return compare.Key{Group: "apps", Kind: "StatefulSet", Namespace: namespace, Name: name}
}
