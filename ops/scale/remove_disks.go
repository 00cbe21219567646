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
	sh := replaced(t, p)
	switch {
	case aim.Aborted(&t.View):
		t.Refuse(gates.DrainsAborted(gates.RemovedStay))
	case !p.Ready, len(sh.Leaving) == 0, sh.Leaving[0].ID == "":
		t.Waits(gates.DisksRemoved("node " + p.NodeName + " is not there"))
	case !sh.Masters && shrinkWaits(t, sh, setOf(t, p)):
	case sh.Masters:
		restartsRemoved(t, p, t.Desired.Revision)
	default:
		replace(t, sh, model.OperationRemoveDisks, model.StepExclude)
		excludes(t, forecast(&t.View, sh, nil), nil).Replaces = p.UID
	}
	return true
}

// nextRemoved is the pod of the lowest ordinal that uses a disk which is not desired; nil for none.
func nextRemoved(v *view.View) *model.Pod {
	switch {
	case v.Rejected, v.Suspending, v.Record.Removing == nil, view.Unequal(v), view.AnyMixed(v):
		return nil
	}
	return lowest(v, func(p *model.Pod) bool { return view.SurplusOf(v, p) != "" })
}

// restartsRemoved lets a pod go whose node is empty, behind every gate of a restart.
func restartsRemoved(t *pass.Pass, p *model.Pod, revision string) {
	restartsReplaced(t, revision)
	t.Record.Operation.Restart.Removes = p.UID
}
