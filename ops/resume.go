package ops

import (
	"fmt"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
)

// Steps of a resume.
const (
	StepMasters = "masters" // the dedicated masters start
	StepData    = "data"    // all other groups start
	StepRecover = "recover" // the database has answered; all nodes join, copies come back
)

// startResume starts what was suspended; it says whether that is due. A volume
// of another cluster keeps it from beginning (claims has said so).
func (t *turn) startResume() bool {
	if len(t.r.Suspended) == 0 || t.standsStill() {
		return false
	}
	for i := range t.o.Claims {
		if c := &t.o.Claims[i]; c.ClusterID != "" && c.ClusterID != t.r.ClusterID {
			return true
		}
	}
	t.beginResume()
	return true
}

func (t *turn) beginResume() {
	t.r.Operation = &Operation{Kind: OperationResume, Step: StepMasters, Started: t.now, Revision: t.d.Revision, From: t.r.Sets, To: t.r.Suspended}
	t.report(suspendReport("ResumeStarted", StatusInProgress, "the cluster is being resumed: "+countWords(t.r.Suspended)+" start, masters first"))
}

// raise gives dedicated masters, or all others, the replicas that they had.
func (t *turn) raise(masters bool) {
	sets := append([]RecordedSet(nil), t.r.Sets...)
	for i := range sets {
		if before := recorded(t.r.Suspended, sets[i].Name); before != nil && (sets[i].Group == names.MasterGroup) == masters {
			sets[i].Replicas = max(sets[i].Replicas, before.Replicas)
		}
	}
	t.r.Sets = sets
}

// resume starts the nodes that were suspended on the templates that they had,
// and waits until the cluster is what it was.
func (t *turn) resume() {
	op := *t.r.Operation
	t.r.Operation = &op
	if op.Step == StepMasters {
		t.raise(true)
		if t.mastersWait() {
			t.suspendTimeout("ResumeTimedOut")
			return
		}
		op.Step = StepData
	}
	t.raise(false)
	if op.Step == StepData && t.contact() && t.o.Database.Recovered == Yes {
		op.Step = StepRecover
	}
	if op.Step == StepRecover && !t.blocked && t.contact() && (t.upgradeDue() && t.onlyHang(t.r.Sets) || t.onlyUnready(t.r.Sets)) {
		t.resumeHangs(&op)
		return
	}
	if t.wholeWaits() {
		t.suspendTimeout("ResumeTimedOut")
		return
	}
	t.r.Operation, t.r.Suspended = nil, nil
	t.outcome(OperationResume, StatusSuccess, "", suspendReport("ResumeSucceeded", StatusSuccess,
		"the cluster has been resumed: "+countWords(op.To)+" have joined, and it is the cluster that was suspended"))
}

// mastersWait until most of the dedicated masters run: they can elect one.
func (t *turn) mastersWait() bool {
	var masters []RecordedSet
	for _, s := range t.r.Sets {
		if s.Group == names.MasterGroup {
			masters = append(masters, s)
		}
	}
	c := t.nodesWith(masters, t.upLong)
	if c.ready > c.wanted/2 || c.wanted == 0 {
		return false
	}
	if reason, waits := gates.PodsReady(c.ready, c.wanted, c.notReady, c.notReadyWhy); waits {
		t.wait(reason)
	}
	return true
}

// wholeWaits until all nodes have joined, the gateway has recovered and no copy
// is missing that waiting could bring back. A settled yellow has to have lasted
// for stableFor: right after a start no copy is on its way yet.
func (t *turn) wholeWaits() bool {
	db := &t.o.Database
	c := t.nodes(t.r.Sets)
	reason, waits := gates.Contact(t.contact(), db.Error)
	if !waits {
		reason, waits = gates.Joined(c.joined, c.wanted, c.notJoined, c.notJoinedWhy)
	}
	if !waits {
		reason, waits = gates.Recovered(db.Recovered == Yes && db.MasterNode != "", c.joined, c.wanted)
	}
	stable := !t.o.Stable.Since.IsZero() && t.elapsed(t.o.Stable.Since) >= first(t.d.Operations.StableFor, t.p.StableFor, DefaultStableFor)
	if h := &db.Health; !waits {
		reason, waits = gates.HealthGreen(h.Colour.String(), stable && t.settled(), h.Missing, h.Underreplicated, h.Tables, t.missingWhy())
	}
	if waits {
		t.wait(reason)
		if !stable && !t.o.Stable.Since.IsZero() {
			t.endsIn(first(t.d.Operations.StableFor, t.p.StableFor, DefaultStableFor) - t.elapsed(t.o.Stable.Since))
		}
	}
	return waits
}

// resumeHangs ends a resume in which nodes do not run on what they were suspended on, and
// what is wanted by now is of another version, or in which all have joined and pods are
// not ready: the upgrade or the restart that is due next brings the template that they may
// run on.
func (t *turn) resumeHangs(op *Operation) {
	c := t.nodes(t.r.Sets)
	t.r.Suspended, t.r.Operation = nil, nil
	r := suspendReport("ResumeIncomplete", StatusFailure, fmt.Sprintf(
		"the cluster has been resumed with %d of %d nodes: pod %s has not joined (%s), and what is wanted by now may let it", c.joined, c.wanted, c.notJoined, c.notJoinedWhy))
	r.Warning, r.Names = true, []string{gates.JoinedRule.Name}
	t.outcome(op.Kind, StatusFailure, gates.JoinedRule.Name, r)
}
