package scale

import (
	"fmt"
	"slices"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// addedSets are the recorded sets and the new ones of the definition, in the order of
// Desired.Sets; those that are no longer desired stand last.
func addedSets(v *view.View) []model.RecordedSet {
	var out []model.RecordedSet
	for _, w := range v.Desired.Sets {
		if s := view.Recorded(v.Record.Sets, w.Name); s != nil {
			out = append(out, *s)
		} else if w.Data {
			out = append(out, model.RecordedSet{Name: w.Name, Group: w.Group})
		}
	}
	for _, s := range v.Record.Sets {
		if v.DesiredSet(s.Name) == nil {
			out = append(out, s)
		}
	}
	return out
}

// removeSet is the last step of a group that is gone from the definition: its
// StatefulSet is deleted once it is empty, its claims stay.
func removeSet(t *pass.Pass, op *model.Operation) {
	sh := op.Shrink
	live := t.Live(sh.Set)
	switch {
	case t.DesiredSet(sh.Set) != nil, aim.DrainStops(&t.View):
		sh.Set, op.Step = "", model.StepNext
		return
	case live == nil:
		name := sh.Set
		t.Record.Sets = slices.DeleteFunc(slices.Clone(t.Record.Sets), func(s model.RecordedSet) bool { return s.Name == name })
		sh.Set, op.Step = "", model.StepNext
		return
	case live.Replicas > 0:
		t.Wait(gates.ReplicasLive(sh.Set, live.Replicas, 0)) // somebody has raised it
		return
	}
	for p := range model.Each(t.Observed.Pods) {
		if p.Set == sh.Set {
			t.Wait(gates.NodesGone("pod " + p.Name))
			return
		}
	}
	if live.Current > 0 { // its controller has not counted them yet
		t.Wait(gates.NodesGone(fmt.Sprintf("StatefulSet %s, whose controller counts %s,", live.Name, aim.NumberOf(live.Current, "pod"))))
		return
	}
	t.Decision.Disruptive = &model.Action{Kind: model.ActionDeleteSet, Set: live.Name, SetUID: live.UID, SetVersion: live.ResourceVersion}
}

// recoverDue notes that a pod waits, after a full outage, for more data nodes than there are,
// and the template of its set no longer does.
func recoverDue(t *pass.Pass) {
	t.Record.RecoverDue = t.AnyPod(func(p *model.Pod) bool { return view.WaitsForTooMany(&t.View, p) })
}

// growRolledBack reports whether fewer nodes are desired by now than are being added, or were for a while in which nothing
// else was done: a group of which nothing was made is forgotten then.
func growRolledBack(v *view.View, op *model.Operation) bool {
	return !v.Rejected && slices.ContainsFunc(op.To, func(s model.RecordedSet) bool {
		before := view.Recorded(op.From, s.Name)
		adds := before == nil || before.Replicas < s.Replicas
		return adds && (view.Target(v, s.Name) < s.Replicas || view.Recorded(v.Record.Sets, s.Name) == nil)
	})
}
