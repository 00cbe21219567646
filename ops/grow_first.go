package ops

import "slices"

// growsFirst: a table wants more copies than there are data nodes, and nodes that
// are wanted give it room. An upgrade waits for green, and so do masters that leave, and
// would wait for ever, so they come before them.
func (t *turn) growsFirst() bool {
	if !t.o.Database.TablesKnown {
		return false
	}
	present, wanted, more := 0, 0, false
	for _, s := range t.r.Sets {
		if t.data(s) {
			present += s.Replicas
		}
	}
	for _, w := range t.d.Sets {
		if w.Data {
			wanted += w.Replicas
			s := recorded(t.r.Sets, w.Name)
			more = more || s == nil || w.Replicas > s.Replicas
		}
	}
	for i := range t.o.Database.Tables {
		if lower, _, ok := bounds(t.o.Database.Tables[i].Replicas); ok && more && lower >= present && lower < wanted {
			return true
		}
	}
	return false
}

// needsNodesFirst: a table wants more copies than there are to be nodes after a drain, and
// nodes that are wanted by now give it room: one that was made midway, before they were.
// The drain would wait for its copies for ever.
func (t *turn) needsNodesFirst() bool {
	if !t.o.Database.TablesKnown {
		return false
	}
	remaining, wanted := 0, 0
	for _, s := range t.r.Sets {
		if t.data(s) {
			remaining += min(s.Replicas, t.target(s.Name))
		}
	}
	for _, w := range t.d.Sets {
		if w.Data {
			wanted += w.Replicas
		}
	}
	return slices.ContainsFunc(t.o.Database.Tables, func(table Table) bool {
		lower, _, ok := bounds(table.Replicas)
		return ok && lower >= remaining && lower < wanted
	})
}

// letsIn: between two pods a restart or an upgrade makes room for nodes that come, or go,
// and for which it would wait in vain. It is begun again after them.
func (t *turn) letsIn() bool {
	return t.unequal() && !t.blocked && t.r.Hold == nil && (t.growsFirst() || t.shrinksFirst()) && !t.unprovenPods(t.r.Operation.Restart.Set)
}

// takesBack: a restart has stopped on a template that pods are on and none has joined on,
// and what is wanted by now is of another version. That comes by an upgrade, which waits for
// the pod: so the set goes back to what it ran before.
func (t *turn) takesBack(set string) bool {
	op := t.r.Operation
	return op.Kind == OperationRestart && op.Restart.Remembered != "" && (op.Step != StepNext || t.hangsOnLive(set)) && op.Step != StepHold &&
		t.pendingRestart(set) && t.upgradeDue() && t.unprovenPods(set) && !t.readyOnLive(set)
}

// hangsOnLive: a pod of the set does not run on its live template.
func (t *turn) hangsOnLive(set string) bool {
	live := t.live(set)
	return live != nil && t.anyPod(func(p *Pod) bool {
		return p.Set == set && p.Template == live.Template && !p.Ready && !p.Terminating && (fails(p) || t.elapsed(p.Created) > t.podLimit())
	})
}

// backFirst: the set's new template is on no pod yet, and others come first. It goes
// back until its turn comes again: what is made meanwhile would stand on it too. Not to
// what no pod of it runs any more: the first one has joined on a template in between. Nor
// where none of those that were made on what it had is a node: what is wanted is their cure,
// and would come and go for ever.
func (t *turn) backFirst(r *Restart) bool {
	live, s := t.live(r.Set), recorded(t.r.Sets, r.Set)
	if r.Remembered == "" || live == nil || s == nil || live.Template == r.Remembered {
		return false
	}
	runs, cure := false, t.wanted(r.Set) != nil && !t.upgradeDue()
	for ordinal := range s.Replicas {
		p := t.pod(r.Set, ordinal)
		if p == nil || p.Terminating || p.Template == live.Template {
			return false
		}
		runs = runs || p.Template == r.Remembered && (!cure || t.joined(p) || !t.contact() && p.Ready)
	}
	if runs {
		t.undo = r.Set
	}
	return runs
}

// nothingBefore: no template is remembered that the set could go back to.
func (t *turn) nothingBefore(r *Restart) bool {
	live := t.live(r.Set)
	return r.Remembered == "" || live != nil && live.Template == r.Remembered
}

// growHangs: nodes do not run on their template, all others are well, and what is wanted
// by now is of another version. That comes by an upgrade, before which no other nodes
// are to come or to go.
func (t *turn) growHangs(op *Operation) bool {
	return t.contact() && !t.blocked && !t.parked && t.upgradeDue() && !(t.unequal() && (t.growsFirst() || t.shrinksFirst())) && t.onlyHang(op.To)
}

// onlyHang: of these some do not run on their template, for which another is wanted, and
// all others have joined.
func (t *turn) onlyHang(sets []RecordedSet) bool {
	hangs := false
	for _, s := range sets {
		for ordinal := range s.Replicas {
			p := t.pod(s.Name, ordinal)
			switch {
			case p == nil || p.Terminating:
				return false
			case t.joined(p):
			case p.Ready || !t.absent(p.NodeName) || !t.pendingRestart(s.Name) || !fails(p) && t.elapsed(p.Created) <= t.podLimit():
				return false
			default:
				hangs = true
			}
		}
	}
	return hangs
}

// upgradeCures: what the set of a restart ran before was lost with the record, and what
// is wanted by now is of another version: only an upgrade brings that.
func (t *turn) upgradeCures(op *Operation) bool {
	return op.Kind == OperationRestart && t.upgradeDue() && !t.blocked && (t.r.Hold == nil || !t.led()) && t.nothingBefore(op.Restart)
}
