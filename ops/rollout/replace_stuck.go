package rollout

import (
	"cmp"
	"slices"

	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// returnsByItself reports whether this pod starts again by itself on the template before: it was well
// on that when the restart took its first pod down. The new template has to be verified before
// another pod is put on it: if it does not run, this pod is the one that is left.
func returnsByItself(v *view.View, p *model.Pod, live *model.ObservedSet) bool {
	if !view.Restarting(v) || v.Record.Operation.Step != model.StepDown {
		return false
	}
	r := v.Record.Operation.Restart
	wasWell := r.PodUID != "" && p.Template == r.Template && p.Template != live.Template
	return wasWell && r.Set == p.Set && r.Pod != p.Name && !aim.JoinedOnLive(v, p.Set)
}

// otherStillTried reports whether another pod of the set is the first on its live template and still has
// time to come up. A cluster that is being made or resumed may need both of them.
func otherStillTried(v *view.View, p *model.Pod, live *model.ObservedSet) bool {
	switch {
	case view.ClusterStarts(v), view.Restarting(v) && v.Record.Operation.Restart.Pod == p.Name:
		return false
	case p.Template == live.Template, aim.JoinedOnLive(v, p.Set), aim.ReadyOnLive(v, p.Set):
		return false
	}
	return v.AnyPod(func(q *model.Pod) bool {
		return q.Set == p.Set && q.Name != p.Name && q.Template == live.Template && v.Elapsed(q.Created) <= view.PodLimit(v)
	})
}

// ReplaceStuck recreates a pod that does not run and whose template is not its set's any
// more, whatever the health: that is how a bad definition is repaired. One at a time, and
// never one that may be a member.
func ReplaceStuck(t *pass.Pass) {
	if !mayReplace(t) {
		return
	}
	if t.RecoverPod(); t.Decision.Disruptive != nil || view.Restarting(&t.View) && t.Record.Operation.Step == model.StepStopped {
		return // what has stopped waits for another definition, but for a gateway that waits for nodes
	}
	found := nextStuckPod(&t.View)
	if found == nil {
		sayKeptVolumes(t)
		return
	}
	replace(t, found, replacement(t, found))
}

// replace decides that the pod is recreated on its set's live template.
func replace(t *pass.Pass, p *model.Pod, a model.Action) {
	aim.NoteFirst(t, p)
	live := t.Live(p.Set)
	if older := live.Version != "" && gates.CompareMinor(p.Version, live.Version) > 0; p.Started.IsZero() && !a.LosesVolume && (older || a.Ask == "") {
		// It goes back to an older version, or nobody is asked whether its node has joined: only
		// as long as CrateDB has not started in it, which is looked at right before.
		a.Kind = model.ActionRecreatePod
	}
	t.Decision.Disruptive = &a
}

// mayReplace: nothing else is about to go down, and what is decided is what is applied.
func mayReplace(t *pass.Pass) bool {
	switch v := &t.View; {
	case t.Rejected, t.Decision.Disruptive != nil:
		return false
	case view.AnyNarrow(v), slices.ContainsFunc(t.Decision.Effective.Sets, func(e model.EffectiveSet) bool { return e.Unused != "" }):
		return false // a pod that is made now comes without a disk
	case !t.Record.Bootstrap.Done && (len(t.Record.Sets) == 0 || aim.Unstarted(v)):
		return false // once CrateDB has started, a pod that is stuck on its first template may be replaced
	}
	return aim.Applied(&t.View) && t.Observed.Applied.Effective.Equal(t.Decision.Effective)
}

// nextStuckPod is the pod that is replaced next; nil for none. One that stayed when it was asked last
// comes after all others: it may be well, and wait for them.
func nextStuckPod(v *view.View) *model.Pod {
	stayed := func(p *model.Pod) bool {
		return model.Any(v.Observed.Failures, func(f *model.Failure) bool {
			return f.Action.Kind == model.ActionReplaceStuckPod && f.Action.PodUID == p.UID && f.Action.Ask != ""
		})
	}
	return cmp.Or(stuckPodBut(v, stayed), stuckPodBut(v, func(*model.Pod) bool { return false }))
}

// stuckPodBut is the stuck pod that goes first, but for these; nil also while one is on its way out.
// What plainly does not run goes before one whose process does: that may be well, and wait for
// it. And a restart waits for its own pod.
func stuckPodBut(v *view.View, but func(*model.Pod) bool) *model.Pod {
	var found *model.Pod
	for p := range model.Each(v.Observed.Pods) {
		if p.Terminating {
			return nil
		}
		if found != nil && !runsLess(p, found) || but(p) || !recreationHelps(v, p) {
			continue
		}
		found = p
		if own := restartedPod(v, p); own != nil && !but(own) {
			found = own
		}
	}
	return found
}

// runsLess reports whether the process does not run in the one pod, and may run in the other.
func runsLess(p, other *model.Pod) bool { return !view.ProcessRuns(p) && view.ProcessRuns(other) }

// recreationHelps: the pod does not run, is no member, and comes up on another template when it is
// recreated.
func recreationHelps(v *view.View, p *model.Pod) bool {
	live := v.Live(p.Set)
	if p.Template == "" || staysAnyhow(v, p) != "" || !onAnother(v, p, live) {
		return false
	}
	if aim.WaitsForOtherTrial(v, p) || returnsByItself(v, p, live) || otherStillTried(v, p, live) {
		return false
	}
	_, kept := claimKeeps(v, p)
	return kept == "" && view.Replaceable(v, p)
}

// onAnother: the pod would come up with what it lacks: another template, other settings where it does not
// start, or a disk.
func onAnother(v *view.View, p *model.Pod, live *model.ObservedSet) bool {
	return p.Template != live.Template || p.Settings != live.Settings && p.Waiting != "" || len(view.LacksUse(v, p)) > 0
}

// templateSeen: the StatefulSet is ours, and its controller has seen the template.
func templateSeen(live *model.ObservedSet) bool {
	return live != nil && live.Ours && live.ObservedGeneration == live.Generation && live.Template != ""
}

// restartedPod is the pod that a restart of the same set waits for, if that is stuck too and
// no worse to take than this one.
func restartedPod(v *view.View, p *model.Pod) *model.Pod {
	if !view.Restarting(v) || v.Record.Operation.Restart.Set != p.Set {
		return nil
	}
	own := view.PodNamed(v, v.Record.Operation.Restart.Pod)
	if own == nil || own.Set != p.Set || runsLess(p, own) || !recreationHelps(v, own) {
		return nil
	}
	return own
}

// replacement recreates a pod. The executor asks another node whether the one in the pod has joined meanwhile: also where the
// process does not run as far as a watch shows. Where no other node can be asked, it asks that one itself whether it accepts
// the login of `system`, if its process runs. If a volume goes with the pod, it looks once more whether everything is there
// without that.
func replacement(t *pass.Pass, p *model.Pod) model.Action {
	a := model.Action{Kind: model.ActionReplaceStuckPod, Pod: p.Name, PodUID: p.UID}
	if view.DeletedClaim(&t.View, p) != nil {
		a.LosesVolume, a.Whole = true, t.Observed.Database.AsHealthy()
	}
	ask, secret := t.SQLPod(), t.Secret(t.SystemSecret())
	switch {
	case t.Contact() && ask != "":
		a.Ask, a.NodeNames, a.Led = ask, p.NodeName, view.HasMaster(&t.View)
	case (view.ProcessRuns(p) || a.LosesVolume) && secret.Has(access.SystemKey):
		a.Ask = p.Name
	default:
		return a
	}
	a.SystemSecret = t.SystemSecret()
	return a
}
