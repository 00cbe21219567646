package tell

import (
	"cmp"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/scale"
	"stevedore.dev/stevedore/ops/view"
)

// Failures names the actions that failed; each is decided again.
func Failures(t *pass.Pass) {
	for f := range model.Each(t.Observed.Failures) {
		t.Wait(gates.ActionFailed(string(f.Action.Kind), f.Action.Subject(), f.Message, f.Count))
	}
}

// DropPastFailures drops the waits for failures of actions that are no longer decided: one whose answer was lost
// had its effect all the same.
func DropPastFailures(t *pass.Pass) {
	if len(t.Observed.Failures) == 0 {
		return
	}
	actions := t.Decision.Actions()
	for f := range model.Each(t.Observed.Failures) {
		if slices.Contains(actions, f.Action) {
			continue
		}
		reason := gates.ActionFailed(string(f.Action.Kind), f.Action.Subject(), f.Message, f.Count)
		t.Decision.Waits = slices.DeleteFunc(t.Decision.Waits, func(w model.Reason) bool { return w == reason })
	}
}

// Verify ends a revision: refused, or applied, ready and verified.
func Verify(t *pass.Pass) {
	t.Waits(gates.Applied(t.Observed.ApplyErrors))
	t.Waits(gates.ChangedByAdmission(t.Observed.Altered))
	inSync := aim.Applied(&t.View) && t.Observed.Applied.Effective.Equal(t.Decision.Effective)
	if inSync && t.Record.Stage == model.StageRendered {
		t.Record.Stage = model.StageApplied
	}
	if len(t.Decision.Refusals) > 0 {
		Refused(t)
		return
	}
	if !t.Record.Bootstrap.Done || t.Record.Operation != nil || lifecycle.Resumed(&t.View) {
		return
	}
	c := t.Nodes(t.Record.Sets)
	if !t.Waits(gates.PodsReady(c.Ready, c.Expected, c.NotReady, c.NotReadyWhy)) && t.Contact() {
		t.Waits(gates.Joined(c.Joined, c.Expected, c.NotJoined, c.NotJoinedWhy))
	}
	for _, b := range t.Record.Budgets {
		if b.MaxUnavailable == 0 && c.Ready == c.Expected {
			reason := gates.BudgetClosed(0, t.Observed.Database.Health.Tables)
			if t.Record.DeletedClaims != "" {
				reason = gates.BudgetClosedForVolume()
			}
			t.Wait(reason)
			break
		}
	}
	if !inSync || pending(t) || c.Joined < c.Expected {
		return
	}
	lifecycle.Prune(t)
	if pending(t) || t.Record.Stage == model.StageVerified || backup.Unsettled(&t.View) || scale.Unfinished(&t.View) {
		return
	}
	t.Record.Stage = model.StageVerified
	succeeded(t)
}

// pending is true while something of this revision is still to be done.
func pending(t *pass.Pass) bool {
	if t.Decision.Disruptive != nil || !view.AllOurs(&t.View) {
		return true
	}
	acts := model.Any(t.Decision.Harmless, func(a *model.Action) bool { return a.Kind != model.ActionAnnotateClaim })
	return acts || model.Any(t.Decision.Waits, func(w *model.Reason) bool {
		return !gates.Informs(w.Name) && w.Name != gates.ActionFailedRule.Name && w.Name != gates.UnexplainedHoldRule.Name
	})
}

func succeeded(t *pass.Pass) {
	r := model.Report{Reason: "RevisionVerified", Message: "the cluster is as its definition says"}
	if len(t.Adopted) > 0 {
		r.Message += ", but for the pod templates that it was adopted with"
	}
	changed := t.Record.AllowedCIDRs != lifecycle.CIDRs(t.Desired.AllowedCIDRs)
	if changed {
		t.Record.AllowedCIDRs = lifecycle.CIDRs(t.Desired.AllowedCIDRs)
		r.Event, r.Operation, r.Action = model.EventFeedback, "update", "allowed_cidr_update"
		r.Message = "the allowed CIDRs are as the definition says"
	}
	// A bootstrap or a grow of this very revision has been reported as such.
	if !changed && t.Record.Last.Revision == t.Record.Revision && t.Record.Last.Status == model.StatusSuccess {
		return
	}
	aim.Outcome(t, model.OperationUpdate, model.StatusSuccess, "", r)
}

