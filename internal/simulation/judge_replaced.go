package simulation

import (
	"math/bits"
	"slices"
)

// consents: a daemon has applied a definition. Where it lets volumes be deleted, and desires none
// that only a replacement brings, what comes after it may ask for such ones.
func (j *judge) consents(w *world, d *daemon) {
	c := &w.commits[d.want]
	if !c.consent {
		j.consent = false
		return
	}
	for i := range w.sets {
		s := &w.sets[i]
		if (s.exists || s.orphaned) && c.wants(w.setKind(s)) && w.templates[s.template].other(c.volumes[w.setKind(s)]) {
			return
		}
	}
	j.consent = true
}

// mayReplace: a StatefulSet gets claim templates that its claims never become.
func (j *judge) mayReplace(w *world, d *daemon, s *set, want shape) {
	if !j.consent || !w.commits[d.want].consent {
		w.violate("D", "%s is to be recreated with claims of %v, and no definition that was applied before lets volumes be deleted", s.name, want)
	}
	have := w.templates[s.template].shape
	for disk := range maxDisks {
		was, had := have.of(disk)
		next, has := want.of(disk)
		if !had || !has || next.size >= was.size {
			continue // its larger claims are of somebody else, whatever becomes of the other disks
		}
		s.smaller |= 1 << disk
		for o := range maxOrdinals {
			l := &w.slots[w.setIndex(s.name)*maxOrdinals+o]
			if k := l.claimOn(disk); k.exists && k.asked > next.size && j.lostRecord < d.began-5*second {
				k.shrinks = true
			}
		}
	}
}

// deletesClaim: a daemon deletes the claim of a pod that runs. It may where the definition consents,
// and one that was applied before; of a pod that is to come onto another volume, and gets such a
// one; of no second one before the node of the first is back. By its last look the node was empty,
// and excluded, so that nothing comes back to it.
func (j *judge) deletesClaim(w *world, d *daemon, l *slot, disk int) {
	name, k := l.claimNameOf(disk), l.claimOn(disk)
	j.quietly(w, d, name)
	c, kind := &w.commits[d.want], w.setKind(l.set)
	want, there := c.volumes[kind].of(disk)
	live, _ := w.templates[l.set.template].of(disk)
	switch {
	case !c.consent || !j.consent:
		w.violate("D", "the daemon deletes %s, and no definition that was applied before lets volumes be deleted", name)
	case !there:
		w.violate("D", "the daemon deletes %s, the claim of a disk that is not desired any more: those stay", name)
	case !k.going && (!c.wants(kind) || l.ordinal >= c.replicas[kind]): // else somebody has deleted it already
		w.violate("D", "the daemon deletes %s, whose pod leaves with its volume kept", name)
	case !k.sort().other(want):
		w.violate("D", "the daemon deletes %s, which is %v as desired", name, c.volumes[kind])
	case k.class == want.class && l.set.smaller&(1<<disk) == 0:
		w.violate("D", "the daemon deletes %s, which is larger than desired, and its claim template never became smaller: somebody has made it so", name)
	case live.other(want) && !w.away(w.setIndex(l.set.name)):
		w.violate("D", "the daemon deletes %s, and its pod comes back on %v, not %v", name, w.templates[l.set.template].shape, c.volumes[kind])
	}
	eligible := 0
	for i := range w.sets {
		if w.sets[i].eligible {
			eligible += w.sets[i].replicas
		}
	}
	if l.set.eligible && eligible < 3 {
		w.violate("D", "the daemon deletes %s of one of %d nodes that vote: the others may not go on without it", name, eligible)
	}
	for _, i := range w.used {
		o := &w.slots[i]
		switch {
		case o == l || o.ordinal >= o.set.replicas:
		case o.goesWith(func(k *claim) bool { return k.ours && k.goingAt < d.began }), o.emptied && !o.pod.joined && j.of(o).since < d.began:
			w.violate("D", "the daemon deletes %s, and %s is without its volume", name, o.podName)
		}
	}
	j.empty(w, d, l)
}

// empty: by the last look of a daemon nothing is on a node whose claim it deletes, nor comes there.
// What people do to their tables after that no look could show.
func (j *judge) empty(w *world, d *daemon, l *slot) {
	if bits.OnesCount64(d.looked.members) < len(d.observed.Database.Nodes) {
		w.violate("B", "the daemon deletes %s, and there were %d nodes when it looked, not %d", l.claimName, bits.OnesCount64(d.looked.members), len(d.observed.Database.Nodes))
	}
	if d.looked.moving != "" {
		w.violate("A", "the daemon deletes %s, and a copy of %s was not started when it looked", l.claimName, d.looked.moving)
	}
	id := nameOf(nodeIDs, "node-", l.volume.node)
	if l.set.masters || l.volume.node == 0 || l.pod.joinedAt >= d.looked.excludedAt {
		return
	}
	if !listed(d.looked.excluded, id) || !d.looked.inForce {
		w.violate("A", "the daemon deletes %s, and the exclusion of %s was not in force when it looked: %q was", l.claimName, id, d.looked.excluded)
	}
	if j.disturbed >= d.copied {
		return
	}
	j.holds(w, l, false)
	for i := range w.shards {
		for k := range w.shards[i].copies {
			if o := &w.shards[i].copies[k]; o.state == relocating && o.to == l.index {
				w.violate("A", "the daemon deletes %s, and a copy of %s is on its way there", l.claimName, w.tables[w.shards[i].table].name)
			}
		}
	}
}

// drainedForNewVolume: a volume goes whose claim a daemon has deleted. Whatever took its pod down, what was found
// empty has stayed so: a copy that came back is started elsewhere too.
func (j *judge) drainedForNewVolume(w *world, l *slot, s *shard, lost func(int) bool) {
	for disk := range maxDisks {
		if k := l.claimOn(disk); lost(disk) && k.exists && (!k.ours || j.disturbed >= k.goingAt) {
			return
		}
	}
	if !s.allocated || lost(0) && !l.claim.exists {
		return
	}
	on, elsewhere := false, false
	for k := range s.copies {
		its := s.copies[k].slot == l.index && lost(s.copies[k].disk)
		on = on || s.copies[k].synced && its
		elsewhere = elsewhere || s.copies[k].synced && !its
	}
	if on && !elsewhere {
		w.violate("A", "%s goes with its volume, whose claim a daemon has deleted, and it has the last whole copy of %s, shard %d", l.podName, w.tables[s.table].name, s.id)
	}
}

// replacing: the volume of the pod of a node goes with it, and the node takes no copy any more.
func (w *world) replacing(node string) bool {
	for _, i := range w.used {
		if l := &w.slots[i]; l.nodeName == node {
			return l.goesWith(func(k *claim) bool { return k.going && k.agreed }) || w.removesFrom(l)
		}
	}
	return false
}

// ending: somebody has deleted a pod since the pass began, and its process still runs: no answer of the database
// shows that. Evictions wait for the budget, which is closed by then; a delete does not.
func (j *judge) ending(w *world, d *daemon) bool {
	return slices.ContainsFunc(w.used, func(i int) bool {
		l := &w.slots[i]
		return l.pod.terminating && l.pod.joined && j.of(l).cause == byFault && j.of(l).since >= d.began
	})
}

// goesWith: a claim of a slot is one that a function knows.
func (l *slot) goesWith(is func(*claim) bool) bool {
	for disk := range maxDisks {
		if k := l.claimOn(disk); k.exists && is(k) {
			return true
		}
	}
	return false
}
