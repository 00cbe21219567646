package scale

import (
	"slices"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// StartRemove begins to drain the next node that is to do with fewer disks; dedicated masters have nothing
// to drain, and restart at once. It says whether one is due. The claims stay, and nothing is deleted. With lacking it is
// only for one that lacks a disk.
func StartRemove(t *pass.Pass, lacking bool) bool {
	p := nextRemoved(&t.View, lacking)
	if p == nil {
		return false
	}
	s := *view.Recorded(t.Record.Sets, p.Set)
	sh := replaced(t, p, s)
	switch {
	case aim.Aborted(&t.View):
		return t.Waits(gates.DisksRemoved("it is aborted"))
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

// nextRemoved is the pod of the lowest ordinal that is to be drained for its disks; nil for none.
func nextRemoved(v *view.View, lacking bool) *model.Pod {
	switch {
	case v.Rejected, v.Suspending, v.Record.Removing == nil, !lacking && (view.Unequal(v) || view.AnyMixed(v)):
		return nil
	}
	var found *model.Pod
	for i := range v.Observed.Pods {
		p := &v.Observed.Pods[i]
		s := view.Recorded(v.Record.Sets, p.Set)
		due := s != nil && p.Ordinal < s.Replicas && view.Drains(v, p)
		if lacking {
			due = due && view.LacksCopies(v, p) && view.Data(v, *s) && !otherUntried(v, p.Set)
		}
		if before := found == nil || p.Set == found.Set && p.Ordinal < found.Ordinal; due && before {
			found = p
		}
	}
	return found
}

// otherUntried reports whether the first pod of another set comes next onto a template that nobody has joined on. No set gets
// a new one before, and while a node is drained no other goes.
func otherUntried(v *view.View, set string) bool {
	return slices.ContainsFunc(v.Record.Sets, func(s model.RecordedSet) bool {
		return s.Name != set && aim.Untried(v, s.Name) && aim.FirstOutdated(v, s.Name) != nil
	})
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
