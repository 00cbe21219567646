package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/forge"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// refusedAfter is for how long Kubernetes has to refuse an object until that is a
// failure: a webhook's server that starts anew is none.
const refusedAfter = 30 * time.Second

// noteRefused keeps since when objects of a revision cannot be applied.
func (w *worker) noteRefused(revision string, now time.Time) {
	switch {
	case len(w.applyErrors) == 0:
		w.refusedSince, w.refusedOf = time.Time{}, ""
	case w.refusedOf != revision:
		w.refusedSince, w.refusedOf = now, revision
	}
}

// refusedObjects is the wait for objects that Kubernetes has refused for so long that
// it is a failure of the revision; nil where there is none.
func (w *worker) refusedObjects(decision model.Decision, now time.Time) *model.Reason {
	if w.refusedSince.IsZero() || now.Sub(w.refusedSince) < refusedAfter {
		return nil
	}
	i := slices.IndexFunc(decision.Waits, func(r model.Reason) bool { return r.Name == gates.AppliedRule.Name })
	if i < 0 {
		return nil
	}
	return &decision.Waits[i]
}

// refusedReport tells it, once a revision: what an admission webhook says may be
// other words each time. The id is made of what is told, so that a kill before the
// record is saved tells no other report.
func (w *worker) refusedReport(s passState) []model.Report {
	if s.refused == nil || s.before.Shown.RefusalReported == s.desired.Revision {
		return nil
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{w.key.String(), s.desired.Revision, s.want.commit}, "\x00")))
	return []model.Report{{
		ID: "refused-" + hex.EncodeToString(sum[:12]), Event: model.EventFeedback, Status: model.StatusFailure,
		Operation: "update", Action: "unknown", Commit: s.want.commit, Reason: "ObjectsRefused", Warning: true,
		Message: s.refused.Message + "; it is tried again", Names: []string{s.refused.Name},
	}}
}

// toldOf is what is to be remembered of it.
func toldOf(s passState) string {
	switch {
	case s.refused != nil:
		return s.desired.Revision
	case slices.ContainsFunc(s.decision.Waits, func(r model.Reason) bool { return r.Name == gates.AppliedRule.Name }):
		return s.before.Shown.RefusalReported
	}
	return ""
}

// sayWithoutRecord queues a failure of a cluster that has no record, beside the
// source's own: of a definition that never was good nothing stands in its namespace,
// and the namespace may be what is missing.
func (w *worker) sayWithoutRecord(ctx context.Context, want wanted, name, description string) {
	if !w.statuses.on() {
		return
	}
	commit := want.newest
	if commit == "" {
		commit = want.commit
	}
	status, ok := w.statuses.of(want.owner, w.key, reports.CommitStatus{
		Commit: commit, State: forge.Failure, Names: []string{name}, Description: description,
	})
	if key := statusKey(status); ok && key != w.saidStatus {
		w.saidStatus = key
		w.statuses.owe(ctx, status)
	}
}
