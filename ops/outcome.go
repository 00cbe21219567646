package ops

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
)

// report adds a transition. Its id is made of what is recorded, so that one
// that is reported again after a kill has the same id.
func (t *turn) report(r Report) {
	t.r.Seq++
	h := sha256.Sum256([]byte(strings.Join([]string{
		t.d.Namespace + "/" + t.d.Name, strconv.FormatInt(t.r.Seq, 10), t.r.Revision, r.Reason, string(r.Event), string(r.Status), strings.Join(r.Names, ","),
	}, "\n")))
	r.ID = hex.EncodeToString(h[:16])
	r.Revision, r.Commit = t.r.Revision, t.r.Commit
	t.d2.Reports = append(t.d2.Reports, r)
}

// outcome reports how a revision ended, once for each transition.
func (t *turn) outcome(kind OperationKind, status Status, refused string, r Report) {
	next := Outcome{Revision: t.r.Revision, Operation: kind, Status: status, Names: refused}
	if t.r.Last == next && kind == OperationUpdate {
		return
	}
	t.r.Last = next
	r.Status = status
	t.report(r)
}

func (t *turn) applied() bool {
	return t.o.Applied.Revision == t.d.Revision && len(t.o.ApplyErrors) == 0
}

// failures names the actions that failed; each is decided again.
func (t *turn) failures() {
	for i := range t.o.Failures {
		f := &t.o.Failures[i]
		t.wait(gates.ActionFailed(string(f.Action.Kind), f.Action.Subject(), f.Message, f.Count))
	}
}

// settledFailures takes back the waits for failures of actions that are not
// decided any more: one whose answer was lost had its effect all the same.
func (t *turn) settledFailures() {
	if len(t.o.Failures) == 0 {
		return
	}
	actions := t.d2.Actions()
	for i := range t.o.Failures {
		f := &t.o.Failures[i]
		if slices.Contains(actions, f.Action) {
			continue
		}
		reason := gates.ActionFailed(string(f.Action.Kind), f.Action.Subject(), f.Message, f.Count)
		t.d2.Waits = slices.DeleteFunc(t.d2.Waits, func(w Reason) bool { return w == reason })
	}
}

// verify ends a revision: refused, or applied, ready and verified.
func (t *turn) verify() {
	if reason, waits := gates.Applied(t.o.ApplyErrors); waits {
		t.wait(reason)
	}
	if reason, says := gates.ChangedByAdmission(t.o.Altered); says {
		t.wait(reason)
	}
	inSync := t.applied() && t.o.Applied.Effective.Equal(t.d2.Effective)
	if inSync && t.r.Stage == StageRendered {
		t.r.Stage = StageApplied
	}
	if len(t.d2.Refusals) > 0 {
		t.refused()
		return
	}
	if !t.r.Bootstrap.Done || t.r.Operation != nil || t.resumed() {
		return
	}
	c := t.nodes(t.r.Sets)
	if reason, waits := gates.PodsReady(c.ready, c.wanted, c.notReady, c.notReadyWhy); waits {
		t.wait(reason)
	} else if reason, waits := gates.Joined(c.joined, c.wanted, c.notJoined, c.notJoinedWhy); waits && t.contact() {
		t.wait(reason)
	}
	for _, b := range t.r.Budgets {
		if b.MaxUnavailable == 0 && c.ready == c.wanted {
			t.wait(gates.BudgetClosed(0, t.o.Database.Health.Tables))
			break
		}
	}
	if inSync && !t.pending() && c.joined == c.wanted {
		t.prune()
	}
	if !inSync || t.pending() || c.joined < c.wanted || t.r.Stage == StageVerified || t.unfinished() {
		return
	}
	t.r.Stage = StageVerified
	t.succeeded()
}

// unfinished: an operation has ended in this turn, and what is due of the definition
// begins in the next.
func (t *turn) unfinished() bool {
	if t.parked {
		return false
	}
	before, _, _ := t.asked()
	return t.unequal() || t.upgradeDue() || t.nextSet() != "" || !before.IsZero()
}

// pending is true while something of this revision is still to be done.
func (t *turn) pending() bool {
	if t.d2.Disruptive != nil {
		return true
	}
	for i := range t.d2.Harmless {
		if t.d2.Harmless[i].Kind != ActionAnnotateClaim {
			return true
		}
	}
	for i := range t.d2.Waits {
		if name := t.d2.Waits[i].Name; !gates.Informs(name) && name != gates.ActionFailedRule.Name && name != gates.UnexplainedHoldRule.Name {
			return true
		}
	}
	return false
}

func cidrs(list []string) string { return strings.Join(list, ",") }

func (t *turn) succeeded() {
	r := Report{Reason: "RevisionVerified", Message: "the cluster is as its definition says"}
	changed := t.r.AllowedCIDRs != cidrs(t.d.AllowedCIDRs)
	if changed {
		t.r.AllowedCIDRs = cidrs(t.d.AllowedCIDRs)
		r.Event, r.Operation, r.Action = EventFeedback, "update", "allowed_cidr_update"
		r.Message = "the allowed CIDRs are as the definition says"
	}
	// A bootstrap or a grow of this very revision has been reported as such.
	if !changed && t.r.Last.Revision == t.r.Revision && t.r.Last.Status == StatusSuccess {
		return
	}
	t.outcome(OperationUpdate, StatusSuccess, "", r)
}