// Refused reports what is refused, once while the list of names stays the same.
func Refused(t *pass.Pass) {
	var list, words []string
	for _, r := range t.Decision.Refusals {
		list, words = append(list, r.Name), append(words, r.Name+": "+r.Message)
	}
	if t.Record.Stage == model.StageVerified {
		// When the reason has gone, success is reported again.
		t.Record.Stage = model.StageApplied
	}
	joined := strings.Join(list, ",")
	next := model.Outcome{Revision: t.Record.Revision, Operation: model.OperationUpdate, Status: model.StatusFailure, Names: joined}
	if t.Record.Last == next {
		return
	}
	operation := "update"
	if !t.Record.Bootstrap.Done {
		operation = "create"
	}
	aim.Outcome(t, model.OperationUpdate, model.StatusFailure, joined, model.Report{
		Event: model.EventFeedback, Operation: operation, Action: cmp.Or(gates.Named(list[0]).Webhook, operation), Reason: "Refused", Warning: true,
		Message: strings.Join(words, "; "), Names: list,
	})
}

// onlyTriesAgain reports whether all that is left to do was refused at its last attempt, by the
// API server or by the database. The verdict is then a wait, with what it waits for.
func onlyTriesAgain(t *pass.Pass, inSync bool) bool {
	if !inSync && len(t.Observed.ApplyErrors) == 0 {
		return false
	}
	for _, action := range t.Decision.Actions() {
		if !model.Any(t.Observed.Failures, func(f *model.Failure) bool { return f.Action == action }) {
			return false
		}
	}
	return true
}

// red says that tables are red, whatever else there is to say. What is being restored is not seen, and
// sys.cluster_health counts it.
func red(t *pass.Pass) {
	db := &t.Observed.Database
	if !t.Contact() || !t.Record.Bootstrap.Done || access.Down(&t.View) {
		return
	}
	hidden := db.Health.Colour != model.Red && db.ClusterHealth.Colour == model.Red && len(db.Hidden) == 0
	missing := db.Health.Missing
	if hidden {
		missing = db.ClusterHealth.Missing
	}
	isRed := hidden || db.Health.Colour == model.Red
	var unused []string
	if isRed {
		unused = view.UnusedClaims(&t.View)
	}
	t.Waits(gates.TablesRed(isRed, missing, db.Health.Red, db.Health.Tables, hidden, unused))
}

// Finish puts the record, the verdict and the time of the next look into the decision.
func Finish(t *pass.Pass, before *model.Record) {
	red(t)
	t.Decision.Record = t.Record
	t.Decision.Save = !t.Record.DecidedEqual(before) // it never reads the saved objects
	inSync := !t.Decision.Apply || aim.Applied(&t.View) && t.Observed.Applied.Effective.Equal(t.Decision.Effective)
	acts := len(t.Decision.Harmless) > 0 || t.Decision.Disruptive != nil || !inSync
	switch {
	case len(t.Decision.Refusals) > 0:
		t.Decision.Verdict = model.Refuse
	case acts && !onlyTriesAgain(t, inSync):
		t.Decision.Verdict = model.Act
	case slices.ContainsFunc(t.Decision.Waits, func(w model.Reason) bool { return !gates.Informs(w.Name) }):
		t.Decision.Verdict = model.Wait
	case t.Record.Operation != nil:
		// Between two of its steps nothing may be left to say, and it is not done.
		t.Decision.Verdict = model.Act
	case before.Operation != nil:
		// It has ended in this pass, after it was asked what is due next.
		t.Decision.Verdict = model.Act
	}
	underWay := t.Record.Operation != nil || lifecycle.Resumed(&t.View)
	if underWay || t.Decision.Verdict == model.Act || t.Decision.Verdict == model.Wait && t.Decision.Apply {
		t.Decision.LookAgain = t.Poll()
	} else if t.Decision.Apply {
		t.Decision.LookAgain = backup.Soon(t)
	}
}
