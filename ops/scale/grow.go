package scale

import (
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/check"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/setting"
	"stevedore.dev/stevedore/ops/view"
)

// StartGrow raises the effective replicas, of dedicated masters or of all other groups at once:
// nodes that join take nothing from those that are there. It says whether nodes are to be added.
func StartGrow(t *pass.Pass, masters bool) bool {
	grows := false
	for _, w := range t.Desired.Sets {
		s := view.Recorded(t.Record.Sets, w.Name)
		larger := s == nil && w.Data || s != nil && w.Replicas > s.Replicas
		grows = grows || larger && w.Dedicated == masters
	}
	if !grows || growWaits(t) {
		return grows
	}
	if !masters && newOnTrial(t) {
		return true
	}
	from := t.Record.Sets
	if !masters {
		from = addedSets(&t.View)
	}
	to := make([]model.RecordedSet, len(from))
	for i, s := range from {
		if w := t.DesiredSet(s.Name); w != nil && w.Replicas > s.Replicas && w.Dedicated == masters {
			s.Replicas = w.Replicas
		}
		to[i] = s
	}
	t.Record.Operation = &model.Operation{Kind: model.OperationGrow, Step: model.StepReplicas, Started: t.Now, Revision: t.Desired.Revision, From: from, To: to}
	t.Record.Sets = to
	t.Report(model.Report{Reason: "GrowStarted", Status: model.StatusInProgress, Message: growWords(t.Record.Operation.From, to)})
	return true
}

// BeforeGrow is asked before nodes are added. Health is none of them: a new node may be what
// a cluster needs to repair itself.
var BeforeGrow = []check.Check{check.Contact, check.FreshReading, check.GatewayServes}

// growWaits asks BeforeGrow, and looks at the licence and at the claims.
func growWaits(t *pass.Pass) bool {
	m := check.Move{Nodes: t.Nodes(t.Record.Sets)}
	if m.Stop(t, BeforeGrow) {
		return true
	}
	if access.LicenceDue(&t.View) {
		return true // SystemUser says how far it is
	}
	if t.Waits(gates.LicenceMissing(t.Desired.Version, t.AllNodes(), t.Record.Bootstrap.Licence == model.LicenceSet)) {
		return true
	}
	for c := range model.Each(t.Observed.Claims) {
		w := t.DesiredSet(c.Set)
		if w == nil || c.Ordinal < aim.RecordedReplicas(&t.View, c.Set) || c.Ordinal >= w.Replicas {
			continue
		}
		// A node that others added by hand already answers for its claim.
		if c.ClusterID == "" {
			if p := t.Pod(c.Set, c.Ordinal); p != nil {
				if a := t.Answer(p.Name); a != nil && a.ClusterID == t.Record.ClusterID {
					continue
				}
			}
		}
		if t.Refuses(gates.ClaimOfAnotherCluster(c.Name, c.ClusterID, t.Record.ClusterID)) {
			return true
		}
		if t.Refuses(gates.ClaimVersion(c.Name, c.Version, t.Desired.Version)) {
			return true
		}
	}
	return false
}

// Grow takes a grow that has begun to its end.
func Grow(t *pass.Pass) {
	if !t.Record.Operation.Is(model.OperationGrow) {
		reacknowledge(t)
		return
	}
	op := model.Own(&t.Record.Operation)
	if growRolledBack(&t.View, op) && !claimsUnmarked(t, op) {
		// What has been added leaves as in any shrink.
		t.Record.Operation = nil
		return
	}
	if growStuck(&t.View, op) || view.GrowNotReady(&t.View, op) {
		// The upgrade, or the restart, brings the template on which they may run.
		t.Record.Operation = nil
		return
	}
	c := t.Nodes(grown(&t.View, op))
	switch {
	case !t.Contact():
		// SystemUser has said why
	case c.Joined < c.Expected:
		reason, _ := gates.Joined(c.Joined, c.Expected, c.NotJoined, c.NotJoinedWhy)
		t.Wait(reason)
	case unmade(&t.View, op):
		// Of a group without nodes nothing has to join, and its StatefulSet is made while the grow is under way only.
	default:
		op.Step = model.StepAcknowledge
		acknowledge(t, op)
	}
	tooLong(t, op, "GrowTimedOut", func() string { return growWords(op.From, op.To) })
}

// unmade reports whether a StatefulSet is still to be made that a grow adds.
func unmade(v *view.View, op *model.Operation) bool {
	return slices.ContainsFunc(op.To, func(s model.RecordedSet) bool {
		return aim.Added(v, s.Name) && v.DesiredSet(s.Name) != nil && v.Live(s.Name) == nil
	})
}

