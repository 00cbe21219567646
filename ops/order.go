package ops

import (
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/fetch"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/rollout"
	"stevedore.dev/stevedore/ops/scale"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/ops/volume"
)

// start begins the one operation that is due next. A suspended cluster is resumed first, and a
// suspension stands before all others. A StatefulSet whose claims have grown is recreated around
// its pods, which takes seconds; nothing begins while nobody knows one that is gone. One with a disk
// more is restarted next: pods that come or go wait for that. But where tables are red, nodes come first that bring
// missing shards back. Before all else comes a pod that does not come back without such a recreation.
// What else a revision asks for is done in this order: an
// upgrade at the present size, dedicated masters that come, those that go, other nodes that
// come, those that go, further disks, a restart of what is left, fewer disks and then other volumes, node
// by node. Two things come before an upgrade: nodes
// without which the cluster will never be green, and nodes for which it would wait for ever.
//
// Each function says whether its operation is due. Nothing behind one that is due begins before
// it has ended, though it has to wait.
func start(t *pass.Pass) {
	lifecycle.YieldToSuspension(t)
	if t.Record.Operation == nil && t.Record.Bootstrap.Done && volume.StartReturn(t) {
		return
	}
	if volume.Forgotten(t) || t.Record.Operation == nil && backup.GoesFirst(t) {
		return
	}
	if t.Rejected || t.Record.Operation != nil || !t.Record.Bootstrap.Done {
		return
	}
	// A suspended cluster is resumed first: exclusions are given back with contact only.
	if lifecycle.StartResume(t) {
		return
	}
	if x := t.Record.Exclusions; x != nil {
		drained := view.DrainedForNewVolume(&t.View)
		if drained != nil {
			t.Wait(gates.ExclusionStays(drained.Name))
		} else {
			t.Wait(gates.ExclusionsReturn(x.Set, len(model.Listed(x.IDs))))
		}
		// Only a master gives them back, and the desired template may bring one.
		masterless := t.Contact() && !view.HasMaster(&t.View) && aim.QuorumWaits(&t.View) != ""
		// Where the volume of a drained node goes with its pod, they are given back after that, and
		// nothing else restarts it. A disk that another pod has comes back before: a stuck pod is not recreated without it.
		if masterless || drained != nil {
			_ = scale.DrainAgain(t) || begins(t, func() bool { return volume.StartDisks(t, true) || rollout.StartUpgrade(t) || rollout.StartRestart(t) })
		}
		return
	}
	nodesFirst := func() bool { return scale.NeedsNodesFirst(&t.View) && scale.StartGrow(t, false) }
	for _, due := range []func() bool{
		func() bool { return t.Suspending && volume.StartDisks(t, true) },
		func() bool { return lifecycle.StartSuspend(t) },
		func() bool { return volume.StartExpand(t) },
		func() bool { return scale.StartReplace(t, true) },
		func() bool { return volume.StartDisks(t, true) },
		func() bool { return aim.DisksFirst(&t.View) && (rollout.StartUpgrade(t) || rollout.StartRestart(t)) },
		func() bool { return aim.GrowsFirst(&t.View) && scale.StartGrow(t, false) },
		func() bool {
			return aim.UpgradeDue(&t.View) && view.ShrinksFirst(&t.View) && (nodesFirst() || scale.StartShrink(t, false))
		},
		func() bool { return rollout.StartUpgrade(t) },
		func() bool { return scale.StartGrow(t, true) },
		func() bool { return len(scale.ToShrink(&t.View, true)) > 0 && nodesFirst() },
		func() bool { return !view.YellowByLeaving(&t.View) && scale.StartShrink(t, true) },
		func() bool { return scale.StartGrow(t, false) },
		func() bool { return scale.StartShrink(t, false) },
		func() bool { return volume.StartDisks(t, false) },
		func() bool { return rollout.StartRestart(t) },
		func() bool { return scale.StartRemove(t) },
		func() bool { return volume.StartFewer(t) },
		func() bool { return scale.StartReplace(t, false) },
	} {
		if begins(t, due) {
			return
		}
	}
}

// begins reports whether an operation is due. It does not begin where it would take down nodes of one more cluster than may
// be at a time, where a newer snapshot comes first, or while tables are being restored.
func begins(t *pass.Pass, due func() bool) bool {
	before, decision := t.Record, t.Decision
	if !due() {
		return false
	}
	op := t.Record.Operation
	if before.Operation != nil || op == nil {
		return true
	}
	reason, most := view.DisruptedWait(&t.View)
	switch {
	case most && op.Disrupts():
		t.Record, t.Decision = before, decision
		t.Wait(reason)
	case backup.TooOld(t, op.Kind): // a drill goes on where that snapshot fails
		t.Record, t.Decision = before, decision
		backup.First(t, op.Kind)
	case fetch.InTheWay(t):
		t.Record, t.Decision = before, decision
		fetch.GivesWay(t, op.Kind)
	default:
		backup.Later(t)
	}
	return true
}

func continueOperation(t *pass.Pass) {
	scale.Grow(t)
	scale.Shrink(t)
	lifecycle.Suspend(t)
	if !scale.TakesOver(t) {
		rollout.Restart(t)
	}
	volume.Expand(t)
}
