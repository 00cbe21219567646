package simulation

import (
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// disruptions: the disruption controller has computed how many pods may be evicted. Nobody may
// be while a StatefulSet is away from its pods, and at no time more than a budget of one lets go
// of all pods that there are to be.
func (j *judge) disruptions(w *world, b *budget) {
	if b.allowed == 0 || b.observed != b.generation || !w.stored.record.Bootstrap.Done || j.forgotten(w) {
		return
	}
	j.held(w, b)
	wanted := 0
	for i := range w.sets {
		s := &w.sets[i]
		if s.masters != b.masters {
			continue
		}
		pods := 0
		for o := range maxOrdinals {
			if w.slots[i*maxOrdinals+o].pod.exists {
				pods++
			}
		}
		if w.away(i) && pods > 0 {
			w.violate("B", "budget %s allows %d evictions while %s is recreated", b.name, b.allowed, s.name)
		}
		if s.exists && pods > 0 { // of one without a pod Kubernetes expects nothing
			wanted += s.replicas
		}
	}
	if most := max(b.healthy-(wanted-1), 0); b.allowed > most {
		w.violate("B", "budget %s allows %d evictions, and %d pods of %d are ready", b.name, b.allowed, b.healthy, wanted)
	}
}

// forgotten: the record was lost while a StatefulSet was away, and the cluster is paused or
// released. Nothing says that it was not its owner who deleted the StatefulSet.
func (j *judge) forgotten(w *world) bool {
	c := &w.commits[w.fetched()]
	by := w.commandsAt(c.desired.Revision)
	if !c.paused && !c.released && !j.gaveBack(w) && by.Paused == "" && by.Released == "" {
		return false
	}
	for i := range w.sets {
		if w.away(i) && j.lostRecord >= w.sets[i].orphaning.since-5*second {
			return true
		}
	}
	return false
}

// asks: a daemon asks for a larger volume: for what Git says, and of each StatefulSet for one
// alone until that has grown.
func (j *judge) asks(w *world, d *daemon, l *slot, disk, size int) {
	name, mine := l.claimNameOf(disk), l.claimOn(disk)
	j.quietly(w, d, name)
	if want, _ := w.commits[d.want].volumes[w.setKind(l.set)].of(disk); size != want.size {
		w.violate("H", "the daemon asks for %d GiB for %s, and Git says %d", size, name, want.size)
	}
	// What had grown may have gone with its pod since the daemon looked.
	gone := &j.grownGone[w.setIndex(l.set.name)]
	grown, flying := gone.size >= size && max(gone.at, d.view.stalled[kindClaims]) >= d.began, (*slot)(nil)
	for o := range maxOrdinals {
		other := &w.slots[w.setIndex(l.set.name)*maxOrdinals+o]
		c := other.claimOn(disk)
		switch {
		case !c.exists || other == l || c.asked < size || c.unbound:
		case c.capacity >= size, c.resize == model.ResizeNode && (!other.mounted(disk) || d.unseen(other)):
			grown = true
		case c.asked != size, c.class != mine.class: // one that is to be replaced grows for nobody
		case c.askedBy == d && c.askedAt >= d.began, c.askedAt < d.began && d.view.stalled[kindClaims] <= c.askedAt:
			flying = other
		}
	}
	if flying != nil && !grown {
		w.violate("pace", "the daemon asks for %d GiB for %s, and %s has not grown yet", size, name, flying.claimNameOf(disk))
	}
}

// orphans: a daemon deletes a StatefulSet without its pods: for larger claim templates, which
// every claim of it has the size of already.
func (j *judge) orphans(w *world, d *daemon, s *set) {
	j.quietly(w, d, s.name)
	want := w.commits[d.want].volumes[w.setKind(s)]
	have := w.templates[s.template].shape
	if disks := j.mayRecreate(w, s, want); s.returns || w.uses(w.setIndex(s.name))&want.disks()&^have.disks() != 0 {
		return // a pod does not come back otherwise, or not with its disk: that waits for no size
	} else if have.other(want) {
		j.mayReplace(w, d, s, want)
	} else if !have.smaller(want) && !disks {
		w.violate("H", "%s is to be recreated, and its claim templates have %d GiB of %d", s.name, have.size, want.size)
	}
	for o := range maxOrdinals {
		l := &w.slots[w.setIndex(s.name)*maxOrdinals+o]
		for disk := range maxDisks {
			c := l.claimOn(disk)
			want, there := want.of(disk)
			if !there || !l.mounted(disk) || c.resize == model.ResizeNode && c.asked >= want.size && d.unseen(l) {
				continue // the volume has grown, and the file system follows when the pod mounts it
			}
			if c.exists && c.class == want.class && c.capacity < want.size && max(c.since, d.view.stalled[kindClaims]) < d.began && (c.asked <= want.size || !w.schedule.Start.Swaps) {
				w.violate("H", "%s is to be recreated, and %s has %d GiB of %d", s.name, l.claimNameOf(disk), c.capacity, want.size)
			}
		}
	}
}

// unseen: nothing shows a daemon in this pass that a pod has started, and mounted its volumes.
// It has since the pass began, or the watch of pods brings nothing.
func (d *daemon) unseen(l *slot) bool {
	return l.pod.started >= d.began || d.view.stalled[kindPods] >= max(l.pod.started, d.began)
}

// recreates: a daemon makes a StatefulSet again whose pods run. It is the one that was there, but
// for the size of its claims: another template would make all pods outdated, and fewer replicas
// would end some of them. A pod that somebody's StatefulSet of its name makes meanwhile is in no reading.
func (j *judge) recreates(w *world, d *daemon, s *set, e *model.EffectiveSet, wanted int) {
	if !s.orphaned || s.exists {
		return
	}
	was, is := w.templates[s.template], w.templates[wanted]
	// Where no volume of the cluster is left, and no record of it, the definition makes a new one.
	left := slices.ContainsFunc(w.slots, func(l slot) bool { return l.volume.cluster != 0 })
	if e.InitialMasters && !s.initialMasters && left {
		w.violate("identity", "%s is recreated with cluster.initial_master_nodes", s.name)
	}
	for o := e.Replicas; o < maxOrdinals; o++ {
		if l := &w.slots[w.setIndex(s.name)*maxOrdinals+o]; l.pod.exists && l.pod.created < d.began && o < s.replicas {
			w.violate("A", "%s is recreated with %d replicas, which ends %s", s.name, e.Replicas, l.podName)
		}
	}
	if j.lostRecord >= s.orphaning.since-5*second {
		return // nobody knows any more how it was
	}
	j.keepsClaims(w, s, is.shape)
	switch {
	case e.Replicas != s.replicas:
		w.violate("H", "%s is recreated with %d replicas, and had %d", s.name, e.Replicas, s.replicas)
	case !is.same(&was) || is.counts != was.counts || is.soft != was.soft || !w.keepsMounts(s, &was, &is):
		w.violate("H", "%s is recreated on template %s (counts %d), and had %s (%d): its pods are of another revision now", s.name, is.hash, is.counts, was.hash, was.counts)
	case was.other(is.shape) && (is.size != s.wants.size || is.class != s.wants.class):
		w.violate("H", "%s is recreated with claims of %v, and had %v", s.name, is.shape, was.shape)
	}
}

// blind: a watch brings nothing, and the daemon waits until it shows what the daemon has written itself.
func (d *daemon) blind() bool {
	for k, v := range d.own {
		if v > d.view.version[k] && d.view.stalled[k] > d.w.now {
			return true
		}
	}
	return false
}

// comesBackSoon is how long a StatefulSet may be gone while a daemon finds nothing to do.
const comesBackSoon = 40 * second

// gaps: whatever became of the cluster meanwhile, its StatefulSet comes back.
func (j *judge) gaps(w *world, d *daemon) {
	for i := range w.sets {
		s := &w.sets[i]
		c := &w.commits[d.want]
		blind := d.blind() || max(d.view.stalled[kindSets], d.view.stalled[kindPods], d.view.stalled[kindRecord]) > w.now
		// With the record lost and no pod of it left it is a group as one that is new, which waits for
		// whatever a grow waits for.
		pods := slices.ContainsFunc(w.slots[i*maxOrdinals:(i+1)*maxOrdinals], func(l slot) bool { return l.pod.exists })
		unknown := !pods && j.lostRecord >= s.orphaning.since-5*second
		if !s.orphaned || s.exists || !c.wants(w.setKind(s)) || blind || unknown || len(d.applyErrors) > 0 || j.forgotten(w) {
			d.gone[i] = 0
			continue
		}
		if d.gone[i] == 0 {
			d.gone[i] = w.now
		}
		if since := w.now - d.gone[i]; since > comesBackSoon {
			w.violate("E", "%s is gone for %d ms, and the daemon does not make it", s.name, since)
		}
	}
}

// reasoned: a pod is restarted for what it runs, or because somebody asked, or because its file
// system waits for a mount and the definition says so; for its volume not a second time.
func (j *judge) reasoned(w *world, d *daemon, l *slot) {
	if w.driver() == noDriver {
		return
	}
	c, runs := &w.commits[d.want], &w.templates[l.pod.template]
	next := &w.templates[l.set.template]
	if runs.isAdopted() || next.isAdopted() || !runs.same(&w.templates[c.tmpl]) || !runs.same(next) || runs.mounts != next.mounts && !w.isNarrow(w.setIndex(l.set.name)) || runs.mounts != next.mounts && next.mounts == c.volumes[w.setKind(l.set)].disks() || runs.counts != w.templates[c.tmpl].counts || runs.counts != w.templates[l.set.template].counts {
		return
	}
	for i := range w.commits {
		if at := w.commits[i].restartedFrom; at > 0 && at+second >= l.pod.created {
			return
		}
	}
	if l.goesWith(func(k *claim) bool { return k.going && k.agreed }) {
		return // its volume is replaced
	}
	if since := l.set.orphaning.since; since > l.pod.created && j.lostRecord >= since-5*second {
		return // its StatefulSet was away, and the record is lost: nobody knows which template does without which disk
	}
	// Both times are whole seconds where they are read.
	waits, since := false, millis(0)
	for disk := range maxDisks {
		k := l.claimOn(disk)
		waits = waits || k.resize == model.ResizeNode && k.since >= l.pod.created/second*second
		since = max(since, k.since)
	}
	// While the watch of claims brings nothing it waits as far as the daemon is shown.
	waits = waits || d.view.stalled[kindClaims] >= max(since, d.began)
	if !waits && since < d.began-second || !c.offline {
		w.violate("pace", "the daemon restarts %s, which runs what is desired; its claim has %d GiB of %d (%s), offlineResize: restart %t",
			l.podName, l.claim.capacity, l.claim.asked, l.claim.resize, c.offline)
	}
}

// expanded: success of a growth is reported when it is true.
func (j *judge) expanded(w *world, d *daemon, r *model.Report) {
	if r.Action != "expand_storage" || r.Reason == "DisksRemoved" {
		return
	}
	for _, until := range d.view.stalled {
		if until > w.now-5*second {
			return
		}
	}
	c := &w.commits[d.want]
	for i := range w.sets {
		s := &w.sets[i]
		if !s.exists || !c.wants(w.setKind(s)) {
			continue
		}
		want := c.volumes[w.setKind(s)]
		if have := w.templates[s.template].shape; have.size < want.size || r.Reason == "VolumesReplaced" && (have.size != want.size || have.class != want.class) {
			w.violate("F", "%s is reported, and the claim templates of %s have %v, not %v", r.Reason, s.name, have, want)
		}
		for o := range min(s.replicas, c.replicas[w.setKind(s)]) {
			l := &w.slots[i*maxOrdinals+o]
			for disk := range maxDisks {
				k := l.claimOn(disk)
				want, there := want.of(disk)
				if there && k.exists && l.pod.has(disk) && (k.capacity < want.size || r.Reason == "VolumesReplaced" && (k.class != want.class || k.shrinks && k.asked > want.size)) {
					w.violate("F", "%s is reported, and %s has %d GiB, %v, of %v", r.Reason, l.claimNameOf(disk), k.capacity, k.sort(), want)
				}
			}
		}
	}
	if r.Reason == "VolumesReplaced" {
		w.losesShrinks() // what is larger from now on somebody has made so, or a growth that was taken back
	}
}

// smaller names a claim that has not yet the size that Git says; "" for none. On one that no pod
// uses nobody can make the file system larger.
func (w *world) smaller(c *commit) string {
	for _, i := range w.used {
		l := &w.slots[i]
		for disk := range maxDisks {
			k := l.claimOn(disk)
			unused := k.resize == model.ResizeNode && !l.mounted(disk)
			want, there := c.volumes[w.setKind(l.set)].of(disk)
			away := k.class != want.class && l.ordinal >= c.replicas[w.setKind(l.set)] // nobody replaces what no pod uses
			if c.wants(w.setKind(l.set)) && there && k.exists && !k.unbound && !away && (k.asked < want.size || k.capacity < want.size && !unused) {
				return l.claimNameOf(disk)
			}
		}
	}
	return ""
}

// endsVolume: a daemon takes a pod down whose claim somebody has deleted before it looked last. It is
// the daemon that loses the volume, unless a person has agreed and another node has all that is on it.
func (j *judge) endsVolume(w *world, d *daemon, l *slot) {
	for disk := range maxDisks {
		j.endsDisk(w, d, l, disk)
	}
}

func (j *judge) endsDisk(w *world, d *daemon, l *slot, disk int) {
	c := l.claimOn(disk)
	if !c.going || c.goingAt >= d.claimsAt || l.volumeOn(disk).node == 0 || !l.pod.has(disk) {
		return
	}
	if disk > 0 && !l.pod.sees(disk) && w.copyOn(l, 1<<(disk-1)) == "" {
		return // it does without that disk, and nothing is on it
	}
	if !c.agreed {
		w.violate("D", "the daemon takes %s down, and its volume goes with it: somebody has deleted %s, and nobody has agreed", l.podName, l.claimNameOf(disk))
		return
	}
	if j.faultAt >= d.checked {
		return // what has gone since the last look, milliseconds ago, no look shows
	}
	for i := range w.shards {
		s := &w.shards[i]
		on, elsewhere := false, false
		for k := range s.copies {
			its := s.copies[k].slot == l.index && s.copies[k].disk == disk
			on = on || s.copies[k].synced && its
			elsewhere = elsewhere || s.copies[k].synced && !its
		}
		looked := d.checked
		if at := d.looked.tablesAt; at > 0 {
			looked = at // the nodes are asked for after the tables
		}
		if on && !elsewhere && !w.tableChangedSince(looked) {
			w.violate("D", "the daemon takes %s down, and its volume has the last whole copy of %s, shard %d", l.podName, w.tables[s.table].name, s.id)
		}
	}
	if slices.Contains(w.voters, l.volume.node) && w.losesNode(l, oneDisk(disk)) && w.votersGone(l)*2 >= len(w.voters) {
		w.violate("D", "the daemon takes %s down with its volume, and the voters that are left are no majority", l.podName)
	}
}

// stops: a suspension stops all nodes and keeps their volumes.
func (j *judge) stops(w *world, d *daemon, s *set) {
	for o := range maxOrdinals {
		l := &w.slots[w.setIndex(s.name)*maxOrdinals+o]
		goes := func(k *claim) bool { return k.going && k.goingAt < d.claimsAt }
		if d.acting != model.ActionSuspendSet || !l.pod.exists || l.volume.node == 0 || !l.goesWith(goes) {
			continue
		}
		for disk := range maxDisks {
			if goes(l.claimOn(disk)) && l.pod.has(disk) && (l.pod.sees(disk) || w.copyOn(l, 1<<(disk-1)) != "") {
				w.violate("D", "%s is stopped for a suspension, and %s goes with its volume", s.name, l.podName)
			}
		}
	}
}
