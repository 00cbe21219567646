package ops

import (
	"stevedore.dev/stevedore/ops/gates"
)

// unproven is a pod that runs its set's template and has not joined, where no
// other one of the set has joined on it.
func (t *turn) unproven(set string) *Pod {
	live, s := t.live(set), recorded(t.r.Sets, set)
	var found *Pod
	for i := range t.o.Pods {
		p := &t.o.Pods[i]
		if p.Set != set || s == nil || p.Ordinal >= s.Replicas || live == nil || live.Template == "" || p.Template != live.Template || p.Terminating {
			continue
		}
		if t.joined(p) {
			return nil
		}
		if found == nil || p.Ordinal < found.Ordinal {
			found = p
		}
	}
	if p := t.firstOutdated(set); p == nil || p.Template == live.Template {
		return nil
	}
	return found
}

// comesBack: when the restart took its first pod down, this one was well on the
// template before, and it starts on it by itself again. The new one has to be proven
// before another pod is put on it: if it does not run, this is the one that is left.
func (t *turn) comesBack(p *Pod, live *ObservedSet) bool {
	if !t.restarting() || t.r.Operation.Step != StepDown {
		return false
	}
	r := t.r.Operation.Restart
	return r.Set == p.Set && r.PodUID != "" && r.Pod != p.Name && p.Template == r.Template && p.Template != live.Template && !t.joinedOnLive(p.Set)
}

// tried: another pod of the set is the first on its live template, and still has time
// to come up. A cluster that is being made or resumed may need both of them.
func (t *turn) tried(p *Pod, live *ObservedSet) bool {
	if t.comesUp() || t.restarting() && t.r.Operation.Restart.Pod == p.Name || p.Template == live.Template || t.joinedOnLive(p.Set) || t.readyOnLive(p.Set) {
		return false
	}
	return t.anyPod(func(q *Pod) bool {
		return q.Set == p.Set && q.Name != p.Name && q.Template == live.Template && t.elapsed(q.Created) <= t.podLimit()
	})
}

// hangsInBootstrap: a cluster that is being made does not come up on its first
// template, and has another by now.
func (t *turn) hangsInBootstrap() bool { return len(t.r.Sets) > 0 && !t.unstarted() }

// cure makes a pod anew that does not run and whose template is not its set's any
// more, whatever the health: that is how a bad definition is repaired. One at a
// time, and never one that may be a member. What plainly does not run goes before one
// whose process does: that may be well, and wait for it.
func (t *turn) cure() {
	if !t.r.Bootstrap.Done && !t.hangsInBootstrap() || t.blocked || t.d2.Disruptive != nil ||
		t.restarting() && t.r.Operation.Step == StepStopped ||
		!t.applied() || !t.o.Applied.Effective.Equal(t.d2.Effective) {
		return
	}
	t.recoverPod()
	if t.d2.Disruptive != nil {
		return
	}
	var found *Pod
	for i := range t.o.Pods {
		p := &t.o.Pods[i]
		if p.Terminating {
			return
		}
		live := t.live(p.Set)
		if found != nil && (processRuns(p) || !processRuns(found)) || p.Ready || live == nil || !live.Ours || live.ObservedGeneration != live.Generation ||
			live.Template == "" || p.Template == "" || p.Template == live.Template && (p.Settings == live.Settings || p.Waiting == "") ||
			t.wouldGoBack(p, live) || t.anotherFirst(p) || t.comesBack(p, live) || t.tried(p, live) {
			continue
		}
		if t.isCurable(p) {
			found = p
		}
		if found == p && t.restarting() && t.r.Operation.Restart.Set == p.Set {
			// The restart waits for its own pod.
			if own := t.named(t.r.Operation.Restart.Pod); own != nil && own.Set == p.Set && (processRuns(p) || !processRuns(own)) && !own.Ready && !own.Terminating && own.Template != live.Template && own.Template != "" && !t.wouldGoBack(own, live) && t.isCurable(own) {
				found = own
			}
		}
	}
	if found != nil {
		t.noteFirst(found)
		t.d2.Disruptive = &Action{Kind: ActionCurePod, Pod: found.Name, PodUID: found.UID}
		if processRuns(found) {
			// It may be joining this moment.
			t.askFirst(t.d2.Disruptive, found)
		}
		if live := t.live(found.Set); found.Started.IsZero() && live.Version != "" && gates.CompareMinor(found.Version, live.Version) > 0 {
			// It goes back to an older version, and only as long as the newer one has
			// not started: that is looked at right before.
			t.d2.Disruptive.Kind = ActionRecreatePod
		}
	}
}

// askFirst lets the executor ask another node whether the one in the pod has joined
// meanwhile; where none can be asked, that node itself whether it lets `system` in.
func (t *turn) askFirst(a *Action, p *Pod) {
	ask := t.sqlPod()
	switch secret := t.secret(t.systemSecret()); {
	case t.contact() && ask != "":
		a.Ask, a.NodeNames, a.Led = ask, p.NodeName, t.led()
	case secret.has(SystemKey):
		a.Ask = p.Name
	default:
		return
	}
	a.SystemSecret = t.systemSecret()
}
