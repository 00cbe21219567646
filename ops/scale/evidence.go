package scale

import (
	"slices"
	"time"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// NeedsEvidence says whom to ask about the nodes that are about to leave. They are asked only
// once `system` has found them empty: an exec is expensive.
func NeedsEvidence(desired *model.Desired, observed *model.Observed, record *model.Record) model.Examination {
	op := record.Operation
	if !foundEmptyOnce(op) {
		return model.Examination{}
	}
	db := &observed.Database
	if db.Contact != model.Yes || !db.TablesKnown || !db.ShardsKnown {
		return model.Examination{}
	}
	var v view.View
	v.Desired, v.Observed, v.Record = *desired, *observed, *record
	s := view.Recorded(v.Record.Sets, op.Shrink.Set)
	if d := drained(&v, op); d.shards > 0 || d.moving || db.Unassigned > 0 {
		return model.Examination{}
	}
	if op.Step == model.StepSmaller {
		if aim.LiveReplicas(&v, s.Name) <= s.Replicas {
			return model.Examination{} // it was done
		}
		return examination(&v, op.Shrink, s.Replicas)
	}
	return examination(&v, op.Shrink, nextReplicas(&v, op.Shrink, *s))
}

// foundEmptyOnce reports whether nodes of a set are about to leave and `system` has seen no
// shard on them.
func foundEmptyOnce(op *model.Operation) bool {
	if op == nil || op.Shrink == nil || op.Shrink.Set == "" {
		return false
	}
	return op.Step == model.StepSmaller || op.Step == model.StepClaims || op.Step == model.StepDrain && !op.Shrink.Drained.IsZero()
}

// nextReplicas is how many a set has after its next nodes have left: where they vote, one
// leaves after the other.
func nextReplicas(v *view.View, sh *model.Shrink, s model.RecordedSet) int {
	if aim.Eligible(v, s) {
		return max(sh.To, s.Replicas-1)
	}
	return sh.To
}

// examination of the nodes that leave when a set has so many replicas.
func examination(v *view.View, sh *model.Shrink, to int) model.Examination {
	x := model.Examination{Elsewhere: sh.LeaveZone, Ask: stayingPod(v, sh, to)}
	for _, n := range sh.Leaving {
		if n.Ordinal < to && sh.Replaces == "" {
			continue
		}
		x.Names = append(x.Names, n.Name)
		switch {
		case n.ID != "":
			x.IDs, x.Pods = append(x.IDs, n.ID), append(x.Pods, n.Pod)
		case !untouched(v, sh.Set, n.Ordinal):
			x.Absent = append(x.Absent, n.Pod)
		}
	}
	return x
}

// untouched reports whether CrateDB has never started on the volumes of a pod, so that there is
// nothing that a witness could see. Its container says so, and each of its claims.
func untouched(v *view.View, set string, ordinal int) bool {
	if p := v.Pod(set, ordinal); p != nil && !p.Started.IsZero() {
		return false
	}
	for c := range view.ClaimsOf(v, set, ordinal) {
		if c.Version != "" {
			return false
		}
	}
	return true
}

// evidenceWaits waits until the witnesses beside `system` say that the nodes which leave, for
// the set to have so many replicas, are empty.
func evidenceWaits(v *view.View, sh *model.Shrink, to int) (reason gates.Reason, waits bool) {
	x := examination(v, sh, to)
	if reason, waits = x.Verdict(v.Observed.Database.Evidence); waits {
		return reason, true
	}
	next := slices.DeleteFunc(slices.Clone(sh.Evidence), func(n model.NodeEvidence) bool { return slices.Contains(x.Names, n.Node) })
	sh.Evidence = append(next, x.Witnessed(v.Observed.Database.Evidence, sh.Leaving)...)
	return reason, false
}

// retryForEvidence retries the allocation where a node does not get empty: CrateDB deletes a
// folder that it has missed only when the allocation changes. What the superuser sees and
// nothing moves is blocked, as it would be if `system` saw it.
func retryForEvidence(t *pass.Pass, sh *model.Shrink, reason gates.Reason) {
	db := &t.Observed.Database
	if reason.Name == gates.EvidenceMissingRule.Name {
		sh.StillSince = time.Time{}
		return
	}
	if sh.StillSince.IsZero() {
		sh.StillSince = db.At
		return
	}
	retryAllocation(t, sh)
}
