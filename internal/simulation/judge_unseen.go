package simulation

import (
	"cmp"
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// addsByHand: somebody has raised the replicas, and the pod is no node yet, or not again: the cluster misses nothing
// by it. Of a node that Git wants as well, no reading of this pass could show that it was asked for.
func (w *world) addsByHand(d *daemon, o *slot) bool {
	kind := w.setKind(o.set)
	if o.volume.node != 0 && !w.judge.of(o).comes {
		return false
	}
	unseen := max(w.judge.of(o).since, d.view.stalled[kindSets]) >= d.began
	return o.ordinal >= w.commits[d.want].replicas[kind] || o.ordinal < w.raised[kind] && unseen
}

// comesByHand: somebody has raised the replicas while a pod was leaving with a shrink. It was drained, and is one that has still
// to come, as one that has left.
func (j *judge) comesByHand(w *world, s *set) {
	if l := &w.slots[w.setIndex(s.name)*maxOrdinals+s.replicas]; l.pod.exists && l.pod.terminating {
		j.counts(w)
		j.down[l.index].cause, j.down[l.index].comes = byFault, true
	}
}

// quietSince: what happened to a pod within the last moment before a delete,
// which no look could show.
func (w *world) quietSince(o *slot, d *daemon) bool {
	return w.judge.of(o).since >= d.checked && !o.pod.terminating
}

// showsGoing: a daemon was shown that a pod is being deleted. While its process runs, no statement shows that.
func (d *daemon) showsGoing(l *slot) bool {
	return l.pod.terminating && slices.ContainsFunc(d.view.pods, func(p model.Pod) bool { return p.UID == l.pod.uid && p.Terminating })
}

// askedFor: the node of a pod was a member when the database was asked last, and it is
// whole that matters: the health and the copies are asked for beside. That Kubernetes
// does not call the pod ready again was not to be seen in this pass, for its watch brings nothing, or it happened
// after the pass began; so did all that is of a pod which was made only then, for a node that somebody has added
// by hand.
func (w *world) askedFor(o *slot, d *daemon) bool {
	return o.pod.joined && o.pod.joinedAt <= d.checked && !o.pod.terminating &&
		(w.judge.of(o).since >= d.began || o.pod.created >= d.began || d.view.stalled[kindPods] >= d.began)
}

// leavesAfter: Git wants the node no more, and nothing makes its pod ready; it is a member,
// and can be drained only once those that stay are all of one version, and of its own or a
// newer one. To wait for it would be to wait for ever, each for the other.
func (w *world) leavesAfter(o *slot, d *daemon) bool {
	stays := func(l *slot) bool { return l.ordinal < w.commits[d.want].replicas[w.setKind(l.set)] }
	if !o.pod.joined || o.pod.terminating || !w.unwell(o) || stays(o) {
		return false
	}
	version := ""
	for _, i := range w.used {
		l := &w.slots[i]
		if l.set.masters || !stays(l) || !l.pod.exists {
			continue
		}
		version = cmp.Or(version, w.versionOf(l))
		if w.versionOf(l) != version || gates.Compare(version, w.versionOf(o)) < 0 {
			return true
		}
	}
	return false
}

// leftSince: since then a definition without a group was the one to be taken up.
func (w *world) leftSince(kind int, since millis) bool {
	for i := range w.commits {
		c := &w.commits[i]
		replaced := i+1 < len(w.commits) && w.commits[i+1].visible <= since
		if !c.wants(kind) && c.visible <= w.now && !replaced {
			return true
		}
	}
	return false
}
