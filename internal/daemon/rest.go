package daemon

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/cratedb"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/rollout"
)

// A pass reads a record, makes a cluster's objects, hashes each and decides: a millisecond and more, of which a
// thousand clusters have many a second to spend if each takes one whenever it might. All that a decision is made
// of is told to the worker when it changes (watches, the fleet), but what the database says, and the clock. So
// after a pass that found nothing to do only these two are asked, until something happens; and a whole pass is
// taken once a minute whatever happens.

// restFor is the longest between two passes of a cluster where nothing happens.
const restFor = time.Minute

// resting is what such a pass went by.
type resting struct {
	want wanted
	// owner is the record's.
	owner string
	// pods were asked, for the settings too; none of a cluster whose pods do not run.
	pods     []cratedb.PodRef
	settings []string
	// databaseName is spec.cluster.name.
	databaseName string
	// until is when a pass is due all the same.
	until time.Time
}

// rest is what a pass leaves behind that decided this; nil where the next pass may find something else though
// nothing happens.
func (w *worker) rest(want wanted, desired model.Desired, observed model.Observed, before model.Record, decision model.Decision, problems []string, now time.Time) *resting {
	next := decision.Record
	if len(problems) > 0 || want.removed || want.missing || want.waits != "" || want.held != (held{}) || want.heldBack != (held{}) ||
		len(w.failures) > 0 || len(w.applyErrors) > 0 || len(w.owed) > 0 ||
		!decision.Apply || len(decision.Refusals) > 0 || len(decision.Actions()) > 0 || len(decision.Reports) > 0 ||
		len(next.Suspended) > 0 || rollout.Detailed(&desired, &before) ||
		w.applied.Revision != desired.Revision || !w.applied.Effective.Equal(decision.Effective) {
		return nil
	}
	r := &resting{want: want, owner: next.Owner, databaseName: next.ClusterName, pods: running(observed.Pods), settings: w.reading.SettingsAsked}
	switch {
	case finished(&decision) && well(observed, next):
		// Not all at the same moment, though they were founded together.
		r.until = now.Add(restFor - rand.N(restFor/4))
	case decision.Verdict == model.Wait && next.Operation != nil && next.Operation.Kind == model.OperationBootstrap && len(r.pods) == 0 &&
		decision.LookAgain >= w.options.poll():
		// It waits for pods to start: only the end of its patience comes by itself, which
		// is looked for as soon after it as it was long, by an eighth.
		r.until = now.Add(max(w.options.Interval, min(restFor, now.Sub(next.Operation.Started)/8)))
	default:
		return nil
	}
	return r
}

// finished says that the cluster is made, that nothing is under way, and that nothing more is looked
// for.
func finished(d *model.Decision) bool {
	made := d.Verdict == model.Done && d.Record.Bootstrap.Done && d.Record.Operation == nil
	return made && settled(d.Waits) && d.LookAgain == 0
}

// settled says that nothing is left to be said but what changes only with the definition or by a
// command, which are told.
func settled(waits []model.Reason) bool {
	return !slices.ContainsFunc(waits, func(r model.Reason) bool { return r.Name != gates.AdoptedTemplateRule.Name })
}

// poll is what decisions of something in progress ask to be looked at again after,
// where they know of no end of a wait.
func (o Options) poll() time.Duration {
	if o.Policy.Poll > 0 {
		return o.Policy.Poll
	}
	return model.DefaultPoll
}

// well says that all of a cluster is there and answers.
func well(observed model.Observed, rec model.Record) bool {
	db, nodes := &observed.Database, 0
	for _, set := range rec.Sets {
		nodes += set.Replicas
	}
	return db.Contact == model.Yes && db.Recovered == model.Yes && db.Health.Colour == model.Green && db.MasterNode != "" &&
		len(observed.Pods) == nodes && len(db.Nodes) == nodes && len(db.Pods) == nodes &&
		!slices.ContainsFunc(observed.Pods, func(p model.Pod) bool { return !p.Ready || p.Terminating })
}

// rests says that nothing has happened since a pass that found nothing to do, and after how long to look again.
func (w *worker) rests(ctx context.Context) (time.Duration, bool) {
	r := w.resting
	if r == nil || !time.Now().Before(r.until) {
		return 0, false
	}
	if w.live.EnsureNamespace(ctx, w.key.Namespace) != nil {
		return 0, false
	}
	if ok, _ := w.live.CaughtUp(w.key.Namespace, w.key.Name); !ok {
		return 0, false
	}
	want, ok := w.fleet.get(w.key, r.owner)
	if !ok || !alike(want, r.want) {
		return 0, false
	}
	if len(r.pods) == 0 {
		return w.options.Interval, true
	}
	if w.dataDue(time.Now()) {
		return 0, false
	}
	before := w.reading
	password, tried := w.systemPassword(w.key.Namespace, names.SystemSecret(w.key.Name))
	w.ask(ctx, cratedb.Target{Pods: r.pods, Settings: r.settings, Password: password, Unless: w.lastWhole()}, tried)
	if ctx.Err() != nil || !sameReading(before, w.reading) {
		// The pass goes by this very reading.
		return 0, false
	}
	w.measureHealth(r.databaseName, &w.reading)
	return w.options.Interval, true
}

// alike says that two words of the sources are the same for a cluster, whatever
// commit they are of.
func alike(a, b wanted) bool {
	return !touched(a, b) && a.otherOwner == b.otherOwner && a.held == b.held && a.renamedFrom == b.renamedFrom
}

// sameReading says that two readings say the same. Sizes move all the time: they count
// as they are published, rounded.
func sameReading(a, b model.Database) bool {
	for _, db := range []*model.Database{&a, &b} {
		db.At, db.Whole = time.Time{}, time.Time{}
		db.Nodes = slices.Clone(db.Nodes)
		for i := range db.Nodes {
			n := &db.Nodes[i]
			n.DiskSize, n.DiskUsed, n.Bytes = rounded(n.DiskSize), rounded(n.DiskUsed), rounded(n.Bytes)
			n.Heap = model.Heap{} // it differs in every reading, and nothing is decided by it
			n.Disks = slices.Clone(n.Disks)
			for j := range n.Disks {
				n.Disks[j].Size, n.Disks[j].Used = rounded(n.Disks[j].Size), rounded(n.Disks[j].Used)
			}
		}
	}
	return reflect.DeepEqual(a, b)
}
