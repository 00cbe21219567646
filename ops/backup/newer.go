package backup

import (
	"fmt"
	"time"

	"stevedore.dev/stevedore/ops/fetch"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/snapshots"
	"stevedore.dev/stevedore/ops/view"
)

// retryBefore is how long after a snapshot that failed the next one is taken before an operation.
const retryBefore = 10 * time.Minute

// Risky are operations that move data off nodes for good, or that CrateDB cannot go back from.
func Risky(kind model.OperationKind) bool {
	switch kind {
	case model.OperationShrink, model.OperationUpgrade, model.OperationReplace:
		return true
	}
	return false
}

// TooOld reports whether a newer snapshot is asked for before an operation of this kind. Where none can be
// taken, because tables are red or the nodes run two versions, the operation may be the remedy.
func TooOld(t *pass.Pass, kind model.OperationKind) bool {
	d := t.Desired.Backups
	if d == nil || d.SnapshotNewerThan == 0 || !Risky(kind) || !takes(t) {
		return false
	}
	newest := Newest(&t.View)
	return newest == nil || t.Elapsed(newest.Finished) > d.SnapshotNewerThan
}

// Newest is the newest snapshot of all tables in the repository of the definition; nil for none. What is in a former place
// may be gone, and nothing lists it any more.
func Newest(v *view.View) *model.TakenSnapshot {
	if b := v.Record.Backups; b == nil || b.Repository.Name != Name(settings(v)) {
		return nil
	}
	return snapshots.Newest(v.Record.Backups, v.Desired.Backups)
}

// takes reports whether a snapshot can be taken of the cluster as it is. A repository that is not there is
// made first, also where the record of it was lost.
func takes(t *pass.Pass) bool {
	db := &t.Observed.Database
	if !t.Contact() || t.Record.Backups == nil || awaitsStuck(t) {
		return false
	}
	return (len(db.Nodes) == 0 || snapshots.OneVersion(db)) && (db.Health.Colour == model.Green || db.Health.Colour == model.Yellow)
}

// First has a snapshot be taken before an operation of this kind begins.
func First(t *pass.Pass, kind model.OperationKind) {
	b, d := t.Record.Backups, t.Desired.Backups
	newest := "there is none"
	if k := Newest(&t.View); k != nil {
		newest = fmt.Sprintf("the newest one, %s, is %s old", k.Name, gates.Age(t.Elapsed(k.Finished)))
	}
	what := "one is taken first"
	failed := b.Failed != "" && t.Elapsed(b.FailedAt) < retryBefore
	switch {
	case failed:
		what = "the last attempt failed: " + b.Failed
	case b.Running != nil:
		what = b.Running.Name + " is being taken"
	case b.Needed.IsZero():
		b.Needed = t.Now.Truncate(time.Second)
	}
	t.Wait(gates.SnapshotNewer(string(kind), d.SnapshotNewerThan, newest, what))
}

// awaitsStuck reports whether tables that a person wants, and that no snapshot can have before they are there, wait for
// a node whose pod is stuck: only another template may bring that.
func awaitsStuck(t *pass.Pass) bool {
	f, v := t.Record.Backups.Fetch, &t.View
	comes := len(fetch.Hidden(&t.Record)) > 0 && f.Step != model.FetchDrop && f.Done < f.Of
	return comes && !f.Drill && v.AnyPod(func(p *model.Pod) bool {
		return view.NotReady(p) && view.Absent(v, p.NodeName) && view.StuckSinceStart(v, p)
	})
}
