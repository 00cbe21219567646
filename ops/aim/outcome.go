package aim

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// Outcome reports how a revision ended, and notes it.
func Outcome(t *pass.Pass, kind model.OperationKind, status model.Status, refused string, r model.Report) {
	t.Record.Last = model.Outcome{Revision: t.Record.Revision, Operation: kind, Status: status, Names: refused}
	r.Status = status
	t.Report(r)
}

// Applied reports whether the objects of this revision were applied, and none was refused.
func Applied(v *view.View) bool {
	return v.Observed.Applied.Revision == v.Desired.Revision && len(v.Observed.ApplyErrors) == 0
}

// Words are what the pass waits for, for a report.
func Words(t *pass.Pass) string {
	waits := model.Texts(t.Decision.Waits, func(w *model.Reason) string { return w.Message })
	return cmp.Or(strings.Join(waits, "; "), "nothing that is known")
}

// Timeout reports once that the operation has taken longer than its limit; work goes on. The message of the report is
// what the operation is called.
func Timeout(t *pass.Pass, limit time.Duration, refused string, r model.Report) {
	if !Overdue(t, limit) {
		return
	}
	model.Own(&t.Record.Operation).TimedOut = true
	r.Warning = true
	r.Message += fmt.Sprintf(" has taken more than %s and is still being tried; it waits for: %s", limit, Words(t))
	Outcome(t, t.Record.Operation.Kind, model.StatusFailure, refused, r)
}

// Overdue reports whether the operation has taken longer than its limit, and nothing has reported that yet.
func Overdue(t *pass.Pass, limit time.Duration) bool {
	op := t.Record.Operation
	return op != nil && !op.TimedOut && t.Elapsed(op.Started) > limit
}
