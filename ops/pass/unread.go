package pass

import (
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

// WatchSlow reports once which part of a reading is not answered: a repository that does not
// answer keeps nodes from being taken down, and nothing else says so.
func (t *Pass) WatchSlow() {
	db := &t.Observed.Database
	part := model.Find(db.Unread, func(u *model.UnreadPart) bool { return u.Slow })
	if part == nil || !t.Record.Bootstrap.Done {
		t.Record.Slow = nil
		return
	}
	next := model.SlowPart{Part: part.Part, Since: t.Now}
	if t.Record.Slow != nil && t.Record.Slow.Part == part.Part {
		next = *t.Record.Slow
	}
	if !next.Reported && t.Elapsed(next.Since) >= view.SlowLong {
		next.Reported = true
		t.Report(model.Report{Reason: "NoAnswerInTime", Warning: true, Status: model.StatusFailure, Message: part.Words()})
	}
	t.Record.Slow = &next
}
