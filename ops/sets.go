package ops

import "slices"

// create makes the wanted sets effective when nothing was before.
func (t *turn) create() {
	if t.blocked {
		return
	}
	if len(t.r.Sets) == 0 {
		t.r.Sets = make([]RecordedSet, len(t.d.Sets))
		for i, w := range t.d.Sets {
			t.r.Sets[i] = RecordedSet{Name: w.Name, Group: w.Group, Replicas: w.Replicas}
		}
	}
	if t.bootstrapping() && t.r.ClusterID == "" {
		for _, s := range t.r.Sets {
			if s.Replicas == 0 {
				// The record was lost while none was wanted, and no node of it is there.
				t.setReplicas(s.Name, t.target(s.Name))
			}
		}
	}
	if !t.unequal() && !t.parked {
		t.r.ClusterName, t.r.TLS = t.d.ClusterName, t.d.TLS
		if t.r.Version == "" || t.unstarted() {
			t.r.Version = t.d.Version // any other is the end of an upgrade
		}
	}
}

// hold notes that the cluster is being made, with the time that bounds it.
func (t *turn) hold() {
	if op := t.r.Operation; op != nil && op.Started.After(t.now) {
		next := *op
		next.Started = t.now
		t.r.Operation = &next
	}
	if !t.r.Bootstrap.Done && t.r.Operation == nil && len(t.r.Sets) > 0 {
		t.r.Operation = &Operation{Kind: OperationBootstrap, Started: t.now, Revision: t.d.Revision}
	}
}

// keep holds the cluster to what it was, for a turn in which nothing is done.
func (t *turn) keep() {
	for _, s := range t.r.Sets {
		t.d2.Effective.Sets = append(t.d2.Effective.Sets, EffectiveSet{
			Name: s.Name, Replicas: t.replicas(s), Template: TemplateKept, Live: t.liveTemplate(s.Name), InitialMasters: t.initialMasters(s.Name), Suspended: t.suspendedNote(s.Name),
		})
	}
	t.d2.Effective.Budgets = t.r.Budgets
}

// replicas never goes below what is live: nodes that others added may hold
// shards. Of a StatefulSet that was deleted and left its pods, those pods are
// what is live: made again with fewer, it would end the others.
func (t *turn) replicas(s RecordedSet) int {
	if live := t.live(s.Name); live != nil {
		if live.Ours {
			return max(s.Replicas, live.Replicas)
		}
		return s.Replicas
	}
	n := s.Replicas
	for i := range t.o.Pods {
		if p := &t.o.Pods[i]; p.Set == s.Name {
			n = max(n, p.Ordinal+1)
		}
	}
	return n
}

// present are the recorded sets with the nodes that others have added since: those are on
// their way, or hold shards already.
func (t *turn) present() []RecordedSet {
	out := slices.Clone(t.r.Sets)
	for i := range out {
		out[i].Replicas = t.replicas(out[i])
	}
	return out
}

// initialMasters is true until the cluster id is recorded. A live template
// that has lost the setting never gets it back, though the record be lost: an
// empty node that finds only itself on the list founds a second cluster.
func (t *turn) initialMasters(set string) bool {
	if t.r.ClusterID != "" {
		return false
	}
	if live := t.live(set); live != nil {
		return live.InitialMasters
	}
	for i := range t.o.Claims {
		if c := &t.o.Claims[i]; c.Set != "" && c.ClusterID != "" {
			return false
		}
	}
	return true
}

// unequal is true while a set is to come, to go, to grow or to shrink and has not: the rendered gateway
// counts are for nodes that are not there, and a full outage would wait for
// them for ever.
func (t *turn) unequal() bool {
	for _, s := range t.r.Sets {
		if w := t.wanted(s.Name); w == nil || w.Replicas != s.Replicas {
			return true
		}
	}
	return len(t.r.Sets) != len(t.d.Sets)
}

// effective says what the cluster is held to.
func (t *turn) effective() {
	// An upgrade is made at the present size.
	present := t.restarting() && t.unequal()
	kept := t.blocked || t.parked || t.growing() || t.shrinking() || t.unequal() && !present || t.settingsFirst()
	t.noteProven()
	mends, settings, gateway := t.mends(), t.settingsAnnotation(), t.gatewayCounts()
	t.noteUnproven(mends)
	var some [6]EffectiveSet // of most clusters
	sets := some[:0]
	for _, s := range t.r.Sets {
		e := EffectiveSet{Name: s.Name, Replicas: t.replicas(s), Live: t.liveTemplate(s.Name), InitialMasters: t.initialMasters(s.Name), Suspended: t.suspendedNote(s.Name)}
		turn := t.restarting() && t.r.Operation.Restart.Set == s.Name
		e.Remember = turn
		if turn {
			t.remember(&e)
		}
		switch {
		case turn && t.r.Operation.Step == StepStopped && t.returns(s.Name):
			e.Template = TemplateBefore
		case turn && (t.takesBack(s.Name) || s.Name == t.undo):
			e.Template = TemplateBefore
		case t.wanted(s.Name) != nil && t.live(s.Name) == nil && (t.added(s.Name) || t.bootstrapping() && t.r.ClusterID == "" && !t.blocked):
			// A new group: there is nothing to keep. With the record lost it may have come
			// while the cluster is being made.
		case s.Name == mends:
			e.KeepGateway = kept || present
		case kept || t.wanted(s.Name) == nil, t.pendingRestart(s.Name) && (!turn || !t.upgrading() && t.upgradeDue() || t.othersFirst(s.Name) || t.upUnasked(s.Name) && (mends != "" || !t.silent())) && !t.unstarted():
			e.Template = TemplateKept
		default:
			e.KeepGateway = present
		}
		if h := t.r.Hold; h != nil && h.Set == s.Name {
			e.Hold = h.annotation()
		} else if x := t.r.Exclusions; x != nil && x.Set == s.Name {
			e.Hold = x.annotation()
		}
		e.Settings = settings
		if t.votes(s.Name) {
			e.Gateway = gateway
		}
		sets = append(sets, e)
	}
	for _, w := range t.d.Sets {
		if recorded(t.r.Sets, w.Name) == nil {
			sets = append(sets, EffectiveSet{Name: w.Name, Absent: true})
		}
	}
	if was := t.o.Applied.Effective.Sets; slices.Equal(sets, was) {
		t.d2.Effective.Sets = was // as in most turns
	} else {
		t.d2.Effective.Sets = slices.Clone(sets)
	}
	t.budgets()
	t.d2.Effective.Budgets = t.r.Budgets
}
