package backup

import (
	"fmt"
	"slices"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/snapshots"
	"stevedore.dev/stevedore/ops/view"
)

// NeedsListing reports whether sys.snapshots is to be asked: CrateDB reads two objects of each snapshot
// for it, so it is asked while one of ours runs, and once where nobody knows what is there.
func NeedsListing(d *model.Desired, r *model.Record, now time.Time) bool {
	if choosing(d, r, now) {
		return true
	}
	b := r.Backups
	if d.Backups == nil || b == nil || b.Repository.Name == "" {
		return false
	}
	if f := b.Fetch; f != nil && f.Step == model.FetchList {
		return true
	}
	if s := b.Running; s != nil && !s.Asked.IsZero() {
		return now.Sub(b.Listed) >= s.Look(now) // Listed is zero at first
	}
	return b.Listed.IsZero()
}

// NeedsTables reports whether the tables that a snapshot cannot have are to be read.
func NeedsTables(d *model.Desired, r *model.Record) bool {
	b := r.Backups
	return d.Backups != nil && b != nil && b.Running == nil && b.Due.Schedule != ""
}

// NeedsFacts reports whether the operations and sizes of all tables are to be read.
func NeedsFacts(d *model.Desired, r *model.Record) bool {
	return NeedsTables(d, r) || r.Backups != nil && r.Backups.Fetch != nil
}

// compare makes our own list that of sys.snapshots. A repository that does not answer is left out of
// that without a word, and then nothing of it is there: so a list without any of ours says nothing,
// unless we have none. Where nobody knows what is there, and a snapshot waits for that, it counts after a while:
// somebody may have dropped all of them.
func compare(t *pass.Pass) {
	b, db := t.Record.Backups, &t.Observed.Database
	if !db.Listed.After(b.Listed) || b.Repository.Name == "" {
		return
	}
	ours := slices.DeleteFunc(slices.Clone(db.Listing), func(s model.ListedSnapshot) bool { return s.Repository != b.Repository.Name })
	since := awaits(b)
	waited := b.Listed.IsZero() && !since.IsZero() && t.Elapsed(since) >= missingFor
	known := len(b.Taken) > 0 || b.Running != nil && !b.Running.Asked.IsZero()
	if len(ours) == 0 && known && !waited {
		return
	}
	if b.Listed.IsZero() && model.Any(db.Listing, func(s *model.ListedSnapshot) bool {
		return s.RunsOfOurs() && (s.Repository != b.Repository.Name || b.Running != nil && b.Running.Name != s.Name)
	}) {
		return // it cannot be followed, and is waited for: each reading lists it
	}
	taken := slices.Clone(b.Taken)
	for _, s := range ours {
		known := model.Any(taken, func(k *model.TakenSnapshot) bool { return k.Name == s.Name })
		running := b.Running != nil && b.Running.Name == s.Name
		if known || running || s.State == model.SnapshotInProgress || s.Unread() {
			continue
		}
		if _, _, named := model.SnapshotOf(s.Name); named {
			taken = append(taken, model.TakenSnapshot{Name: s.Name, State: s.State, Finished: s.Finished, Tables: s.Tables})
		}
	}
	taken = slices.DeleteFunc(taken, func(k model.TakenSnapshot) bool {
		return !model.Any(ours, func(s *model.ListedSnapshot) bool { return s.Name == k.Name })
	})
	slices.SortFunc(taken, func(a, c model.TakenSnapshot) int { return a.Finished.Compare(c.Finished) })
	if follows := b.Running != nil && !b.Running.Asked.IsZero(); follows || b.Listed.IsZero() || !slices.Equal(taken, b.Taken) {
		b.Listed = db.Listed // a list that shows nothing new costs no write
	}
	b.Taken = taken
	for _, s := range ours {
		if s.State != model.SnapshotInProgress && !s.Unread() {
			b.NoteTables(s.Name, s.Names)
		}
	}
	resumeFrom(t, ours)
}

// awaits is since when a snapshot waits that nobody has asked for; zero where none does.
func awaits(b *model.Backups) time.Time {
	switch {
	case b.Running == nil && b.Due.Schedule != "":
		return b.Waiting
	case b.Running != nil && b.Running.Asked.IsZero():
		return b.Running.Began
	}
	return time.Time{}
}

