package simulation

import (
	"context"
	"errors"
	"slices"

	"stevedore.dev/stevedore/ops/execute"
)

// orphaning is how far the deletion of a StatefulSet has come that leaves its pods.
type orphaning struct {
	// terminating: it was deleted, and the garbage collector has still to take the owner off
	// its pods (due) and then the object away (goneDue).
	terminating  bool
	due, goneDue millis
	// orphaned: it is gone since then, and what else is known of it is as it was. A world
	// may have another one of its name that is somebody's (foreign).
	orphaned, foreign bool
	since             millis
	// wants is what its claim templates were to be when it was deleted.
	wants shape
	// returns: it is recreated for a pod that does not come back otherwise.
	returns bool
}

// away: the StatefulSet is not there for its pods, or does not own each of them again. One that is being terminated it never
// owns, and that one goes.
func (w *world) away(index int) bool {
	s := &w.sets[index]
	if s.terminating || s.orphaned || s.foreign {
		return true
	}
	for o := range maxOrdinals {
		if p := &w.slots[index*maxOrdinals+o].pod; p.exists && !p.terminating && p.owner != s.uid && s.exists {
			return true
		}
	}
	return false
}

// OrphanSet looks as the daemon's own does, right before the delete.
func (o objects) OrphanSet(_ context.Context, name, uid, version string, pods int, away []string, budget string, keep int) error {
	w := o.d.w
	if err := o.d.before(o.d.call(callLook)); err != nil {
		return err
	}
	s := w.setOf(name, uid)
	if s == nil {
		return execute.ErrNotFound
	}
	index := w.setIndex(name)
	switch {
	case s.terminating:
		o.d.deleted = append(o.d.deleted, uid)
		return nil
	case s.replicas != pods:
		return errors.New("it has other replicas by now")
	}
	for ordinal := range pods {
		l := &w.slots[index*maxOrdinals+ordinal]
		switch p := &l.pod; {
		case slices.Contains(away, l.podName) && (!p.exists || p.terminating):
		case slices.Contains(away, l.podName):
			return errors.New("its pod may be there by now")
		case !p.exists || p.terminating || p.owner != uid:
			return errors.New("a pod of it is not there by now, or another's")
		}
	}
	if b := w.budgetNamed(budget); budget != "" && (b == nil || b.keep != keep || b.observed != b.generation || b.allowed > 0) {
		return errors.New("the disruption budget could let a pod go by now")
	}
	if !w.stored.record.Recreates(uid) {
		return errors.New("the record does not say by now that it is recreated")
	}
	looked := w.now
	f, err := o.d.write()
	switch {
	case err != nil:
		return err
	case !s.exists || s.uid != uid:
		return execute.ErrNotFound
	case versionText(s.version) != version:
		return errConflict
	}
	w.say("daemon %s deletes StatefulSet %s without its pods", o.d.name, name)
	w.judge.orphans(w, o.d, s)
	s.terminating, s.orphaning.since, s.orphaning.wants = true, w.now, w.commits[o.d.want].volumes[w.setKind(s)]
	s.orphaning.due = max(w.now+w.rnd.span(20, 1200), w.collectorStalled)
	if w.judge.lostRecord >= looked { // it was lost since the last look, and nothing says any more how the StatefulSet was
		w.adopted.lost[index] = w.adopted.lost[index] || s.adopted != ""
		w.judge.lostSize[index] = true
	}
	s.generation++
	w.setChanged(s)
	if err := o.d.after(f); err != nil {
		if o.d.before(o.d.call(callLook)) != nil {
			return err
		}
		// The answer was lost: it has looked again.
	}
	o.d.deleted = append(o.d.deleted, uid)
	return nil
}

func (w *world) orphansDue() millis {
	due := never
	for i := range w.sets {
		for _, at := range []millis{w.sets[i].orphaning.due, w.sets[i].goneDue} {
			if at > 0 {
				due = min(due, at)
			}
		}
	}
	return due
}

