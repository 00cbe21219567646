package ops

import (
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/rollout"
	"stevedore.dev/stevedore/ops/scale"
	"stevedore.dev/stevedore/ops/view"
)

// start begins the one operation that is due next. A cluster that is to stand
// still does nothing else, nor does one that has not been resumed. Otherwise what
// is wanted in one revision is done at the present size first, then masters, then
// nodes that come, then nodes that go, then what is left to be restarted; only nodes
// without which the cluster will never be green come before all, and those for which an
// upgrade would wait for ever go before it. Each beginning says whether it is due:
// nothing behind one that is due begins before it has ended, though it has to wait.
func start(t *pass.Pass) {
	lifecycle.Yield(t)
	if t.Rejected || t.Record.Operation != nil || !t.Record.Bootstrap.Done {
		return
	}
	// What stands still is started first: exclusions are given back with contact only.
	if lifecycle.StartResume(t) {
		return
	}
	if x := t.Record.Exclusions; x != nil {
		t.Wait(gates.ExclusionsReturn(x.Set, len(model.Listed(x.IDs))))
		return
	}
	for _, due := range []func() bool{
		func() bool { return lifecycle.StartSuspend(t) },
		func() bool { return aim.GrowsFirst(&t.View) && scale.StartGrow(t, false) },
		func() bool {
			return aim.UpgradeDue(&t.View) && view.ShrinksFirst(&t.View) && (scale.NeedsNodesFirst(&t.View) && scale.StartGrow(t, false) || scale.StartShrink(t, false))
		},
		func() bool { return rollout.StartUpgrade(t) },
		func() bool { return scale.StartGrow(t, true) },
		func() bool {
			return len(scale.ToShrink(&t.View, true)) > 0 && scale.NeedsNodesFirst(&t.View) && scale.StartGrow(t, false)
		},
		func() bool { return scale.StartShrink(t, true) },
		func() bool { return scale.StartGrow(t, false) },
		func() bool { return scale.StartShrink(t, false) },
		func() bool { return rollout.StartRestart(t) },
	} {
		if due() {
			return
		}
	}
}

// work takes the operation that is under way a step further.
func work(t *pass.Pass) {
	scale.Grow(t)
	scale.Shrink(t)
	lifecycle.Suspend(t)
	rollout.Restart(t)
}
