package ops

import (
	"slices"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/render/definition"
)

// data says whether a set carries data; eligible whether its nodes vote.
func (t *turn) data(s RecordedSet) bool {
	if w := t.wanted(s.Name); w != nil {
		return w.Data
	}
	return s.Group != names.MasterGroup || t.r.Pins.MasterGroup == names.MasterGroup
}

func (t *turn) eligible(s RecordedSet) bool {
	if w := t.wanted(s.Name); w != nil && w.MasterEligible {
		return true
	}
	if live := t.live(s.Name); live != nil && live.MasterEligible {
		return true
	}
	return !t.data(s) || t.r.Pins.MasterGroup == s.Group
}

// refuseSets names what is never done with groups, or not without consent.
func (t *turn) refuseSets() {
	for _, s := range t.r.Sets {
		w := t.wanted(s.Name)
		switch {
		case w == nil && t.eligible(s):
			t.refusal(gates.MasterGroupStays(s.Group, s.Replicas))
		case w == nil && !t.d.Operations.Has(definition.ConsentRemoveGroup):
			t.refusal(gates.GroupRemoval(s.Group, s.Replicas))
		case w != nil && w.Replicas < s.Replicas && t.eligible(s):
			if reason, refused := gates.MasterQuorum(s.Group, w.Dedicated, s.Replicas, w.Replicas, t.d.Operations.Has(definition.ConsentTwoMasters)); refused {
				t.refusal(reason)
			}
		}
	}
	for _, w := range t.d.Sets {
		if recorded(t.r.Sets, w.Name) == nil && w.Dedicated {
			t.refusal(gates.NewMasters())
		}
	}
	t.refuseClasses(func(set string) bool { return recorded(t.r.Sets, set) == nil })
}

// uncreated drops a new group that is wanted no longer and of which nothing was
// ever made, by a grow or with the whole cluster.
func (t *turn) uncreated() {
	making := t.bootstrapping() && t.r.ClusterID == ""
	if t.d.Removed || !t.growing() && !making {
		return
	}
	t.r.Sets = slices.DeleteFunc(slices.Clone(t.r.Sets), func(s RecordedSet) bool {
		if t.wanted(s.Name) != nil || t.live(s.Name) != nil || !t.added(s.Name) && (!making || t.eligible(s)) {
			return false
		}
		for i := range t.o.Claims {
			if t.o.Claims[i].Set == s.Name {
				return false
			}
		}
		for i := range t.o.Pods {
			if t.o.Pods[i].Set == s.Name {
				return false
			}
		}
		return true
	})
}

// added: the grow that is under way makes this set.
func (t *turn) added(set string) bool {
	if !t.growing() {
		return false
	}
	s := recorded(t.r.Operation.From, set)
	return s == nil || s.Replicas == 0
}

// addedSets are the recorded ones and those that are wanted and new, in the order
// of Desired.Sets; what is wanted no longer stands behind.
func (t *turn) addedSets() []RecordedSet {
	var out []RecordedSet
	for _, w := range t.d.Sets {
		if s := recorded(t.r.Sets, w.Name); s != nil {
			out = append(out, *s)
		} else if w.Data {
			out = append(out, RecordedSet{Name: w.Name, Group: w.Group})
		}
	}
	for _, s := range t.r.Sets {
		if t.wanted(s.Name) == nil {
			out = append(out, s)
		}
	}
	return out
}

// removeSet is the last step of a group that is gone from the definition: its
// StatefulSet is deleted once it is empty, its claims stay.
func (t *turn) removeSet(op *Operation) {
	sh := op.Shrink
	s, live := recorded(t.r.Sets, sh.Set), t.live(sh.Set)
	switch {
	case s == nil || t.wanted(sh.Set) != nil || t.blocked || t.parked || t.aborted():
		sh.Set, op.Step = "", StepNext
		return
	case live == nil:
		name := sh.Set
		t.r.Sets = slices.DeleteFunc(slices.Clone(t.r.Sets), func(s RecordedSet) bool { return s.Name == name })
		sh.Set, op.Step = "", StepNext
		return
	case live.Replicas > 0 || s.Replicas > 0:
		sh.Set, op.Step = "", StepNext // somebody raised it
		return
	}
	for i := range t.o.Pods {
		if p := &t.o.Pods[i]; p.Set == sh.Set {
			t.wait(gates.NodesGone("pod " + p.Name))
			return
		}
	}
	t.d2.Disruptive = &Action{Kind: ActionDeleteSet, Set: live.Name, SetUID: live.UID, SetVersion: live.ResourceVersion}
}

// recoverDue notes that a pod waits, after a full outage, for more data nodes
// than there are, which its set's template no longer says.
func (t *turn) recoverDue() {
	t.r.RecoverDue = t.anyPod(t.waitsForTooMany)
}

func (t *turn) waitsForTooMany(p *Pod) bool {
	live := t.live(p.Set)
	return p.RecoverAfter != 0 && live != nil && live.RecoverAfter != p.RecoverAfter && p.RecoverAfter > t.gatewayNodes()
}

// gatewayNodes are those that gateway.recover_after_data_nodes counts; of a cluster that is
// being made those that are wanted still.
func (t *turn) gatewayNodes() int {
	nodes := 0
	for _, s := range t.made() {
		if t.countsForGateway(s.Name) {
			nodes += s.Replicas
		}
	}
	return nodes
}

// countsForGateway: the setting counts nodes with data; before 4.7 it counts all.
func (t *turn) countsForGateway(set string) bool {
	s := recorded(t.r.Sets, set)
	return s != nil && (t.data(*s) || gates.Compare(t.r.Version, "4.7.0") < 0)
}

// growTakenBack: fewer nodes are wanted by now than are being added.
func (t *turn) growTakenBack(op *Operation) bool {
	return !t.blocked && slices.ContainsFunc(op.To, func(s RecordedSet) bool {
		before := recorded(op.From, s.Name)
		return (before == nil || before.Replicas < s.Replicas) && t.target(s.Name) < s.Replicas
	})
}
