package simulation

import (
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// raised: pods are to come which left some time before.
func (j *judge) raised(w *world, s *set, to int) {
	j.counts(w)
	for o := s.replicas; s.exists && o < to; o++ {
		if l := &w.slots[w.setIndex(s.name)*maxOrdinals+o]; !l.pod.exists {
			j.down[l.index] = judged{cause: byFault, since: w.now, comes: true}
		}
	}
}

// applied: a daemon writes a StatefulSet.
func (j *judge) applied(w *world, d *daemon, s *set, e *model.EffectiveSet, wanted int) {
	behind := s.exists && !d.view.state[w.setIndex(s.name)].exists // it was made in a write whose answer was lost
	if !s.orphaned && !behind && !w.widens(s, wanted) {
		j.quietly(w, d, s.name) // what is gone comes back whatever was said meanwhile
	}
	j.recreates(w, d, s, e, wanted)
	j.changesAdopted(w, s, wanted)
	j.narrows(w, d, s, e, &w.templates[wanted])
	if s.exists && e.Replicas < s.replicas {
		j.lowers(w, s, e.Replicas, w.now)
	}
	j.raised(w, s, e.Replicas)
	if e.Replicas > 0 {
		j.stopped[w.setIndex(s.name)] = false
	}
	if s.exists && e.InitialMasters && !s.initialMasters {
		w.violate("identity", "%s gets cluster.initial_master_nodes back", s.name)
	}
	if w.stored.record.Bootstrap.Done && len(w.stored.record.Suspended) == 0 {
		// What was suspended comes back onto its own volumes, also those of nodes that had
		// joined a moment before and whose claims nobody had written on yet.
		for o := max(s.replicas, s.suspendedFrom()); o < e.Replicas; o++ {
			l := &w.slots[w.setIndex(s.name)*maxOrdinals+o]
			if seen := d.claimOf(l); seen != nil && seen.ClusterID != clusterID {
				w.violate("identity", "%s grows onto claim %s, which does not say that it is of this cluster", s.name, l.claimName)
			}
		}
	}
	head := &w.commits[w.fetched()]
	hash := w.templates[wanted].hash
	j.snapshotProven(w, d, s, hash)
	if w.hasJoinedOn(w.setIndex(s.name), hash) {
		w.verified(s, wanted) // a pod was made on it before the set went back to another one, and runs it
	}
	byHand := s.byHand // it gets back what a daemon had decided of it
	s.byHand = false
	// Where no pod has come up on the one before, it may be tried: two were applied one after the other,
	// or more since the record began to keep it.
	kept := max(templateByKey(w.stored.record.Saved[beforeName(s.name)]), 0)
	for _, t := range []int{s.template, head.tmpl, s.previous, s.earlier, s.proven, s.provenBefore, kept} {
		if !s.exists || byHand || w.templates[wanted].same(&w.templates[t]) {
			return
		}
	}
	index := w.setIndex(s.name)
	for o := range maxOrdinals {
		if p := &w.slots[index*maxOrdinals+o].pod; p.exists && w.templates[p.template].same(&w.templates[wanted]) {
			return
		}
	}
	w.violate("H", "%s gets template %s; %s is desired, %s is live and no pod runs it", s.name, hash, w.templates[head.tmpl].hash, w.templates[s.template].hash)
}

// claimOf is the claim of a slot as its watch shows it; nil for none.
func (d *daemon) claimOf(l *slot) *model.Claim {
	for i := range d.view.claims {
		if c := &d.view.claims[i]; c.Name == l.claimName {
			return c
		}
	}
	return nil
}

// snapshotProven: a template that no pod of its set has joined on stands in one set at
// most; pods that others end come back on it.
func (j *judge) snapshotProven(w *world, d *daemon, s *set, hash string) {
	if w.master < 0 && s.eligible {
		return // without a master nobody joins, whatever the template
	}
	if !w.stored.record.Bootstrap.Done || !s.exists || hash == w.templates[s.template].hash || hash == w.templates[s.proven].hash || w.joinedOn(w.setIndex(s.name), hash) {
		return
	}
	if index := w.setIndex(s.name); w.onTrial(index) || w.awaits(index) || w.joinedUnseen(d, s) {
		// External changes have put both sets on trial: a daemon that gives a second set an
		// unverified template is caught when it does. To replace that template puts no more pods
		// at risk: as many sets are on trial as before, and the pods of this one that are ready
		// run a verified one. The same holds where no pod of the set has joined, and where the first one has
		// joined since the daemon asked.
		return
	}
	for i := range w.sets {
		if o := &w.sets[i]; o != s && w.onTrial(i) {
			w.violate("B", "%s gets template %s, and no pod of %s has joined yet on its new one, %s", s.name, hash, o.name, w.templates[o.template].hash)
		}
	}
}

// proves: a node has joined on its set's template. One that joins on another, after the set
// went back from that, takes nothing from what had been proven before.
func (w *world) proves(l *slot) {
	l.pod.hasJoined = true
	if w.templates[l.pod.template].hash == w.templates[l.set.template].hash {
		if w.templates[l.set.proven].hash != w.templates[l.set.template].hash {
			l.set.provenAt = w.now
		}
		w.verified(l.set, l.set.template)
	}
}

// joinedUnseen: the first pod on the template of a set has joined since a daemon read the nodes, and is not ready as
// far as its watch has shown.
func (w *world) joinedUnseen(d *daemon, s *set) bool {
	live := w.templates[s.template].hash
	return s.provenAt >= d.readAt && s.provenAt > 0 && live == w.templates[s.proven].hash && !slices.ContainsFunc(d.view.pods, func(p model.Pod) bool {
		return p.Set == s.name && p.Template == live && p.Ready
	})
}

// verified: a pod has joined on this template of a set, whatever becomes of that pod.
func (w *world) verified(s *set, template int) {
	if w.templates[s.proven].hash != w.templates[template].hash {
		s.provenBefore = s.proven
	}
	s.proven = template
}

// onTrial: pods of a set were made on its template, and none has ever joined on it.
func (w *world) onTrial(set int) bool {
	s := &w.sets[set]
	live := w.templates[s.template].hash
	// A set without replicas puts nothing on its template, whoever ends the pods that
	// are still there.
	return s.exists && s.replicas > 0 && live != w.templates[s.proven].hash && w.runsOn(set, live) && !w.hasJoinedOn(set, live)
}

// awaits: the template of a set is not verified, and no pod of it has joined but those that are
// being deleted. The daemon may have just replaced a pod on that template, or on the one before.
func (w *world) awaits(set int) bool {
	s := &w.sets[set]
	for o := range maxOrdinals {
		if p := &w.slots[set*maxOrdinals+o].pod; p.exists && p.hasJoined && !p.terminating {
			return false
		}
	}
	return s.exists && s.replicas > 0 && w.templates[s.template].hash != w.templates[s.proven].hash
}

// hasJoinedOn: a node of a set that was made on a template is a member, or was: its machine
// may have died since.
func (w *world) hasJoinedOn(set int, hash string) bool {
	for o := range maxOrdinals {
		if p := &w.slots[set*maxOrdinals+o].pod; p.exists && p.hasJoined && w.templates[p.template].hash == hash {
			return true
		}
	}
	return false
}

// runsOn: a pod of a set was made on a template.
func (w *world) runsOn(set int, hash string) bool {
	for o := range maxOrdinals {
		if p := &w.slots[set*maxOrdinals+o].pod; p.exists && w.templates[p.template].hash == hash {
			return true
		}
	}
	return false
}

// joinedOn: a node of a set that was made on a template is a member.
func (w *world) joinedOn(set int, hash string) bool {
	for o := range maxOrdinals {
		if p := &w.slots[set*maxOrdinals+o].pod; p.exists && p.joined && w.templates[p.template].hash == hash {
			return true
		}
	}
	return false
}
