package ops

import (
	"fmt"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
)

func (t *turn) growing() bool {
	return t.r.Operation != nil && t.r.Operation.Kind == OperationGrow
}

// startGrow raises the effective replicas, of dedicated masters or of all other
// groups at once: nodes that join take nothing from those that are there. It
// says whether nodes are to be added.
func (t *turn) startGrow(masters bool) bool {
	grows := false
	for _, w := range t.d.Sets {
		s := recorded(t.r.Sets, w.Name)
		grows = grows || w.Dedicated == masters && (s == nil && w.Data || s != nil && w.Replicas > s.Replicas)
	}
	if !grows || t.growWaits() {
		return grows
	}
	if !masters && t.newOnUnproven() {
		return true
	}
	from := t.r.Sets
	if !masters {
		from = t.addedSets()
	}
	to := make([]RecordedSet, len(from))
	for i, s := range from {
		if w := t.wanted(s.Name); w != nil && w.Replicas > s.Replicas && w.Dedicated == masters {
			s.Replicas = w.Replicas
		}
		to[i] = s
	}
	t.r.Operation = &Operation{Kind: OperationGrow, Step: StepReplicas, Started: t.now, Revision: t.d.Revision, From: from, To: to}
	t.r.Sets = to
	t.report(Report{Reason: "GrowStarted", Status: StatusInProgress, Message: growWords(t.r.Operation.From, to)})
	return true
}

// growWaits are the gates before nodes are added. Health is none of them: a
// new node may be what a cluster needs to repair itself.
func (t *turn) growWaits() bool {
	db := &t.o.Database
	if reason, waits := gates.Contact(t.contact(), db.Error); waits {
		t.wait(reason)
		return true
	}
	if reason, waits := gates.FreshReading(t.elapsed(db.At), first(t.p.ReadingAge, DefaultReadingAge)); waits {
		t.wait(reason)
		return true
	}
	if db.Recovered != Yes {
		c := t.nodes(t.r.Sets)
		reason, _ := gates.Recovered(false, c.joined, c.wanted)
		t.wait(reason)
		return true
	}
	if t.licenceDue() {
		return true // systemUser says how far it is
	}
	if reason, waits := gates.LicenceMissing(t.d.Version, t.allNodes(), t.r.Bootstrap.Licence == LicenceSet); waits {
		t.wait(reason)
		return true
	}
	for i := range t.o.Claims {
		c := &t.o.Claims[i]
		w := t.wanted(c.Set)
		if w == nil || c.Ordinal < t.recordedReplicas(c.Set) || c.Ordinal >= w.Replicas {
			continue
		}
		// A node that others added by hand already answers for its claim.
		if c.ClusterID == "" {
			if p := t.pod(c.Set, c.Ordinal); p != nil {
				if a := t.answer(p.Name); a != nil && a.ClusterID == t.r.ClusterID {
					continue
				}
			}
		}
		if reason, refused := gates.ClaimOfAnotherCluster(c.Name, c.ClusterID, t.r.ClusterID); refused {
			t.refusal(reason)
			return true
		}
		if reason, refused := gates.ClaimVersion(c.Name, c.Version, t.d.Version); refused {
			t.refusal(reason)
			return true
		}
	}
	return false
}

// grow takes one that has begun to its end.
func (t *turn) grow() {
	if !t.growing() {
		t.reacknowledge()
		return
	}
	op := *t.r.Operation
	if t.growTakenBack(&op) && !t.claimsUnsaid(&op) {
		// What has been added leaves as in any shrink.
		t.r.Operation = nil
		return
	}
	if t.growHangs(&op) || t.growUnready(&op) {
		// The upgrade, or the restart, brings the template on which they may run.
		t.r.Operation = nil
		return
	}
	c := t.nodes(t.grown(&op))
	switch {
	case !t.contact():
		// systemUser has said why
	case c.joined < c.wanted:
		reason, _ := gates.Joined(c.joined, c.wanted, c.notJoined, c.notJoinedWhy)
		t.wait(reason)
	case op.Step == StepReplicas:
		op.Step = StepAcknowledge
		t.r.Operation = &op
		t.acknowledge(op)
	default:
		t.acknowledge(op)
	}
	limit := first(t.d.Operations.ScaleTimeout, t.p.ScaleTimeout, DefaultScaleTimeout)
	if now := t.r.Operation; now != nil && !now.TimedOut && t.elapsed(now.Started) > limit {
		next := *now
		next.TimedOut = true
		t.r.Operation = &next
		r := t.scaleReport(next)
		r.Reason, r.Warning = "GrowTimedOut", true
		r.Message = fmt.Sprintf("%s has taken more than %s and is still being tried; it waits for: %s", growWords(next.From, next.To), limit, t.words())
		t.outcome(OperationGrow, StatusFailure, "scale-timeout", r)
	}
}