// resumeFrom takes the windows of a record that was lost from the names of the snapshots, and one that
// runs.
func resumeFrom(t *pass.Pass, ours []model.ListedSnapshot) {
	b := t.Record.Backups
	for _, s := range ours {
		schedule, at, named := model.SnapshotOf(s.Name)
		if !named {
			continue
		}
		if s.State == model.SnapshotInProgress && b.Running == nil {
			b.Running = &model.RunningSnapshot{Name: s.Name, Schedule: schedule, Began: at, Asked: at}
		}
		if recurs(schedule) {
			took(b, schedule, at)
		}
	}
}

func follow(t *pass.Pass) {
	b := t.Record.Backups
	if b.Running == nil {
		return
	}
	if b.Running.Refused != "" {
		ended(t, model.SnapshotFailed, b.Running.Refused)
		return
	}
	if b.Running.Asked.IsZero() {
		return
	}
	if !t.Observed.Database.Listed.After(b.Running.Asked) {
		return // it says nothing of this one
	}
	s := listed(&t.View, b.Running.Name)
	switch {
	case s == nil:
		missing(t)
	case s.State == model.SnapshotInProgress, s.Unread():
		model.Own(&b.Running).Missing = time.Time{}
	default:
		b.Taken = append(slices.DeleteFunc(slices.Clone(b.Taken), func(k model.TakenSnapshot) bool { return k.Name == s.Name }),
			model.TakenSnapshot{Name: s.Name, State: s.State, Began: b.Running.Began, Finished: s.Finished, Tables: s.Tables, Operations: b.Running.Operations})
		b.NoteTables(s.Name, s.Names)
		forgetOperations(t)
		ended(t, s.State, s.Failures)
	}
}

// forgetOperations keeps what was recorded of the tables only for the snapshot that the next drill tries, and for the
// one that is being tried: it is much.
func forgetOperations(t *pass.Pass) {
	b := t.Record.Backups
	newest := snapshots.NewestGood(b, t.Desired.Backups)
	for k := range model.Each(b.Taken) {
		tried := b.Fetch != nil && b.Fetch.Snapshot == k.Name
		if !tried && (newest == nil || k.Name != newest.Name) {
			k.Operations = ""
		}
	}
}

// missing ends a snapshot that listings do not have. What runs is in the cluster state, and so in each listing,
// whether its repository answers or not; a node that is behind that state for longer is no member any more.
func missing(t *pass.Pass) {
	b := t.Record.Backups
	if gates.Compare(t.Record.Version, listsRunning) < 0 {
		return
	}
	if b.Running.Missing.IsZero() {
		model.Own(&b.Running).Missing = t.Now
	}
	if t.Elapsed(b.Running.Missing) < missingFor {
		return
	}
	if len(b.Taken) > 0 && !slices.ContainsFunc(t.Observed.Database.Listing, func(s model.ListedSnapshot) bool { return s.Repository == b.Repository.Name }) {
		// The repository shows none of ours: it does not answer, and says nothing of this one either.
		t.Report(model.Report{
			Reason: "SnapshotUnknown", Warning: true,
			Message: "snapshot " + b.Running.Name + " does not run any more, and the repository does not answer: it counts when the repository shows it",
		})
		b.Running, b.Listed = nil, time.Time{}
		return
	}
	ended(t, model.SnapshotFailed, "it is in sys.snapshots no more: somebody has dropped it, it could not be written, or all nodes have ended")
}

// listsRunning is the version from which sys.snapshots shows what runs (CrateDB, release notes 5.7.3).
const listsRunning = "5.7.3"

// missingFor is how long listings lack a snapshot before it counts as gone: CrateDB removes a node that is
// behind for so long (cluster.follower_lag.timeout).
const missingFor = 90 * time.Second

// listed is a row of our repository in the last listing; nil for none.
func listed(v *view.View, name string) *model.ListedSnapshot {
	return model.Find(v.Observed.Database.Listing, func(s *model.ListedSnapshot) bool {
		return s.Name == name && s.Repository == v.Record.Backups.Repository.Name
	})
}

func ended(t *pass.Pass, state, why string) {
	b := t.Record.Backups
	s := b.Running
	b.Running = nil
	if state == model.SnapshotSuccess {
		b.Failed = ""
		t.Feedback("", model.StatusSuccess, "SnapshotTaken", fmt.Sprintf("snapshot %s was taken in %s, in folder %s", s.Name, t.Elapsed(s.Began).Round(time.Second), place(&t.View)))
		return
	}
	b.FailedSnapshot, b.FailedAt = s.Name, t.Now
	b.Failed = fmt.Sprintf("snapshot %s ended as %s: %s", s.Name, state, why)
	t.Feedback("", model.StatusFailure, "SnapshotFailed", b.Failed)
}
