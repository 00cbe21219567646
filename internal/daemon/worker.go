package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/cratedb"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render"
)

// worker looks after one cluster, on a goroutine of its own: a slow cluster
// delays no other, and a new revision cuts its wait short. All that it keeps
// between passes can be lost.
type worker struct {
	*daemon
	key  record.Cluster
	log  *slog.Logger
	wake chan struct{}

	// rendered is the last good render, for as long as a pass takes, kept the same between passes; and what it was
	// made of.
	rendered     *render.Rendered
	kept         *keptRender
	renderedFrom render.Cluster
	renderedPins render.Pins

	// changes is Classify's result for changesFor.
	changes    []model.Change
	changesFor changesKey

	// unrendered are the problems of the last rendering, which were logged.
	unrendered []string
	// listings of snapshots that are under way.
	listings cratedb.Listings
	// hidden are secrets that no text of the database has which is told.
	hidden []string

	applied     model.Applied
	applyErrors []string
	// altered is what admission changed, as the last sync found it.
	altered   []string
	syncFails int
	syncAfter time.Time
	syncFor   string
	syncStep  model.Effective

	// refusedSince is since when objects of refusedOf, a revision, cannot be applied.
	refusedSince time.Time
	refusedOf    string

	explainer explainer
	nodeFits  nodeFits
	deleted   deletedObjects

	failures []model.Failure
	reading  model.Database
	// detailed is true where the reading asked for the tables, whatever it got.
	detailed bool
	stable   model.Stability
	// again is when the last decision wanted to look again.
	again time.Duration
	// resting is what the last pass went by, if it found nothing to do and nothing has happened since; else nil.
	resting   *resting
	pinged    time.Time
	published record.Published
	// data is how the tables lay when they were last read, at dataAt, and attributes
	// what the nodes said of themselves, by id.
	data   *ObservationData
	dataAt time.Time
	// dataShards are how many shards each node had then, by its id.
	dataShards map[string]int
	attributes map[string]map[string]string
	// publishedSeq is the record's Seq at that time.
	publishedSeq int64
	// publishedShards are how many shards the published nodes have, by their ids.
	publishedShards map[string]int

	// saidStatus is the last commit status that was queued or is owed.
	saidStatus string
	owed       []reports.CommitStatus

	// place is that of the pass that is being taken; nil between two.
	place *place
	// unreachable says that the pods kept it waiting when they were last asked for something.
	unreachable bool
	// take takes a pass in a test.
	take func(ctx context.Context) (time.Duration, error)

	// gaveWay says that it has let new clusters go first, yields that it is about to.
	gaveWay, yields bool

	// verdict of this pass, for the metrics.
	verdict string
	// looked says that this pass has come so far that the record says what is to be said.
	looked bool
	// tookOver: the cluster was taken over from a daemon of which nothing could be read. That
	// happens once: who takes it back is alive.
	tookOver bool

	// saidVerdict keeps the log to one line a change, and saidWaits are the waits that it has said
	// last: of those only one that is new is said when another comes or goes.
	saidVerdict string
	saidWaits   []string
}

type changesKey struct {
	revision string
	saved    string
	live     string
}

func keyOf(revision string, saved model.Saved, live []model.ObservedSet) changesKey {
	return changesKey{revision: revision, saved: savedHash(saved), live: templatesOf(live)}
}

// Bounds of the wait after a pass that failed.
const (
	retryMin = 250 * time.Millisecond
	retryMax = 30 * time.Second
	// conflictsMax in a row are no accident any more, but somebody who writes
	// all the time, or a record that the watch does not show.
	conflictsMax = 5
	// onceFailures in a row are enough for --once to give a cluster up.
	onceFailures = 5
	// namespaceRetry is how soon a namespace that was made is seen: no event tells.
	namespaceRetry = 5 * time.Second
	// pause keeps a burst of events from being a burst of turns.
	pause = 20 * time.Millisecond
	// failedPause is the least between two passes of which the first failed, whatever happens meanwhile.
	failedPause = time.Second
)

