package daemon

import (
	"context"
	"time"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// show records what is said of a cluster that nothing can be decided for.
func (w *worker) show(ctx context.Context, entry record.Entry, want wanted, before, rec model.Record, decision model.Decision, problems []string) (time.Duration, error) {
	if len(problems) == 0 {
		return w.options.Interval, nil
	}
	w.looked = true
	w.noteSettledVerdict(decision, problems, false)
	// A definition that never was good leaves no trace in its namespace.
	if !entry.Exists() {
		if !want.missing {
			w.sayWithoutRecord(ctx, want, "definition-broken", problems[0])
		}
		return w.options.Interval, nil
	}
	if err := w.tell(ctx, entry, append(brokenDefinition(w.key, before.Shown, problems, want), heldSource(w.key, before.Shown, want)...)); err != nil {
		return 0, err
	}
	w.sayStatus(ctx, passState{want: want, decision: decision, problems: problems}, rec)
	rec.SchemaVersion = model.RecordVersion
	noteShown(&before, &rec, decision, problems, time.Now())
	rec.Shown.Source, rec.Shown.Lease = whose(rec, want), w.attendsAs()
	rec.Shown.Commit = brokenBy(before.Shown, rec.Shown, want)
	_, err := w.store.Save(ctx, entry, rec)
	return w.options.Interval, err
}

// whose words a record without an owner holds: by that it is found, and goes, when
// the definition does.
func whose(rec model.Record, want wanted) string {
	if rec.Owner != "" {
		return ""
	}
	return want.owner
}