// grown are the sets as a grow waits for them: with what it adds, and of what was there
// before only what is wanted still. A group that is to go may hang on a template that
// nobody corrects any more.
func (t *turn) grown(op *Operation) []RecordedSet {
	if t.blocked {
		return op.To
	}
	sets := t.stillWanted(op.To)
	for i, s := range op.To {
		if from := recorded(op.From, s.Name); from == nil || from.Replicas < s.Replicas {
			sets[i] = s
		}
	}
	return sets
}

// openChecks counts the nodes whose check 1 fails and is not acknowledged.
func (t *turn) openChecks() int {
	n := 0
	for _, c := range t.o.Database.NodeChecks {
		if c.ID == 1 && !c.Acknowledged {
			n++
		}
	}
	return n
}

// reacknowledge is for all but a grow: at the end of a shrink, and of a grow whose
// record was lost before it had ended. With a node missing the check says
// something, and is left.
func (t *turn) reacknowledge() {
	if !t.r.Bootstrap.Done || !t.contact() || t.openChecks() == 0 {
		return
	}
	if c := t.nodesWith(t.r.Sets, t.unready); c.joined < c.wanted {
		return // what is a member is not missing, though its pod is not ready
	}
	if pod := t.sqlPod(); pod != "" {
		t.harmless(Action{Kind: ActionAcknowledgeNodeChecks, Pod: pod, SystemSecret: t.systemSecret()})
	}
}

func (t *turn) acknowledge(op Operation) {
	if reason, waits := gates.NodeChecks(t.o.Database.ChecksKnown, t.openChecks()); waits {
		t.wait(reason)
		if pod := t.sqlPod(); pod != "" {
			t.harmless(Action{Kind: ActionAcknowledgeNodeChecks, Pod: pod, SystemSecret: t.systemSecret()})
		}
		return
	}
	if t.grownExcluded(&op) {
		if t.unfinished() {
			// What else is wanted does not wait for somebody's filter; success is not said.
			t.r.Operation = nil
			r := t.scaleReport(op)
			r.Reason, r.Warning, r.Names = "GrowIncomplete", true, []string{gates.GrownExcludedRule.Name}
			r.Message = growWords(op.From, op.To) + ": all nodes have joined, and something else is wanted by now; " + t.words()
			t.outcome(OperationGrow, StatusFailure, gates.GrownExcludedRule.Name, r)
		}
		return
	}
	t.r.Operation = nil
	r := t.scaleReport(op)
	r.Reason = "GrowSucceeded"
	r.Message = growWords(op.From, op.To) + ": all nodes have joined"
	t.outcome(OperationGrow, StatusSuccess, "", r)
}

func (t *turn) scaleReport(op Operation) Report {
	r := Report{Event: EventScale, Operation: "update", Action: "scale"}
	for i, s := range op.To {
		if s.Group == names.MasterGroup {
			r.OldMasters, r.NewMasters = op.From[i].Replicas, s.Replicas
			continue
		}
		r.OldData = append(r.OldData, GroupReplicas{Name: s.Group, Replicas: op.From[i].Replicas})
		r.NewData = append(r.NewData, GroupReplicas{Name: s.Group, Replicas: s.Replicas})
	}
	return r
}

func growWords(from, to []RecordedSet) string {
	var b strings.Builder
	b.WriteString("growing")
	sep := " "
	for i, s := range to {
		if from[i].Replicas != s.Replicas {
			fmt.Fprintf(&b, "%sgroup %s from %d to %s", sep, s.Group, from[i].Replicas, numberOf(s.Replicas, "node"))
			sep = ", "
		}
	}
	return b.String()
}
