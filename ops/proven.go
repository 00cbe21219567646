package ops

import "slices"

// joinedOnLive: the node of a pod of the set has joined on its live template. That proves
// it, though the pod may never be ready: CrateDB runs on it, and loses nothing by it.
func (t *turn) joinedOnLive(set string) bool {
	live := t.live(set)
	return live != nil && t.anyPod(func(p *Pod) bool {
		return p.Set == set && p.Template == live.Template && t.nodeJoined(p)
	})
}

// nodeJoined: the node of the pod has joined, whether the pod is ready or not.
func (t *turn) nodeJoined(p *Pod) bool { return t.joined(p) || t.unready(p) }

// verifiedOn: a node of the set has joined on the template, as far as that is recorded. A
// release, or a record that is lost, can leave a set on a template that no pod has run: a set
// never rolls back to that.
func (t *turn) verifiedOn(set, template string) bool {
	i := slices.IndexFunc(t.r.Proven, func(p Proven) bool { return p.Set == set })
	return i < 0 || t.r.Proven[i].Template == template
}

// noteProven remembers on which templates pods have joined, or, where nobody can be asked,
// have become ready: a pod is once it has joined.
func (t *turn) noteProven() {
	var some [8]Proven // in most clusters; kept only where it says something else than before
	next := some[:0]
	for _, s := range t.r.Sets {
		live := t.live(s.Name)
		if live == nil || live.Template == "" {
			continue
		}
		proven := Proven{s.Name, live.Template}
		if !t.joinedOnLive(s.Name) && !t.upUnasked(s.Name) {
			i := slices.IndexFunc(t.r.Proven, func(p Proven) bool { return p.Set == s.Name })
			j := slices.IndexFunc(t.o.Pods, func(p Pod) bool { return p.Set == s.Name && p.Template != "" && t.nodeJoined(&p) })
			switch {
			case i >= 0:
				proven = t.r.Proven[i]
			case j >= 0:
				proven.Template = t.o.Pods[j].Template // with the record lost midway
			default:
				continue
			}
		}
		next = append(next, proven)
	}
	if !slices.Equal(next, t.r.Proven) {
		t.r.Proven = slices.Clone(next)
	}
}

// noteUnproven remembers which sets have a new template out of their turn: the one
// that is mended, a group that is being made, and one whose pods others put on it.
func (t *turn) noteUnproven(mends string) {
	var next []string
	for _, s := range t.r.Sets {
		unproven := !t.joinedOnLive(s.Name) &&
			(slices.Contains(t.r.Unproven, s.Name) || t.added(s.Name) || t.turnUnproven(s.Name) || t.evictedOnto(s.Name))
		if (unproven || s.Name == mends && t.pendingRestart(s.Name)) && t.replicas(s) > 0 {
			next = append(next, s.Name)
		}
	}
	if !slices.Equal(next, t.r.Unproven) {
		t.r.Unproven = next
	}
}

// noteFirst does so of a set whose pod is about to be the first on its template, which
// nothing else may know of any more: the record was lost since that was applied.
func (t *turn) noteFirst(p *Pod) {
	live := t.live(p.Set)
	if p.Template != live.Template && !t.joinedOnLive(p.Set) && !slices.Contains(t.r.Unproven, p.Set) {
		t.r.Unproven = append(slices.Clone(t.r.Unproven), p.Set)
	}
}

// rebuildUnproven: a template that pods of a set are on, or are being made on, and none
// has joined on may be one that came out of its turn; and so may one on which the next pod
// of a set comes back that is away, whatever a watch still shows of it.
func (t *turn) rebuildUnproven() {
	for _, s := range t.r.Sets {
		live := t.live(s.Name)
		if live == nil || live.Template == "" || t.joinedOnLive(s.Name) {
			continue
		}
		away := t.anyPod(func(p *Pod) bool { return p.Set == s.Name && !t.nodeJoined(p) })
		if t.unprovenPods(s.Name) || t.led() && away {
			t.r.Unproven = append(t.r.Unproven, s.Name)
		}
	}
}

// turnUnproven: the set whose turn it is has the new template, and no pod of it has
// joined; that is still to be known when the restart is aborted.
func (t *turn) turnUnproven(set string) bool {
	if !t.restarting() || t.r.Operation.Restart.Set != set {
		return false
	}
	live, before := t.live(set), t.r.Operation.Restart.Remembered
	return live != nil && before != "" && live.Template != before && !t.joinedOnLive(set)
}

// evictedOnto: pods of the set have joined on another template than it has, and others'
// hands put pods on that after its turn had ended, before one of ours had joined on it.
func (t *turn) evictedOnto(set string) bool {
	live := t.live(set)
	return t.led() && live != nil && t.unprovenPods(set) && slices.ContainsFunc(t.r.Proven, func(p Proven) bool { return p.Set == set && p.Template != live.Template })
}

// unprovenPods: pods of the set are on its live template, or are being made on
// it, and none has joined, nor has before: one that is away comes back on what it ran.
func (t *turn) unprovenPods(set string) bool {
	live, s := t.live(set), recorded(t.r.Sets, set)
	if live == nil || s == nil || t.joinedOnLive(set) || slices.Contains(t.r.Proven, Proven{set, live.Template}) {
		return false
	}
	for ordinal := range t.replicas(*s) {
		if p := t.pod(set, ordinal); p == nil || p.Terminating || p.Template == live.Template {
			return true
		}
	}
	return false
}
