package aim

import (
	"slices"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// JoinedOnLive reports whether the node of a pod of the set has joined on its live template. That
// verifies it, though the pod may never be ready: CrateDB runs on it, and loses nothing by it.
func JoinedOnLive(v *view.View, set string) bool {
	live := v.Live(set)
	return live != nil && v.AnyPod(func(p *model.Pod) bool { return view.OnLive(p, live) && NodeJoined(v, p) })
}

// NodeJoined reports whether the node of the pod has joined, whether the pod is ready or not.
func NodeJoined(v *view.View, p *model.Pod) bool {
	return view.Joined(v, p) || view.JoinedNotReady(v, p)
}

// verifiedOn reports whether a node of the set has joined on the template, as far as the record says. After a
// release, or with a lost record, a set may be on a template that no pod has run: no set rolls back to that.
func verifiedOn(v *view.View, set, template string) bool {
	i := slices.IndexFunc(v.Record.Verified, func(p model.VerifiedTemplate) bool { return p.Set == set })
	return i < 0 || v.Record.Verified[i].Template == template
}

// NoteVerified records on which templates pods have joined or, where nobody can be asked, have
// become ready: a pod does once it has joined.
func NoteVerified(t *pass.Pass) {
	var some [8]model.VerifiedTemplate // in most clusters; kept only where it says something else than before
	next := some[:0]
	for _, s := range t.Record.Sets {
		live := t.Live(s.Name)
		i := slices.IndexFunc(t.Record.Verified, func(p model.VerifiedTemplate) bool { return p.Set == s.Name })
		switch {
		case live == nil && i >= 0: // it may be made again on a template that no pod has run
			next = append(next, t.Record.Verified[i])
			continue
		case live == nil, live.Template == "":
			continue
		}
		verified := model.VerifiedTemplate{Set: s.Name, Template: live.Template}
		if !JoinedOnLive(&t.View, s.Name) && !ReadyUnasked(&t.View, s.Name) {
			j := slices.IndexFunc(t.Observed.Pods, func(p model.Pod) bool {
				return p.Set == s.Name && p.Template != "" && joinedOrReady(&t.View, &p)
			})
			switch {
			case i >= 0:
				verified = t.Record.Verified[i]
			case j >= 0:
				verified.Template = t.Observed.Pods[j].Template // with the record lost midway
			default:
				continue
			}
		}
		next = append(next, verified)
	}
	if !slices.Equal(next, t.Record.Verified) {
		t.Record.Verified = slices.Clone(next)
	}
}

// joinedOrReady is NodeJoined or, where nobody can be asked, that the pod is ready.
func joinedOrReady(v *view.View, p *model.Pod) bool {
	return NodeJoined(v, p) || !v.Contact() && view.Serves(p)
}

// NoteTrial records which sets got a new template out of order: the one that rolls forward, a group that is being
// made, one whose pods an external change put on it, and each one while the cluster is made: one that has no node by its end
// stays on trial.
func NoteTrial(t *pass.Pass, forward string) {
	var next []string
	for _, s := range t.Record.Sets {
		onTrial := gotOutOfOrder(&t.View, s.Name) && !JoinedOnLive(&t.View, s.Name)
		if onTrial || s.Name == forward && view.PendingRestart(&t.View, s.Name) {
			next = append(next, s.Name)
		}
	}
	if !slices.Equal(next, t.Record.OnTrial) {
		t.Record.OnTrial = next
	}
}

// gotOutOfOrder reports whether a set got its template out of order, or may have.
func gotOutOfOrder(v *view.View, set string) bool {
	made := !v.Record.Bootstrap.Done || Added(v, set)
	return made || slices.Contains(v.Record.OnTrial, set) || restartOnTrial(v, set) || evictedOnto(v, set)
}

// NoteFirst records the same of a set whose pod is about to be the first on its template. If
// the record was lost after that was applied, nothing else knows it.
func NoteFirst(t *pass.Pass, p *model.Pod) {
	live := t.Live(p.Set)
	if p.Template != live.Template && !JoinedOnLive(&t.View, p.Set) && !slices.Contains(t.Record.OnTrial, p.Set) {
		t.Record.OnTrial = append(slices.Clone(t.Record.OnTrial), p.Set)
	}
}

// RebuildTrials finds the sets on trial after the record was lost: pods are on a template, or are
// being made on it, and none has joined; or the next pod that comes back, whatever a watch still
// shows of it, is the first on its template. What pods have joined on is noted at once: an eviction
// puts them on another template also while the cluster is paused, and that one is on trial then.
func RebuildTrials(t *pass.Pass) {
	for _, s := range t.Record.Sets {
		live := t.Live(s.Name)
		known := live != nil && live.Template != "" || ComesUntried(&t.View, s.Name)
		if !known || JoinedOnLive(&t.View, s.Name) {
			continue
		}
		away := t.AnyPod(func(p *model.Pod) bool { return p.Set == s.Name && !NodeJoined(&t.View, p) })
		if TrialPods(&t.View, s.Name) || view.HasMaster(&t.View) && away {
			t.Record.OnTrial = append(t.Record.OnTrial, s.Name)
		}
	}
	NoteVerified(t)
}

// restartOnTrial reports whether the set of the restart is on trial, also when the restart is aborted.
func restartOnTrial(v *view.View, set string) bool {
	if !view.Restarting(v) || v.Record.Operation.Restart.Set != set {
		return false
	}
	live, before := v.Live(set), v.Record.Operation.Restart.Remembered
	return live != nil && before != "" && live.Template != before && !JoinedOnLive(v, set)
}

// evictedOnto reports whether pods of the set have joined on another template than it has, and an
// external change put pods on the new one after its restart, before one of ours had joined on it.
func evictedOnto(v *view.View, set string) bool {
	live := v.Live(set)
	if !view.HasMaster(v) && slices.Contains(v.Record.OnTrial, set) {
		return false // we have given it that template, and what its node joins on is known once there is a master
	}
	return live != nil && TrialPods(v, set) && slices.ContainsFunc(v.Record.Verified, func(p model.VerifiedTemplate) bool { return p.Set == set && p.Template != live.Template })
}

// ComesUntried reports whether a StatefulSet is recreated on the desired template of which only pods are there, or only what
// its nodes have left: the record was lost while it was gone, and nobody knows any other. What its pods run may be another one.
func ComesUntried(v *view.View, set string) bool {
	known := v.Live(set) != nil || v.Record.Saved[set] != ""
	return !known && (Orphans(v, set) > 0 || HadNodes(v, set)) && v.DesiredSet(set) != nil
}

// HadNodes reports whether claims of a set carry data of this cluster, and nobody can be asked whether it has the nodes. The claim
// of one that has left says the same. Nobody may answer because these nodes are away, and nothing else makes their pods.
func HadNodes(v *view.View, set string) bool {
	id := v.Record.ClusterID
	return !v.Contact() && id != "" && model.Any(v.Observed.Claims, func(c *model.Claim) bool { return c.Set == set && c.ClusterID == id })
}

// TrialPods reports whether the set is on trial: pods are on its live template, or are being
// made on it, and none has joined, now or before. A pod that is away comes back on what it ran.
func TrialPods(v *view.View, set string) bool {
	live, s := v.Live(set), view.Recorded(v.Record.Sets, set)
	if live == nil {
		return ComesUntried(v, set) || slices.Contains(v.Record.OnTrial, set) // that it is away from its pods verifies nothing
	}
	if s == nil || JoinedOnLive(v, set) || view.JoinedBefore(v, set, live.Template) {
		return false
	}
	for ordinal := range Replicas(v, *s) {
		if p := v.Pod(set, ordinal); p == nil || p.Terminating || p.Template == live.Template {
			return true
		}
	}
	return false
}
