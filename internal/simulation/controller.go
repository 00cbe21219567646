package simulation

import "stevedore.dev/stevedore/internal/cluster"

// controller is what the StatefulSet controller works with: of one round the pods that it sees, and its steps.
type controller struct {
	pods  [maxOrdinals]cluster.Pod
	steps []cluster.Step
}

// reconcile is one round of the StatefulSet controller, over its own cache.
func (w *world) reconcile(index int) {
	s := &w.sets[index]
	if !s.exists && !s.orphaned || !s.seenExists {
		return
	}
	set := cluster.StatefulSet{UID: s.seenUID, Replicas: s.seenReplicas, Terminating: s.seenTerminating || s.foreign, Stale: !s.exists || s.terminating || s.uid != s.seenUID}
	w.controller.steps = set.Next(w.podsOf(index), w.controller.steps[:0])
	for _, step := range w.controller.steps {
		l := &w.slots[index*maxOrdinals+step.Ordinal]
		switch step.Write {
		case cluster.AdoptPod:
			l.pod.owner = s.uid
			w.bump(kindPods)
		case cluster.MakeClaims:
			w.makesClaims(l)
		case cluster.MakePod:
			w.createPod(l)
		case cluster.DeletePod:
			w.say("StatefulSet controller: %s ends, the set has %d replicas", l.podName, s.seenReplicas)
			w.judge.removed(w, l)
			w.terminate(l)
		}
	}
	if !s.exists {
		return
	}
	set.UID = s.uid
	if current, ready := set.Status(w.podsOf(index)); current != s.current || ready != s.ready {
		s.current, s.ready = current, ready
		s.version = w.bump(kindSets)
	}
	if s.observedGeneration != s.seenGeneration {
		s.observedGeneration = s.seenGeneration
		s.version = w.bump(kindSets)
	}
}

// podsOf are the pods of a StatefulSet as its controller sees them.
func (w *world) podsOf(index int) []cluster.Pod {
	of := w.templates[w.sets[index].seenTemplate].shape.disks()
	pods := w.controller.pods[:]
	for o := range pods {
		l := &w.slots[index*maxOrdinals+o]
		p := &l.pod
		pods[o] = cluster.Pod{Exists: p.exists, Owner: p.owner, Pending: p.exists && p.started == 0, Ready: p.ready, Terminating: p.terminating, Lacks: of&^p.disks != 0}
		pods[o].ClaimDeleted = pods[o].Pending && l.goesWith(isGoing)
	}
	return pods
}

func isGoing(c *claim) bool { return c.going }

func (w *world) createPod(l *slot) {
	known := false
	for _, i := range w.used {
		known = known || i == l.index
	}
	if !known {
		w.used = append(w.used, l.index)
	}
	w.makesClaims(l)
	l.pod = pod{
		exists: true, uid: w.nextUID(), owner: l.set.seenUID, template: l.set.seenTemplate, initialMasters: l.set.seenInitialMasters,
		created: w.now, due: w.now + w.rnd.span(100, 900),
	}
	l.pod.cgroup = w.newCgroup(l.pod.template)
	l.pod.disks, l.pod.mounts = w.templates[l.pod.template].shape.disks(), w.templates[l.pod.template].mounts
	w.judge.comes(w, l)
	if l.dangles() {
		l.pod.collectDue = w.now + w.rnd.span(500, 4000)
	}
	w.bump(kindPods)
	if w.telling() {
		w.say("StatefulSet controller: %s is made on template %s", l.podName, w.templates[l.pod.template].hash)
	}
}

// makesClaims is one round of the StatefulSet controller for the claims of a pod, which it makes in
// no order, and slowly where the API server is busy.
func (w *world) makesClaims(l *slot) {
	if !l.claim.exists {
		l.claim = w.newClaim(l)
		w.bump(kindClaims)
	}
	of := w.templates[l.set.seenTemplate].shape
	for disk := 1; disk < maxDisks && w.disked(); disk++ {
		if c, sort := l.claimOn(disk), of.more[disk-1]; sort.size > 0 && !c.exists {
			*c = claim{exists: true}
			c.uid, c.asked, c.class, c.made = w.nextUID(), sort.size, sort.class, max(w.now-w.rnd.span(0, 4*second), second)
			c.capacity, c.unbound = w.gives(c.asked), w.schedule.Seed%2 == 0
			w.bump(kindClaims)
			w.say("StatefulSet controller: the claim %s is made", l.claimNameOf(disk))
		}
	}
}
