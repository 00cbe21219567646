package aim

import (
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

// MissingWhy are CrateDB's reasons why copies are on no node.
func MissingWhy(v *view.View) []string {
	return model.Once(nil, model.Texts(v.Observed.Database.Stuck, func(e *model.Explanation) string {
		if e.Node == "" {
			return e.Words()
		}
		return ""
	})...)
}

// Members are the names of all nodes, joined by commas: an executor looks whether one has left.
func Members(v *view.View) string {
	return strings.Join(model.Texts(v.Observed.Database.Nodes, func(n *model.Node) string { return n.Name }), ",")
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
