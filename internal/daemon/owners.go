package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// showRefused puts into the record of a cluster that belongs to another source why
// the one that defines it is refused: only where that other source is this daemon's
// too and names the cluster no more, so that nobody else says anything of it.
func (w *worker) showRefused(ctx context.Context, s passState) error {
	if gone, _ := w.fleet.gone(s.before.Owner, w.key); !gone {
		return nil
	}
	next := s.before
	next.SchemaVersion = model.RecordVersion
	noteShown(&s.before, &next, s.decision, s.problems, time.Now())
	var told []model.Report
	for _, reason := range s.decision.Refusals {
		if !said(s.before.Shown.Reasons, reason.Name) {
			told = append(told, ownerReport(w.key, reason, s.want, "Refused"))
		}
	}
	if err := w.tell(ctx, s.entry, told); err != nil {
		return err
	}
	_, err := w.store.Save(ctx, s.entry, next)
	return err
}

// unread is a source that may name by now what owner's names no more: one that has
// not been read yet, or that is of the same repository and has not seen the same
// commit. A cluster that moved with one push is nobody's orphan in between.
func (d *daemon) unread(owner string) string {
	here := d.fleet.standing(owner)
	for _, source := range d.options.Sources {
		other := source.Identity()
		if other == owner {
			continue
		}
		there := d.fleet.standing(other)
		if there.built && !behind(other, there.revision, owner, here.revision) {
			continue
		}
		if w, ok := source.Source.(wakeable); ok && there.built {
			w.Wake()
		}
		return other
	}
	return ""
}

// definedTwice reports that another source defines the cluster too, once.
func definedTwice(key record.Cluster, before model.Shown, waits []model.Reason, want wanted) []model.Report {
	for _, reason := range waits {
		if reason.Name == gates.DefinedTwiceRule.Name && !said(before.Reasons, reason.Name) {
			return []model.Report{ownerReport(key, reason, want, "DefinedTwice")}
		}
	}
	return nil
}

func said(reasons []model.ShownReason, name string) bool {
	return slices.ContainsFunc(reasons, func(r model.ShownReason) bool { return r.Name == name })
}

// ownerReport has an id that is made of what is told, so that a kill before the
// record is saved tells no other report.
func ownerReport(key record.Cluster, reason model.Reason, want wanted, event string) model.Report {
	sum := sha256.Sum256([]byte(strings.Join([]string{key.String(), want.commit, reason.Message}, "\x00")))
	return model.Report{
		ID: "owner-" + hex.EncodeToString(sum[:12]), Event: model.EventFeedback, Status: model.StatusFailure,
		Operation: "update", Action: "unknown", Commit: want.commit, Reason: event, Warning: true,
		Message: reason.Message, Names: []string{reason.Name},
	}
}