// grown are the sets that a grow waits for: what it adds and, of what was there before, only
// what is still desired. A group that is to go may be stuck on a template that nobody corrects
// any more.
func grown(v *view.View, op *model.Operation) []model.RecordedSet {
	if v.Rejected {
		return op.To
	}
	sets := view.StillDesired(v, op.To)
	for i, s := range op.To {
		if from := view.Recorded(op.From, s.Name); from == nil || from.Replicas < s.Replicas {
			sets[i] = s
		}
	}
	return sets
}

func openChecks(v *view.View) int {
	return model.Count(v.Observed.Database.NodeChecks, func(c *model.NodeCheck) bool { return c.ID == 1 && !c.Acknowledged })
}

// reacknowledge acknowledges node check 1 where no grow does: at the end of a shrink, and of a
// grow whose record was lost. While a node is missing the check says something, and is left.
func reacknowledge(t *pass.Pass) {
	if !t.Record.Bootstrap.Done || !t.Contact() || openChecks(&t.View) == 0 {
		return
	}
	if c := t.NodesWith(t.Record.Sets, func(p *model.Pod) bool { return view.JoinedNotReady(&t.View, p) }); c.Joined < c.Expected {
		return // what is a member is not missing, though its pod is not ready
	}
	acknowledgeChecks(t)
}

func acknowledgeChecks(t *pass.Pass) {
	if pod := t.SQLPod(); pod != "" {
		t.Harmless(model.Action{Kind: model.ActionAcknowledgeNodeChecks, Pod: pod, SystemSecret: t.SystemSecret()})
	}
}

func acknowledge(t *pass.Pass, op *model.Operation) {
	words := growWords(op.From, op.To) + ": all nodes have joined"
	switch {
	case t.Waits(gates.NodeChecks(t.Observed.Database.ChecksKnown, openChecks(&t.View))):
		acknowledgeChecks(t)
	case !setting.GrownExcluded(t, op):
		t.Record.Operation = nil
		aim.Outcome(t, model.OperationGrow, model.StatusSuccess, "", scaleReport(op, "GrowSucceeded", words))
	case Unfinished(&t.View):
		// What else is desired does not wait for somebody's filter; no success is reported.
		t.Record.Operation = nil
		r := scaleReport(op, "GrowIncomplete", words+", and something else is desired by now; "+aim.Words(t))
		r.Warning, r.Names = true, []string{gates.GrownExcludedRule.Name}
		aim.Outcome(t, model.OperationGrow, model.StatusFailure, gates.GrownExcludedRule.Name, r)
	}
}

// tooLong reports once that it takes too long; work goes on. Each pass asks, so the words are made only then.
func tooLong(t *pass.Pass, op *model.Operation, reason string, what func() string) {
	if limit := view.ScaleLimit(&t.View); aim.Overdue(t, limit) {
		aim.Timeout(t, limit, "scale-timeout", scaleReport(op, reason, what()))
	}
}

func scaleReport(op *model.Operation, reason, message string) model.Report {
	r := model.Report{Event: model.EventScale, Operation: "update", Action: "scale", Reason: reason, Message: message}
	for i, s := range op.To {
		if s.Group == names.MasterGroup {
			r.OldMasters, r.NewMasters = op.From[i].Replicas, s.Replicas
			continue
		}
		r.OldData = append(r.OldData, model.GroupReplicas{Name: s.Group, Replicas: op.From[i].Replicas})
		r.NewData = append(r.NewData, model.GroupReplicas{Name: s.Group, Replicas: s.Replicas})
	}
	return r
}

func growWords(from, to []model.RecordedSet) string {
	return strings.TrimSpace("growing " + sizeWords(from, to))
}

// sizeWords name the groups that get more or fewer nodes.
func sizeWords(from, to []model.RecordedSet) string {
	var parts []string
	for i, s := range to {
		if i < len(from) && from[i].Replicas != s.Replicas {
			parts = append(parts, fmt.Sprintf("group %s from %d to %s", s.Group, from[i].Replicas, aim.NumberOf(s.Replicas, "node")))
		}
	}
	return strings.Join(parts, ", ")
}

// Unfinished reports whether the definition asks for an operation, which the next pass begins.
func Unfinished(v *view.View) bool {
	if v.Suspending {
		return false
	}
	before, _, _ := aim.Asked(v)
	return view.Unequal(v) || aim.UpgradeDue(v) || aim.NextSet(v) != "" || !before.IsZero()
}
