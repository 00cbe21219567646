package ops

import "slices"

// isCurable: a pod that is not ready, and that is no member as far as anybody
// knows. The only node that may vote takes the contact with it when it hangs, and
// so may the one that is being restarted.
func (t *turn) isCurable(p *Pod) bool {
	if p.Waiting != "" || t.contact() && !t.member(p.NodeName) {
		return true
	}
	if t.restarting() && t.r.Operation.Restart.Pod == p.Name && t.r.Operation.Restart.PodUID != p.UID {
		return true
	}
	voters, votes := 0, false
	for _, s := range t.r.Sets {
		if w := t.wanted(s.Name); w != nil && w.MasterEligible {
			voters += s.Replicas
			votes = votes || s.Name == p.Set
		}
	}
	return votes && voters == 1
}

// mends names a set whose live template does not run: a pod of it fails, and what
// is wanted is another. That one goes in whatever else is under way, for a node
// that hangs may be what everything else waits for. "" for none.
func (t *turn) mends() string {
	turn := ""
	if t.restarting() {
		turn = t.r.Operation.Restart.Set
	}
	// Another version comes by an upgrade only, and a new template to one set.
	if t.blocked || t.parked || t.upgradeDue() && !t.upgrading() || turn != "" && t.r.Operation.Step == StepStopped {
		return ""
	}
	for i := range t.o.Pods {
		p := &t.o.Pods[i]
		live := t.live(p.Set)
		if p.Ready || p.Terminating || live == nil || p.Template != live.Template || !t.pendingRestart(p.Set) || turn != "" && turn != p.Set && (t.pendingRestart(turn) || !t.joinedOnLive(turn)) {
			continue
		}
		if (fails(p) || t.elapsed(p.Created) > t.podLimit()) && t.isCurable(p) {
			return p.Set
		}
	}
	return ""
}

// joinedOnLive: a pod of the set has joined on its live template.
func (t *turn) joinedOnLive(set string) bool {
	live := t.live(set)
	for i := range t.o.Pods {
		if p := &t.o.Pods[i]; live != nil && p.Set == set && p.Template == live.Template && t.joined(p) {
			return true
		}
	}
	return false
}

// unprovenPods: pods of the set are on its live template, and none has joined.
func (t *turn) unprovenPods(set string) bool {
	live := t.live(set)
	return live != nil && !t.joinedOnLive(set) &&
		slices.ContainsFunc(t.o.Pods, func(p Pod) bool { return p.Set == set && p.Template == live.Template })
}

// takesDown: a pod is about to go, or is away.
func (t *turn) takesDown() bool {
	return t.restarting() && (t.r.Operation.Step == StepHold || t.r.Operation.Step == StepDown)
}

// budgetOpen: a budget would let another pod go meanwhile.
func (t *turn) budgetOpen() bool {
	return slices.ContainsFunc(t.o.Budgets, func(b ObservedBudget) bool { return b.MaxUnavailable != 0 })
}

// fails: its container does not start or does not stay; one that is being made
// waits too.
func fails(p *Pod) bool {
	return p.Waiting != "" && p.Waiting != "ContainerCreating" && p.Waiting != "PodInitializing"
}
