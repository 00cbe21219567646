package scale

import (
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// StartRemove begins to drain the next node that is to do with fewer disks; dedicated masters have nothing
// to drain, and restart at once. It says whether one is due. The claims stay, and nothing is deleted.
func StartRemove(t *pass.Pass) bool {
	p := nextRemoved(&t.View)
	if p == nil {
		return false
	}
	s := *view.Recorded(t.Record.Sets, p.Set)
	sh := replaced(t, p, s)
	switch {
	case aim.Aborted(&t.View):
		t.Refuse(gates.DrainsAborted(gates.RemovedStay))
		return true
	case !p.Ready, len(sh.Leaving) == 0, sh.Leaving[0].ID == "":
		return t.Waits(gates.DisksRemoved("node " + p.NodeName + " is not there"))
	case !sh.Masters && shrinkWaits(t, sh, []model.RecordedSet{s}):
		t.Decision.LookAgain = refusedLook * t.Poll()
		return true
	case t.Waits(gates.DisruptedClusters(t.Observed.Disrupted, max(t.Policy.MaxDisruptedClusters, 1))):
		return true
	case sh.Masters:
		restartsRemoved(t, p, t.Desired.Revision)
		return true
	}
	replace(t, sh, model.OperationRemoveDisks, model.StepExclude)
	excludes(t, sh, p)
	return true
}

// nextRemoved is the pod of the lowest ordinal that uses a disk which is not desired; nil for none.
func nextRemoved(v *view.View) *model.Pod {
	switch {
	case v.Rejected, v.Suspending, v.Record.Removing == nil, view.Unequal(v), view.AnyMixed(v):
		return nil
	}
	var found *model.Pod
	for p := range model.Each(v.Observed.Pods) {
		s := view.Recorded(v.Record.Sets, p.Set)
		due := s != nil && p.Ordinal < s.Replicas && view.SurplusOf(v, p) != ""
		if before := found == nil || p.Set == found.Set && p.Ordinal < found.Ordinal; due && before {
			found = p
		}
	}
	return found
}

// removes reports whether a drain is for fewer disks.
func removes(v *view.View) bool {
	return v.Record.Operation != nil && v.Record.Operation.Kind == model.OperationRemoveDisks
}

// restartsRemoved lets a pod go whose node is empty, behind every gate of a restart.
func restartsRemoved(t *pass.Pass, p *model.Pod, revision string) {
	restartsReplaced(t, revision)
	t.Record.Operation.Restart.Removes = p.UID
}