// happenOrphans is the garbage collector: it takes the owner off each pod, and then the finalizer
// off the StatefulSet.
func (w *world) happenOrphans() {
	for i := range w.sets {
		s := &w.sets[i]
		switch {
		case s.orphaning.due > 0 && s.orphaning.due <= w.now:
			s.orphaning.due = 0
			s.goneDue = w.now + w.rnd.span(5, 300)
			for o := range maxOrdinals {
				if p := &w.slots[i*maxOrdinals+o].pod; p.exists && p.owner == s.uid {
					p.owner = ""
				}
			}
			w.bump(kindPods)
		case s.goneDue > 0 && s.goneDue <= w.now:
			w.say("StatefulSet %s is gone, its pods are not", s.name)
			for o := range maxOrdinals {
				if p := &w.slots[i*maxOrdinals+o].pod; p.exists && p.owner == s.uid {
					p.collectDue = w.now + w.rnd.span(500, 4000) // it was made in between
				}
			}
			s.goneDue, s.exists, s.terminating = 0, false, false
			s.orphaned = true
			if !w.stored.exists {
				w.losesJobsLog() // the record was lost before, and was not written again while this one could say it
			}
			w.setChanged(s)
		}
	}
}

// dangles: the owner of a pod is gone, and the garbage collector ends the pod for that.
func (l *slot) dangles() bool {
	return l.pod.owner != "" && (!l.set.exists || l.pod.owner != l.set.uid)
}

// recreated is a new StatefulSet in the place of one that is gone.
func (s *set) recreated(uid string) set {
	next := set{name: s.name, group: s.group, masters: s.masters, eligible: s.eligible, smaller: s.smaller, exists: true, uid: uid}
	if s.orphaned {
		next.orphaning.since, next.orphaning.wants, next.returns = s.orphaning.since, s.orphaning.wants, s.returns
		// What is judged of its templates goes on, and the controller still has its cache.
		next.template, next.previous, next.earlier, next.proven, next.provenBefore, next.replicas = s.template, s.previous, s.earlier, s.proven, s.provenBefore, s.replicas
		next.seenExists, next.seenUID, next.seenReplicas, next.seenTemplate = s.seenExists, s.seenUID, s.seenReplicas, s.seenTemplate
	}
	return next
}

// makesSet: somebody makes a StatefulSet of that name while it is gone: the old one from a file,
// or one that has nothing to do with the cluster.
func (w *world) makesSet(it Item) {
	for i := range w.sets {
		s := &w.sets[i]
		if !s.orphaned || s.exists {
			continue
		}
		before := *s
		*s = s.recreated(w.nextUID())
		s.template, s.replicas, s.foreign = before.template, before.replicas, it.B%2 == 0
		s.generation, s.byHand = 1, true
		w.say("somebody makes StatefulSet %s, foreign: %t", s.name, s.foreign)
		w.setChanged(s)
		return
	}
	if w.recreating() {
		it.Call, it.Recreating, it.Replacing, it.Disking, it.At = 0, 0, 0, 0, w.now-w.began+700
		w.left = append(w.left, it)
	}
}

// takesSetsBack: what somebody has made under such a name is deleted again.
func (w *world) takesSetsBack() {
	for i := range w.sets {
		if s := &w.sets[i]; s.foreign {
			s.foreign, s.exists, s.orphaned = false, false, true
			w.setChanged(s)
		}
	}
}

// inGap: a StatefulSet was deleted without its pods and has not taken them back.
func (w *world) inGap() bool {
	for i := range w.sets {
		if w.away(i) {
			return true
		}
	}
	return false
}

// marksDeleted: what a daemon has deleted it takes for going, though a watch is behind. It forgets what no watch shows
// any more.
func (d *daemon) marksDeleted() {
	d.deleted = slices.DeleteFunc(d.deleted, func(uid string) bool {
		shown := false
		for i := range d.view.sets {
			if s := &d.view.sets[i]; s.UID == uid {
				s.Terminating, shown = true, true
			}
		}
		for i := range d.view.pods {
			if p := &d.view.pods[i]; p.UID == uid {
				p.Terminating, shown = true, true
			}
		}
		return !shown
	})
}

// deletes ends a pod for a daemon, which knows of it by the answer.
func (d *daemon) deletes(l *slot, f callFault) error {
	uid := l.pod.uid
	d.w.terminate(l)
	if err := d.after(f); err != nil {
		return err
	}
	d.deleted = append(d.deleted, uid)
	return nil
}

// seesGap: the same as its watches show it, which may be behind.
func (d *daemon) seesGap() bool {
	for i := range d.view.pods {
		p := &d.view.pods[i]
		owner := ""
		for j := range d.view.sets {
			if s := &d.view.sets[j]; s.Name == p.Set && !s.Terminating {
				owner = s.UID
			}
		}
		if p.Controller != owner || owner == "" {
			return true
		}
	}
	return false
}