// poke wakes the worker; one waiting wake-up is enough.
func (w *worker) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// passSafely keeps what breaks one cluster's pass from ending all the others.
func (w *worker) passSafely(ctx context.Context) (wait time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = broke(p)
		}
	}()
	if w.take != nil {
		return w.take(ctx)
	}
	return w.pass(ctx)
}

// passApart takes a pass on a goroutine of its own, which has ended when it returns: a pass needs a deep stack,
// and a worker that waits would keep it.
func (w *worker) passApart(ctx context.Context) (wait time.Duration, err error) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		wait, err = w.passSafely(ctx)
	}()
	<-over
	return wait, err
}

// broke names a panic by where it came from: its value may quote anything.
func broke(p any) error {
	return fmt.Errorf("a defect of stevedore, please report it: %T at\n%s", p, debug.Stack())
}

// run runs passes until ctx ends.
func (w *worker) run(ctx context.Context) {
	failed, conflicts := 0, 0
	seen := sync.OnceFunc(w.newcomers.seen)
	defer seen()
	passes := w.firstPasses
	for {
		w.yield(ctx)
		if !w.takePlace(ctx, passes) {
			return
		}
		wait, err := w.passApart(ctx)
		w.place.leave()
		seen()
		passes = w.passes
		if !errors.Is(err, record.ErrConflict) {
			conflicts = 0
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errSuperseded):
			wait = 0
		case errors.Is(err, record.ErrConflict) && conflicts < conflictsMax:
			// Somebody else wrote: read again and decide again.
			conflicts++
			wait = retryMin
		case err != nil:
			failed++
			wait = min(retryMin<<min(failed, 10), retryMax)
			if words := apply.NamespaceGone(err, w.key.Namespace); words != "" {
				// It is no failure of a pass, and once said it is known.
				wait = namespaceRetry
				if words != w.saidVerdict {
					w.log.Warn("waiting: "+words, "retryIn", wait)
				}
				w.saidVerdict = words
				if want, ok := w.fleet.get(w.key, ""); ok && !want.missing {
					w.sayWithoutRecord(ctx, want, "namespace-missing", words)
				}
			} else {
				w.log.Warn("pass failed, will be tried again", "error", err, "retryIn", wait)
			}
			if failed >= onceFailures && w.options.Once {
				w.noteOutcome(w.key, outcomeRefused)
			}
		default:
			failed = 0
		}
		rest := pause
		if err != nil && !errors.Is(err, errSuperseded) {
			// Its own events must not make a failing pass a busy loop.
			rest = min(wait, failedPause)
		}
		if !sleep(ctx, rest) {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-w.wake:
			timer.Stop()
			w.resting = nil
		case <-timer.C:
		}
	}
}

// takePlace waits for a place for a pass, which then knows all that has happened until there was one; false when
// ctx ends first.
func (w *worker) takePlace(ctx context.Context, from *places) bool {
	if w.place = from.take(ctx); w.place == nil {
		return false
	}
	select {
	case <-w.wake:
		w.resting = nil
	default:
	}
	return true
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// render makes the cluster's objects, and remembers the last good ones.
func (w *worker) render(ctx context.Context, want wanted, pins render.Pins) []string {
	if want.cluster.Definition == nil {
		return nil
	}
	if w.rendered != nil && made(w.renderedFrom, want.cluster) && w.renderedPins == pins {
		return nil
	}
	rendered, problems, err := w.options.render(ctx, want.cluster, pins)
	if err != nil {
		return []string{"the cluster's objects cannot be made: " + err.Error()}
	}
	if len(problems) > 0 {
		texts := problemTexts(problems)
		if !slices.Equal(texts, w.unrendered) {
			w.unrendered = texts
			for _, text := range texts {
				// Of a cluster that was never made nobody finds it elsewhere.
				w.log.Error("problem in the definition, the cluster stays as it was", "problem", text)
			}
		}
		return texts
	}
	w.unrendered = nil
	w.rendered, w.kept, w.renderedFrom, w.renderedPins = rendered, keep(rendered), want.cluster, pins
	return nil
}

// statefulSets of the objects, in their order.
func statefulSets(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var sets []*unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() == "StatefulSet" {
			sets = append(sets, object)
		}
	}
	return sets
}
