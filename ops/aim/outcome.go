package aim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
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
	if len(t.Decision.Waits) == 0 {
		return "nothing that is known"
	}
	var list []string
	for _, w := range t.Decision.Waits {
		list = append(list, w.Message)
	}
	return strings.Join(list, "; ")
}

// TakesTooLong says in words that the operation has taken longer than its limit; "" where it
// has not, and where that was said before: work goes on.
func TakesTooLong(t *pass.Pass, limit time.Duration) string {
	op := t.Record.Operation
	if op == nil || op.TimedOut || t.Elapsed(op.Started) <= limit {
		return ""
	}
	model.Own(&t.Record.Operation).TimedOut = true
	return fmt.Sprintf(" has taken more than %s and is still being tried; it waits for: %s", limit, Words(t))
}

// MissingWhy are CrateDB's reasons why copies are on no node.
func MissingWhy(v *view.View) []string {
	var out []string
	for e := range model.Each(v.Observed.Database.Stuck) {
		if e.Node == "" {
			if words := e.Words(); !slices.Contains(out, words) {
				out = append(out, words)
			}
		}
	}
	return out
}

// Members are the names of all nodes, joined by commas: an executor looks whether one has left.
func Members(v *view.View) string {
	names := make([]string, len(v.Observed.Database.Nodes))
	for i := range names {
		names[i] = v.Observed.Database.Nodes[i].Name
	}
	return strings.Join(names, ",")
}

// MasterElapsed is how long the master has been the same, and how long it has to be.
func MasterElapsed(v *view.View) gates.Elapsed {
	o, long := &v.Desired.Operations, time.Time{}
	out := gates.Elapsed{Time: LastedFor(v, long, v.Observed.Stable.Master), Needed: model.First(o.MasterStableFor, v.Policy.MasterStableFor, model.DefaultMasterStableFor)}
	if o.MasterStableFor == 0 && (v.Policy.MasterStableFor == 0 || v.Policy.TrialFor > 0) {
		out.Unchanged, out.UnchangedNeeded = LastedFor(v, long, v.Observed.Stable.Unchanged), model.First(v.Policy.TrialFor, model.DefaultTrialFor)
	}
	return out
}

// LastedFor is how long the database has been as it is, counted from `from` at the earliest: when
// the lock was given back, and up to the last reading: what has happened since that nobody knows. 0 where nobody knows since when.
func LastedFor(v *view.View, from, since time.Time) time.Duration {
	if since.IsZero() {
		return 0
	}
	return max(0, min(v.Elapsed(since), v.Elapsed(from))-v.Elapsed(v.Observed.Database.At))
}
