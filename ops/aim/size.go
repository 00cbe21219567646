package aim

import (
	"slices"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// Eligible reports whether the nodes of a set are master-eligible, by the definition, by the
// live template or, where neither says so, by the record.
func Eligible(v *view.View, s model.RecordedSet) bool {
	if w := v.DesiredSet(s.Name); w != nil && w.MasterEligible {
		return true
	}
	if live := v.Live(s.Name); live != nil && live.MasterEligible {
		return true
	}
	return !view.Data(v, s) || v.Record.Pins.MasterGroup == s.Group
}

// ForgetUncreated drops a new group that is no longer desired and of which nothing was ever made, by
// a grow or with the whole cluster.
func ForgetUncreated(t *pass.Pass) {
	making := view.Founding(&t.View)
	if t.Desired.Removed || !t.Record.Operation.Is(model.OperationGrow) && !making {
		return
	}
	t.Record.Sets = slices.DeleteFunc(slices.Clone(t.Record.Sets), func(s model.RecordedSet) bool {
		if t.DesiredSet(s.Name) != nil || !Added(&t.View, s.Name) && (!making || Eligible(&t.View, s)) {
			return false
		}
		return Unmade(&t.Observed, s.Name) && !t.AnyPod(func(p *model.Pod) bool { return p.Set == s.Name })
	})
}

// Added reports whether the grow that is under way makes this set.
func Added(v *view.View, set string) bool {
	if !v.Record.Operation.Is(model.OperationGrow) {
		return false
	}
	s := view.Recorded(v.Record.Operation.From, set)
	return s == nil || s.Replicas == 0
}

// Replicas is how many replicas a set is applied with, never fewer than are live: nodes that
// others added may hold shards. If a StatefulSet was deleted and left its pods, those pods are
// what is live: recreated with fewer, it would end the others.
func Replicas(v *view.View, s model.RecordedSet) int {
	if live := v.Live(s.Name); live != nil {
		if live.Ours {
			return max(s.Replicas, live.Replicas)
		}
		return s.Replicas
	}
	pods := 0
	if op := v.Record.Operation; op != nil && op.Recreation != nil && op.Recreation.Set == s.Name {
		pods = op.Recreation.Pods // one of them may be what it is recreated for
	}
	return max(s.Replicas, Orphans(v, s.Name), pods)
}

// Present are the recorded sets with the nodes that others have added since: those are on
// their way, or hold shards already.
func Present(v *view.View) []model.RecordedSet {
	out := slices.Clone(v.Record.Sets)
	for i := range out {
		out[i].Replicas = Replicas(v, out[i])
	}
	return out
}

// LiveReplicas are those of a StatefulSet; 0 where it is gone, until it is recreated.
func LiveReplicas(v *view.View, set string) int {
	if live := v.Live(set); live != nil {
		return live.Replicas
	}
	return 0
}

// Orphans is how many replicas a StatefulSet needs that takes in all pods of this name: one
// more than the highest ordinal, 0 without a pod.
func Orphans(v *view.View, set string) int {
	n := 0
	for p := range view.PodsOf(v, set) {
		n = max(n, p.Ordinal+1)
	}
	return n
}

// Shrinking reports whether a shrink is under way.
func Shrinking(v *view.View) bool {
	return v.Record.Operation != nil && v.Record.Operation.Shrink != nil
}

// ShrinkDue reports whether nodes are to leave a cluster that was made.
func ShrinkDue(d *model.Desired, r *model.Record) bool {
	if !r.Bootstrap.Done || d.Removed {
		return false
	}
	if r.Operation != nil && r.Operation.Shrink != nil {
		return true
	}
	return slices.ContainsFunc(r.Sets, func(s model.RecordedSet) bool {
		w := model.Find(d.Sets, func(w *model.Set) bool { return w.Name == s.Name })
		return w == nil || w.Replicas < s.Replicas
	})
}

// EndShrink takes back an intent that was not carried out: the set is recorded as large as it
// is live, without what somebody has added by hand: a definition has to ask for that.
func EndShrink(t *pass.Pass) {
	if !Shrinking(&t.View) || t.Record.Operation.Shrink.Set == "" {
		return
	}
	name, sh := t.Record.Operation.Shrink.Set, t.Record.Operation.Shrink
	live := t.Live(name)
	if live == nil || !live.Ours {
		return
	}
	back := live.Replicas
	if back > sh.From {
		back = sh.Before
	}
	SetReplicas(t, name, max(RecordedReplicas(&t.View, name), back))
}

// RecordedReplicas is how many replicas a set has in the record; 0 of one that is not there.
func RecordedReplicas(v *view.View, set string) int {
	if s := view.Recorded(v.Record.Sets, set); s != nil {
		return s.Replicas
	}
	return 0
}

// SetReplicas records how many replicas a set has.
func SetReplicas(t *pass.Pass, set string, n int) {
	t.Record.Sets = slices.Clone(t.Record.Sets)
	for i := range t.Record.Sets {
		if t.Record.Sets[i].Name == set {
			t.Record.Sets[i].Replicas = n
		}
	}
}
