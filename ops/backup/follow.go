package backup

import (
	"fmt"
	"slices"
	"time"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// ListingWanted reports whether sys.snapshots is to be asked: CrateDB reads two objects of each snapshot
// for it, so it is asked while one of ours runs, and once where nobody knows what is there.
func ListingWanted(d *model.Desired, r *model.Record, now time.Time) bool {
	if choosing(d, r, now) {
		return true
	}
	b := r.Backups
	if d.Backups == nil || b == nil || b.Repository.Name == "" {
		return false
	}
	if s := b.Running; s != nil && !s.Asked.IsZero() {
		return now.Sub(b.Listed) >= s.Look(now) // Listed is zero at first
	}
	return b.Listed.IsZero()
}

// TablesWanted reports whether the tables that a snapshot cannot have are to be read.
func TablesWanted(d *model.Desired, r *model.Record) bool {
	b := r.Backups
	return d.Backups != nil && b != nil && b.Running == nil && b.Due.Schedule != ""
}

// compare makes our own list that of sys.snapshots. A repository that does not answer is left out of
// that without a word, and then nothing of it is there: so a list without any of ours says nothing,
// unless we have none.
func compare(t *pass.Pass) {
	b, db := t.Record.Backups, &t.Observed.Database
	if !db.Listed.After(b.Listed) || b.Repository.Name == "" {
		return
	}
	var ours []model.ListedSnapshot
	for _, s := range db.Listing {
		if s.Repository == b.Repository.Name {
			ours = append(ours, s)
		}
	}
	if len(ours) == 0 && (len(b.Taken) > 0 || b.Running != nil && !b.Running.Asked.IsZero()) {
		return
	}
	b.Listed = db.Listed
	taken := slices.Clone(b.Taken)
	for _, s := range ours {
		_, _, named := model.SnapshotOf(s.Name)
		known := slices.ContainsFunc(taken, func(k model.TakenSnapshot) bool { return k.Name == s.Name })
		running := b.Running != nil && b.Running.Name == s.Name
		ended := s.State != model.SnapshotInProgress && !s.Unread()
		if named && ended && !known && !running {
			taken = append(taken, model.TakenSnapshot{Name: s.Name, State: s.State, Finished: s.Finished, Tables: s.Tables})
		}
	}
	taken = slices.DeleteFunc(taken, func(k model.TakenSnapshot) bool {
		return !slices.ContainsFunc(ours, func(s model.ListedSnapshot) bool { return s.Name == k.Name })
	})
	slices.SortFunc(taken, func(a, c model.TakenSnapshot) int { return a.Finished.Compare(c.Finished) })
	b.Taken = taken
	resumeFrom(t, ours)
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

// follow finds out what became of the snapshot that runs.
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
	s := listed(&t.View, b.Running.Name)
	switch {
	case s == nil && b.Listed.After(b.Running.Asked) && b.Listed.Equal(t.Observed.Database.Listed):
		ended(t, model.SnapshotFailed, "it is in sys.snapshots no more: somebody has dropped it, or it could not be written")
	case s == nil, s.State == model.SnapshotInProgress, s.Unread():
	default:
		b.Taken = append(slices.DeleteFunc(slices.Clone(b.Taken), func(k model.TakenSnapshot) bool { return k.Name == s.Name }),
			model.TakenSnapshot{Name: s.Name, State: s.State, Began: b.Running.Began, Finished: s.Finished, Tables: s.Tables})
		ended(t, s.State, s.Failures)
	}
}

// listed is a row of our repository in the last listing; nil for none.
func listed(v *view.View, name string) *model.ListedSnapshot {
	for i := range v.Observed.Database.Listing {
		if s := &v.Observed.Database.Listing[i]; s.Name == name && s.Repository == v.Record.Backups.Repository.Name {
			return s
		}
	}
	return nil
}

// ended reports how a snapshot has ended.
func ended(t *pass.Pass, state, why string) {
	b := t.Record.Backups
	s := b.Running
	b.Running = nil
	report := model.Report{Event: model.EventFeedback, Operation: "update", Action: "backup"}
	if state == model.SnapshotSuccess {
		b.Failed = ""
		report.Status, report.Reason = model.StatusSuccess, "SnapshotTaken"
		report.Message = fmt.Sprintf("snapshot %s was taken in %s, in folder %s", s.Name, t.Elapsed(s.Began).Round(time.Second), place(&t.View))
	} else {
		b.FailedSnapshot, b.FailedAt = s.Name, t.Now
		b.Failed = fmt.Sprintf("snapshot %s ended as %s: %s", s.Name, state, why)
		report.Status, report.Reason, report.Warning, report.Message = model.StatusFailure, "SnapshotFailed", true, b.Failed
	}
	t.Report(report)
}