func (t *turn) refused() {
	var list []string
	var words strings.Builder
	for _, r := range t.d2.Refusals {
		list = append(list, r.Name)
		if words.Len() > 0 {
			words.WriteString("; ")
		}
		fmt.Fprintf(&words, "%s: %s", r.Name, r.Message)
	}
	if t.r.Stage == StageVerified {
		// When the reason has gone, success is told again.
		t.r.Stage = StageApplied
	}
	joined := strings.Join(list, ",")
	next := Outcome{Revision: t.r.Revision, Operation: OperationUpdate, Status: StatusFailure, Names: joined}
	if t.r.Last == next {
		return
	}
	operation := "update"
	if !t.r.Bootstrap.Done {
		operation = "create"
	}
	t.outcome(OperationUpdate, StatusFailure, joined, Report{
		Event: EventFeedback, Operation: operation, Action: refusedAction(list[0], operation), Reason: "Refused", Warning: true,
		Message: words.String(), Names: list,
	})
}

// refusedAction is crate-operator's word for what was refused.
func refusedAction(name, operation string) string {
	switch name {
	case gates.RaisedRule.Name, gates.ClaimOfAnotherClusterRule.Name, gates.ClaimVersionRule.Name,
		gates.MasterQuorumRule.Name, gates.MasterGroupStaysRule.Name, gates.GroupRemovalRule.Name, gates.NewGroupRule.Name,
		gates.ReplicasDoNotFitRule.Name, gates.LastOfZoneRule.Name, gates.TableFilterRule.Name, gates.TableFilterDecidesRule.Name, gates.DiskDoesNotFitRule.Name,
		gates.ShardsDoNotFitRule.Name, gates.TableHeldRule.Name, gates.ShardPlaceRule.Name, gates.DrainBlockedRule.Name, gates.ExclusionHiddenRule.Name, gates.ShrinkAbortedRule.Name:
		return "scale"
	case gates.VersionPathRule.Name, gates.TablesTooOldRule.Name, gates.ReleaseLosesDataRule.Name, gates.UpgradeStoppedRule.Name, gates.DowngradeRule.Name:
		return "upgrade"
	case gates.SuspendRule.Name:
		return "suspend"
	case gates.UpdateStrategyRule.Name, gates.RestartStoppedRule.Name,
		gates.AbortedRule.Name, gates.HoldHiddenRule.Name, gates.UnreplicatedRule.Name, gates.CopiesReturnRule.Name:
		return "change_compute"
	case gates.VolumesRule.Name:
		return "expand_storage"
	case gates.SystemRefusedRule.Name, gates.SystemPasswordLostRule.Name, gates.PasswordUnusableRule.Name:
		return "password_update"
	}
	return operation
}

// words are the waits, for a report.
func (t *turn) words() string {
	if len(t.d2.Waits) == 0 {
		return "nothing that is known"
	}
	var list []string
	for _, w := range t.d2.Waits {
		list = append(list, w.Message)
	}
	return strings.Join(list, "; ")
}

// onlyTriesAgain: all that is left to do was refused at its last attempt, by the API
// server or by the database. Whoever looks is told that it waits, and for what.
func (t *turn) onlyTriesAgain(inSync bool) bool {
	if !inSync && len(t.o.ApplyErrors) == 0 {
		return false
	}
	for _, action := range t.d2.Actions() {
		if !slices.ContainsFunc(t.o.Failures, func(f Failure) bool { return f.Action == action }) {
			return false
		}
	}
	return true
}

// finish draws the verdict.
func (t *turn) finish(before *Record) {
	t.d2.Record = t.r
	t.d2.Save = !t.r.decidedEqual(before) // it never reads the saved objects
	inSync := !t.d2.Apply || t.applied() && t.o.Applied.Effective.Equal(t.d2.Effective)
	acts := len(t.d2.Harmless) > 0 || t.d2.Disruptive != nil || !inSync
	switch {
	case len(t.d2.Refusals) > 0:
		t.d2.Verdict = Refuse
	case acts && !t.onlyTriesAgain(inSync):
		t.d2.Verdict = Act
	case slices.ContainsFunc(t.d2.Waits, func(w Reason) bool { return !gates.Informs(w.Name) }):
		t.d2.Verdict = Wait
	case t.r.Operation != nil:
		// Between two of its steps nothing may be left to say, and it is not done.
		t.d2.Verdict = Act
	case before.Operation != nil:
		// It has ended in this turn, after it was asked what is due next.
		t.d2.Verdict = Act
	}
	if t.r.Operation != nil || t.resumed() || t.d2.Verdict == Act || t.d2.Verdict == Wait && t.d2.Apply {
		t.d2.LookAgain = t.poll()
	}
}
