package ops

import "stevedore.dev/stevedore/ops/gates"

// start begins the one operation that is due next. A cluster that is to stand
// still does nothing else, nor does one that has not been resumed. Otherwise what
// is wanted in one revision is done at the present size first, then masters, then
// nodes that come, then nodes that go, then what is left to be restarted; only nodes
// without which the cluster will never be green come before all, and those for which an
// upgrade would wait for ever go before it. Each beginning says whether it is due:
// nothing behind one that is due begins before it has ended, though it has to wait.
func (t *turn) start() {
	t.yield()
	if t.blocked || t.r.Operation != nil || !t.r.Bootstrap.Done {
		return
	}
	// What stands still is started first: exclusions are given back with contact only.
	if t.startResume() {
		return
	}
	if x := t.r.Exclusions; x != nil {
		t.wait(gates.ExclusionsReturn(x.Set, len(listed(x.IDs))))
		return
	}
	for _, due := range []func() bool{
		t.startSuspend,
		func() bool { return t.growsFirst() && t.startGrow(false) },
		func() bool {
			return t.upgradeDue() && t.shrinksFirst() && (t.needsNodesFirst() && t.startGrow(false) || t.startShrink(false))
		},
		t.startUpgrade,
		func() bool { return t.startGrow(true) },
		func() bool { return len(t.toShrink(true)) > 0 && t.needsNodesFirst() && t.startGrow(false) },
		func() bool { return t.startShrink(true) },
		func() bool { return t.startGrow(false) },
		func() bool { return t.startShrink(false) },
		t.startRestart,
	} {
		if due() {
			return
		}
	}
}

// work takes the operation that is under way a step further.
func (t *turn) work() {
	t.grow()
	t.shrink()
	t.suspend()
	t.restart()
}
