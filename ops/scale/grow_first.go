package scale

import (
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

// NeedsNodesFirst reports whether a table wants more copies than there are to be nodes after a
// drain, and desired nodes give it room: it was made midway, before they were. The drain would
// wait for its copies for ever.
func NeedsNodesFirst(v *view.View) bool {
	remaining := 0
	for _, s := range v.Record.Sets {
		if view.Data(v, s) {
			remaining += min(s.Replicas, view.Target(v, s.Name))
		}
	}
	return aim.NeedsMore(v, remaining)
}

// RollsBack reports whether a set goes back to what it ran before: a restart has stopped on a
// template on trial, and another version is desired. That comes by an upgrade, which waits for
// the pod.
func RollsBack(v *view.View, set string) bool {
	op := v.Record.Operation
	switch {
	case op.Kind != model.OperationRestart, op.Restart.Remembered == "", op.Step == model.StepLock, op.Step == model.StepNext && !aim.StuckOnLive(v, set):
		return false
	}
	upgrade := view.PendingRestart(v, set) && aim.UpgradeDue(v)
	return upgrade && aim.TrialPods(v, set) && !aim.ReadyOnLive(v, set)
}

// growStuck reports whether nodes are stuck on their template, all others are well, and another
// version is desired. That comes by an upgrade, before which no other nodes are to come or to go.
func growStuck(v *view.View, op *model.Operation) bool {
	return upgradeNext(v) && aim.OnlyStuck(v, op.To)
}

// upgradeNext reports whether an upgrade begins as soon as no other operation is under way.
func upgradeNext(v *view.View) bool {
	if !v.Contact() || v.Rejected || v.Suspending || !aim.UpgradeDue(v) {
		return false
	}
	return !aim.SizeFirst(v)
}

// upgradeFirst reports whether a shrink waits for what only an upgrade brings: a node is stuck whose correction is of
// another version, or copies are missing that no older node may take from a newer one. A pod that is to leave and in
// which CrateDB never started is not waited for.
func upgradeFirst(v *view.View) bool {
	awaited := func(p *model.Pod) bool {
		return !p.Ready && (p.Ordinal < view.Target(v, p.Set) || !view.NeverStarted(v, p))
	}
	return upgradeNext(v) && (aim.OnlyStuck(v, aim.Present(v)) && v.AnyPod(awaited) || view.OnlyUpgradeMakesCopies(v))
}
