package simulation

import (
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// narrow is since when the template of a StatefulSet does without a disk that it has a claim template
// of and that a pod uses, and when the first pod was made of it since then; 0 for not. It lasts where a
// template has returned to what other pods run, which never had the disk.
type narrow struct {
	since, made millis
	back        bool
}

const (
	// widensSoon is how long a template may stay narrow once that is over, while a daemon can end it.
	widensSoon = 20 * second
	// returnsSoon is how long a pod may stay away that the StatefulSet controller does not make.
	returnsSoon = 3 * minute
)

// inUse are the disks of a StatefulSet, of those that it has claim templates of, on which nodes of its
// pods have written.
func (w *world) inUse(index int) (used diskSet) {
	s := &w.sets[index]
	for o := range s.replicas {
		l := &w.slots[index*maxOrdinals+o]
		for disk := 1; disk < maxDisks; disk++ {
			if l.pod.sees(disk) && l.volumeOn(disk).node != 0 {
				used |= 1 << (disk - 1)
			}
		}
	}
	return used
}

// isNarrow: a pod that is made now comes without a disk that others use.
func (w *world) isNarrow(index int) bool {
	s := &w.sets[index]
	t := &w.templates[s.template]
	return s.exists && w.inUse(index)&t.shape.disks()&^t.mounts != 0
}

// narrows: a daemon writes the template of a StatefulSet. It may do without a disk that pods use where
// that is not desired any more, and from when the pod of an emptied node is about to go.
func (j *judge) narrows(w *world, d *daemon, s *set, e *model.EffectiveSet, is *template) {
	index, c, kind := w.setIndex(s.name), &w.commits[d.want], w.setKind(s)
	missing := is.shape.disks() &^ is.mounts
	lost := w.inUse(index) & missing
	back := missing != 0 && missing&^c.volumes[kind].disks() == 0 && (s.narrow.back || e.Template == model.TemplateBefore)
	if lost == 0 || !w.disked() {
		s.narrow = narrow{back: back}
		return
	}
	if s.narrow.since > 0 {
		return // how long that lasts is watched
	}
	s.narrow = narrow{since: w.now, back: back}
	if !s.exists {
		s.narrow.made = w.now // it is on what its pods had before, and its restart goes on at once
		return
	}
	if s.narrow.back {
		return
	}
	if c.wants(kind) && c.volumes[kind].disks()&lost != 0 {
		w.violate("H", "the template of %s does without %s, which is desired and which its pods use", s.name, lost)
	}
	if c.stands() {
		w.violate("H", "the template of %s does without %s, and all nodes are to stop", s.name, lost)
	}
	for o := range s.replicas {
		l := &w.slots[index*maxOrdinals+o]
		uses := l.pod.mounts&lost != 0 || d.view.stalled[kindPods] > w.now // what it has been since a watch that stalls does not say
		if l.pod.exists && uses && (s.masters || w.emptyBy(d, l)) {
			return
		}
		if !l.pod.exists && l.last&lost == 0 && w.copyOn(l, lost) == "" {
			return // its pod did without it, and has gone once more
		}
		if op := w.stored.record.Operation; op != nil && op.Restart != nil && op.Restart.Pod == l.podName && l.volume.node == 0 {
			return // its volume was lost since the daemon looked
		}
	}
	w.violate("H", "the template of %s does without %s, and no node of it is empty and excluded", s.name, lost)
}

// emptyBy: by the reading of a daemon nothing is on a node, and it is excluded.
func (w *world) emptyBy(d *daemon, l *slot) bool {
	id := nameOf(nodeIDs, "node-", l.volume.node)
	for i := range d.observed.Database.Nodes {
		if n := &d.observed.Database.Nodes[i]; n.ID == id {
			return n.Shards == 0 && listed(d.observed.Database.Settings.Exclude["_id"], id)
		}
	}
	return false
}

// comes: the StatefulSet controller makes a pod. One that a daemon has taken down has all that is on its
// volumes.
func (j *judge) comes(w *world, l *slot) {
	if !w.disked() {
		return
	}
	// Another pod that comes meanwhile ends nothing: the one that is to come without the disk is still away.
	if s := l.set; s.narrow.since > 0 && s.narrow.made == 0 && j.of(l).cause == byDaemon {
		s.narrow.made = w.now
	}
	lost := l.last &^ l.pod.mounts
	if lost == 0 {
		return
	}
	if w.telling() {
		w.say("%s comes back without %s", l.podName, lost)
	}
	down := j.of(l)
	if down.cause != byDaemon || j.disturbed >= down.since-5*second || j.stopped[w.setIndex(l.set.name)] {
		return
	}
	if table := w.copyOn(l, lost); table != "" {
		w.violate("A", "%s was taken down by the daemon and comes back without %s, on which is a whole copy of %s", l.podName, lost, table)
	}
}

// copyOn names a table of which a whole copy is on some disks of a slot; "" for none.
func (w *world) copyOn(l *slot, disks diskSet) string {
	for i := range w.shards {
		s := &w.shards[i]
		for k := range s.copies {
			if c := &s.copies[k]; c.slot == l.index && c.disk > 0 && disks.has(c.disk) && c.synced && c.node == l.volume.node {
				return w.tables[s.table].name
			}
		}
	}
	return ""
}

// losesDisks: a daemon deletes a pod that comes back without a disk. Nothing is on that, nor comes to the
// node, and the node is excluded. A copy that people have sent there since the look no look could show.
func (j *judge) losesDisks(w *world, d *daemon, l *slot) {
	lost := l.pod.mounts &^ w.templates[l.set.template].mounts
	if !w.disked() || lost == 0 || l.set.masters || j.disturbed >= max(d.copied, d.began) && d.copied > 0 {
		return
	}
	if table := w.copyOn(l, lost); table != "" {
		w.violate("A", "the daemon deletes %s, which comes back without %s, and a whole copy of %s is on it", l.podName, lost, table)
	}
	if l.volumeOn(0).node == 0 || l.pod.joinedAt >= d.began || !l.pod.joined {
		return
	}
	for i := range w.shards {
		for k := range w.shards[i].copies {
			if o := &w.shards[i].copies[k]; o.slot == l.index && o.state != onDisk || o.state == relocating && o.to == l.index {
				w.violate("A", "the daemon deletes %s, which comes back without %s, and a copy of %s is on the node or on its way there", l.podName, lost, w.tables[w.shards[i].table].name)
			}
		}
	}
	if id := nameOf(nodeIDs, "node-", l.volume.node); !listed(w.excludeID.effective(""), id) && w.excludeID.theirAt < d.began {
		w.violate("A", "the daemon deletes %s, which comes back without %s, and %s is not excluded", l.podName, lost, id)
	}
}

// held: the budget lets no pod go while pods of a StatefulSet have not all its disks, and while the next
// one comes without one: it would not come back, or not with what is on it.
func (j *judge) held(w *world, b *budget) {
	if !w.disked() || j.removes(w) {
		return
	}
	for i := range w.sets {
		switch s := &w.sets[i]; {
		case s.masters != b.masters || !s.exists || s.foreign:
		case w.mixed(i):
			w.violate("B", "budget %s allows %d evictions, and pods of %s have not the disks that it has claim templates of", b.name, b.allowed, s.name)
		case s.narrow.since > 0 && w.isNarrow(i):
			w.violate("B", "budget %s allows %d evictions, and the next pod of %s comes without a disk", b.name, b.allowed, s.name)
		}
	}
}

// removes: the cluster is released, or was a moment ago: its budgets are given back.
func (j *judge) removes(w *world) bool {
	c := &w.commits[w.fetched()]
	// A daemon takes no pass before its caches show what it has written.
	behind := slices.ContainsFunc(w.daemons, func(d *daemon) bool { at := d.view.stalled[kindSets]; return at > j.handsOff && w.now-at < owedSoon })
	stood := j.gaveBack(w) || j.handsOff > 0 && behind || w.now-w.commandedAt < owedSoon && w.commandedAt > 0
	return c.released || c.paused || stood || w.commandsAt(c.desired.Revision).Released != "" || w.commandsAt(c.desired.Revision).Paused != ""
}

// heldBack: a pod of a StatefulSet does not come, or does not go, while one of a group before it lacks the
// volume of a claim template.
func (w *world) heldBack(index int) bool {
	s := &w.sets[index]
	of, lacks, held := w.templates[s.template].shape.disks(), false, false
	for o := range maxOrdinals {
		if o >= s.replicas || o == 0 || o == 1 || o == 3 || o == 7 {
			held = lacks // it takes them by 1, 2, 4 and so on
		}
		p := &w.slots[index*maxOrdinals+o].pod
		switch {
		case o < s.replicas && !p.exists, o >= s.replicas && p.exists && !p.terminating:
			if held {
				return true
			}
		case o < s.replicas && p.exists:
			lacks = lacks || of&^p.disks != 0
		}
	}
	return false
}

// disksEnd: what lasts for a moment does not last: a template that is narrow, and a pod that is held
// back.
func (j *judge) disksEnd(w *world, d *daemon) {
	if !w.disked() {
		return
	}
	c, by := &w.commits[d.want], w.commanded(d)
	off := c.paused || c.released || by.Paused == "true" || by.Released == "true"
	blind := d.blind() || max(d.view.stalled[kindSets], d.view.stalled[kindPods], d.view.stalled[kindRecord], w.stalled) > w.now
	for i := range w.sets {
		s := &w.sets[i]
		// A pod that is to come without a disk goes once the StatefulSet controller has seen the template, and none comes before.
		over := s.narrow.made > 0 || off || w.now-max(s.narrow.since, w.stalled) > millis(policy.PodTimeout.Milliseconds())
		since := func(at *millis, due bool) millis {
			if !due || blind || len(d.applyErrors) > 0 || w.inGap() || s.foreign {
				*at = 0
				return 0
			}
			if *at == 0 {
				*at = w.now
			}
			return w.now - *at
		}
		if t := since(&d.narrow[i], w.isNarrow(i) && over && !s.narrow.back); t > widensSoon {
			w.violate("H", "the template of %s does without a disk that its pods use, for %d ms after the pod was made that was to come without it", s.name, t)
		}
		// Where people have set what a lock is to be given back to, or hide it, they say how it goes on.
		theirs := w.stored.record.Lock != nil && (plain(w.enable.persistent) == plain(w.enable.theirs) || w.enable.transient != "")
		// All nodes are to stop, and the status asks a person what becomes of a volume before: more than a suspension in time is
		// owed to nobody.
		asks := c.stands() && d.says(gates.ClaimBeingDeletedRule)
		if t := since(&d.held[i], s.exists && !off && !theirs && !asks && w.heldBack(i)); t > returnsSoon {
			w.violate("E", "a pod of %s does not come back, or does not go, for %d ms: one before it lacks a disk", s.name, t)
		}
	}
}

// removed: the end of a removal is reported when no StatefulSet has more disks, and no node either.
func (j *judge) disksRemoved(w *world, d *daemon, r *model.Report) {
	if r.Reason != "DisksRemoved" || slices.ContainsFunc(d.view.stalled[:], func(until millis) bool { return until > w.now-5*second }) {
		return
	}
	if table := w.lacksDisks(&w.commits[d.want]); table != "" {
		w.violate("F", "%s is reported, and %s", r.Reason, table)
	}
}

// lacksDisks says which StatefulSet or pod has not the disks of a commit; "" for none.
func (w *world) lacksDisks(c *commit) string {
	if !w.disked() {
		return ""
	}
	for i := range w.sets {
		s := &w.sets[i]
		kind := w.setKind(s)
		want := c.volumes[kind].disks()
		if !s.exists || !c.wants(kind) {
			continue
		}
		if t := &w.templates[s.template]; t.shape.disks() != want || t.mounts != want {
			return s.name + " has claim templates of data0," + t.shape.disks().String() + " and mounts data0," + t.mounts.String() + ", of data0," + want.String()
		}
		for o := range min(s.replicas, c.replicas[kind]) {
			if p := &w.slots[i*maxOrdinals+o].pod; p.exists && !p.terminating && (p.mounts != want || want&^p.disks != 0) {
				return w.slots[i*maxOrdinals+o].podName + " has data0," + p.mounts.String() + ", of data0," + want.String()
			}
		}
	}
	return ""
}

// removesFrom: the node of a slot is drained, to come back with fewer disks.
func (w *world) removesFrom(l *slot) bool {
	if !w.disked() {
		return false
	}
	want := w.commits[w.fetched()].volumes[w.setKind(l.set)].disks()
	return l.pod.mounts&^want != 0 && listed(w.excludeID.effective(""), nameOf(nodeIDs, "node-", l.volume.node))
}

// mayRecreate: a StatefulSet is deleted without its pods for other disks: where some do not come back
// otherwise, for further ones, or without those that no pod uses any more.
func (j *judge) mayRecreate(w *world, s *set, want shape) bool {
	index, have := w.setIndex(s.name), w.templates[s.template].shape
	if !w.disked() {
		return false
	}
	if s.returns = w.heldBack(index); s.returns {
		return true
	}
	if fewer := have.disks() &^ want.disks(); fewer != 0 && !have.smaller(want) && !have.other(want) && fewer&w.inUse(index) != 0 && want.disks()&^have.disks() == 0 {
		w.violate("A", "%s is to be recreated without %s, which its pods use", s.name, fewer)
	}
	return have.disks() != want.disks()
}

// keepsClaims: the claim templates of a StatefulSet that is recreated are those that it had, or those that were
// desired, and none is gone that a pod uses but where one does not come back otherwise.
func (j *judge) keepsClaims(w *world, s *set, is shape) {
	index, was := w.setIndex(s.name), w.templates[s.template].shape
	gone, come := was.disks()&^is.disks(), is.disks()&^was.disks()
	if lost := gone & w.uses(index); lost != 0 && !s.returns {
		w.violate("A", "%s is recreated without %s, which its pods use", s.name, lost)
	}
	if gone&s.wants.disks() != 0 && !s.returns || come&^s.wants.disks() != 0 {
		w.violate("H", "%s is recreated with claims of %v, had %v, and %v was desired", s.name, is, was, s.wants)
	}
}

// uses are the disks that pods of a StatefulSet use, whatever it has claim templates of.
func (w *world) uses(index int) (used diskSet) {
	for o := range maxOrdinals {
		if l := &w.slots[index*maxOrdinals+o]; l.pod.exists {
			used |= l.pod.mounts
		}
	}
	return used
}

// smaller: a claim template of this shape is smaller than desired.
func (s shape) smaller(want shape) bool {
	for disk := range maxDisks {
		have, has := s.of(disk)
		if want, there := want.of(disk); has && there && have.size < want.size {
			return true
		}
	}
	return false
}

// widens: what is written gives a template the disks back that pods use, and changes nothing else of it.
func (w *world) widens(s *set, wanted int) bool {
	was, is := w.templates[s.template], w.templates[wanted]
	return w.disked() && is.mounts != was.mounts && is.mounts&was.mounts == was.mounts && is.same(&was) && is.shape == was.shape
}

// keepsMounts: a template that is recreated mounts what it did, of the disks that there are claim templates
// of by now. One that is desired no more it may mount too, and those that its pods use: their claim templates
// are there; so also where such a pod is away, which comes back to its shards.
func (w *world) keepsMounts(s *set, was, is *template) bool {
	kept, used := was.mounts&is.shape.disks(), w.uses(w.setIndex(s.name))
	for i := range w.shards {
		for _, c := range w.shards[i].copies {
			if l := &w.slots[c.slot]; l.set.name == s.name && !l.pod.exists {
				used |= 1 << c.disk
			}
		}
	}
	used &= is.shape.disks()
	return is.mounts&kept == kept && (is.mounts&^used&^kept == 0 || is.hash == was.hash)
}

// leftBehind: tables are red by the reading of a daemon, and CrateDB has written on the claim of a disk that a pod came back
// without, though its StatefulSet has the disk. What is missing may be there, and nothing but a restart of that pod brings it
// back: what else is on its node is away meanwhile.
func (w *world) leftBehind(d *daemon, l *slot) bool {
	if d.observed.Database.Health.Colour != model.Red {
		return false
	}
	for disk := 1; disk < maxDisks; disk++ {
		k := l.claimOn(disk)
		if _, has := w.templates[l.set.template].shape.of(disk); has && k.exists && k.version != "" && !l.pod.has(disk) {
			return true
		}
	}
	return false
}

// bereft: a pod does without a disk of which it has the volume, and which its StatefulSet mounts.
func (w *world) bereft(l *slot) bool {
	return w.disked() && (w.hides(l) || l.pod.exists && l.pod.disks&w.templates[l.set.template].mounts&^l.pod.mounts != 0)
}
