package simulation

import (
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// judge knows the world and nothing of what is decided: not the record, not the
// gates. It shares no code with ops.
type judge struct {
	down      []judged // by slot
	highest   string   // version that ever started
	disturbed millis   // when people last changed what tables want
	faultAt   millis   // when a process last ended, or a fault took it
	faulted   millis   // when a fault last took a node that was there
	lost      bool     // a shard's last copy went with a volume
	hopeless  bool     // most voters went with their volumes
	// voterLost is when the last volume of a voter was lost; looked is when whoever let
	// nodes leave last had asked the database.
	voterLost, looked millis
	// quiet is since when the cluster has been paused or released, untouched; releases
	// which of them.
	quiet    millis
	releases bool
	// handsOff is until when a daemon took the cluster for paused or released: never while its last pass did.
	handsOff millis
	met      millis // when a fault last met a daemon's call
	// grownGone is the last claim of each set that went with its pod: what it had, and when.
	grownGone [3]struct {
		size int
		at   millis
	}
	// left is when the last pod was gone that its set wants no more.
	left     millis
	hindered bool // by the last pass what people exclude keeps ours
	reports  int
	calm     int // reports since all faults were over
	success  []string
	// stopped are the sets, by index, that a suspension has lowered.
	stopped [3]bool
	// lowered is when each set was last made smaller, and seen when whoever did it had last
	// asked where the copies are.
	lowered, seen [3]millis
	// restarted is the pod that a daemon took down last, and nil once it went down by something
	// else; lostRecord is when the record was lost.
	restarted  *slot
	lostRecord millis
	// lostSize: each set that was gone when a record was lost.
	lostSize [3]bool
	// consent: a definition that lets volumes be deleted was applied, and none since that does not.
	consent bool
	judgedBackups
	// refused is since when readings were refused the login of system; 0: the last was not.
	refused millis
}

// judged is why and since when a node is down, and when its process left the cluster: that of a pod
// that is going runs for a moment yet, and until then every look shows it. comes: it left before, and
// its set has been made larger since. member: its node was one then.
type judged struct {
	cause         cause
	since, left   millis
	comes, member bool
}

type cause uint8

const (
	notDown cause = iota
	byDaemon
	byEviction
	byFault
)

func (c cause) String() string {
	return [...]string{"up", "taken down by the daemon", "evicted", "down by a fault"}[c]
}

// counts makes room for each slot.
func (j *judge) counts(w *world) {
	if len(j.down) == 0 {
		j.down = slices.Grow(j.down, len(w.slots))[:len(w.slots)]
		clear(j.down)
	}
}

func (j *judge) note(w *world, l *slot, c cause) {
	j.counts(w)
	if d := &j.down[l.index]; d.cause == notDown {
		*d = judged{cause: c, since: w.now, member: l.pod.joined}
		if c == byFault {
			j.faulted = w.now
		}
		if j.restarted == l && c != byDaemon {
			j.restarted = nil
		}
	}
}

func (j *judge) of(l *slot) judged {
	if len(j.down) == 0 || l.pod.joined && l.pod.ready && !l.pod.terminating {
		return judged{}
	}
	return j.down[l.index]
}

// gone: a process has ended, for whatever reason was noted before, else a fault.
func (j *judge) gone(w *world, l *slot) {
	j.fault(w, l)
	if d := &j.down[l.index]; d.cause == byFault {
		d.left, j.faulted = w.now, w.now
	}
}

func (j *judge) fault(w *world, l *slot) {
	j.faultAt = w.now
	j.note(w, l, byFault)
}

// start is a process that begins.
func (j *judge) start(w *world, l *slot, version string) {
	if j.highest == "" || gates.CompareMinor(version, j.highest) > 0 {
		j.highest = version
	}
}

// up: a node is a member and its pod is ready, or one of both; with the other it is up
// again, in the moment in which it is: it may be gone again before anybody looks.
func (j *judge) up(l *slot) {
	if len(j.down) > 0 && l.pod.joined && l.pod.ready && !l.pod.terminating {
		j.down[l.index] = judged{}
	}
}

// soleCopies names a table of more than one copy that would be without an active
// one if the node went, and is whole now.
func (j *judge) soleCopies(w *world, l *slot) string {
	if w.master < 0 || !w.recovered {
		return ""
	}
	for i := range w.shards {
		s := &w.shards[i]
		t := &w.tables[s.table]
		if w.desiredReplicas(t) == 0 || !s.allocated {
			continue
		}
		c := s.on(l.index)
		if c == nil || c.slot != l.index || c.state < started || w.staying(s, l) {
			continue
		}
		return t.name
	}
	return ""
}

// staying: an active copy is on a node that is not going.
func (w *world) staying(s *shard, l *slot) bool {
	for i := range s.copies {
		if c := &s.copies[i]; c.state >= started && c.slot != l.index && !w.slots[c.slot].pod.terminating {
			return true
		}
	}
	return false
}

// deletes: a daemon deletes a pod.
func (j *judge) deletes(w *world, d *daemon, l *slot) {
	j.quietly(w, d, l.podName)
	j.restarts(w, d, l)
	j.adopts(w, l)
	j.replacesPod(w, d, l)
	j.endsVolume(w, d, l)
	j.losesDisks(w, d, l)
	j.breaks(w, d, l)
	if next := w.templates[l.set.template].version; w.refusesData(l, next) {
		w.violate("A", "the daemon deletes %s, which comes back on CrateDB %s, and its volume was written by %s", l.podName, next, l.volume.version)
	}
	// While a cluster is made, a node that has lost its master, and whose pod is never ready on what it
	// runs, serves nobody: the next one is its remedy.
	useless := w.master < 0 && w.unwell(l) && !w.stored.record.Bootstrap.Done
	if !l.pod.joined || !w.everRecovered || useless || d.acting == model.ActionReplaceStuckPod && l.pod.joinedAt > d.checked {
		// It is no member; or the cluster is being made, and nothing was ever in it; or it
		// joined after it, or another, was asked, and no look could show it.
		j.note(w, l, byDaemon)
		return
	}
	for _, i := range w.used {
		o := &w.slots[i]
		if o == l || o.ordinal >= o.set.replicas || !l.pod.ready && !w.unwell(l) {
			continue // what is not ready is cured one by one, whatever the others do
		}
		if !l.pod.ready && o.pod.joined && !o.pod.terminating {
			continue // it takes nobody from service, and the other is what counts before it goes: a member
		}
		if o.pod.joined && o.pod.ready && !o.pod.terminating {
			continue
		}
		if w.schedule.Start.Zones && o.set == l.set && o.kube%3 == l.kube%3 && !l.set.masters && j.of(o).cause == byDaemon && o.pod.terminating {
			continue // a zone goes together
		}
		if d.acting == model.ActionRecoverPod && !w.recovered {
			continue // before it has recovered the cluster serves nobody, and this is the remedy
		}
		since := max(j.of(o).since, j.of(o).left)
		if o.pod.terminating && o.pod.joined {
			since = w.now // it is going right now, and no statement can show it
		}
		if j.of(o).cause == byFault && since >= d.checked {
			continue // since the last look
		}
		if w.addsByHand(d, o) {
			continue
		}
		if w.quietSince(o, d) || w.askedFor(o, d) || w.leavesAfter(o, d) || j.unknownNode(w, o) {
			continue
		}
		w.violate("B", "the daemon deletes %s while %s is not there (%s for %d ms)", l.podName, o.podName, j.of(o).cause, w.now-since)
	}
	looked := d.checked
	if at := d.looked.tablesAt; at > 0 {
		looked = at // the nodes are asked for after the tables, and say nothing of those
	}
	if d.acting == model.ActionRestartZone {
		// Its last look asks whether all tables are green, and not in which zone their copies
		// are: people who move them all into this one have done so since the reading.
		looked = min(looked, d.readAt)
	}
	excused := w.tableChangedSince(looked) || w.newest(l) || w.leftBehind(d, l)
	if table := j.soleCopies(w, l); table != "" && !excused && !j.ending(w, d) {
		w.violate("availability", "the daemon deletes %s, which has the only active copy of a shard of %s", l.podName, table)
	}
	j.quorum(w, d, l)
	j.note(w, l, byDaemon)
}

// newest: no other node takes a copy of what has its primary on a newer version.
func (w *world) newest(l *slot) bool {
	for _, i := range w.used {
		if o := &w.slots[i]; o.pod.joined && gates.CompareMinor(w.versionOf(o), w.versionOf(l)) < 0 {
			return true
		}
	}
	return false
}

func (w *world) tableChangedSince(at millis) bool {
	if w.judge.disturbed >= at {
		return true
	}
	return w.judge.faulted >= at // it may be back by now, and its copies are not
}

// quorum: three or more that vote keep their majority.
func (j *judge) quorum(w *world, d *daemon, l *slot) {
	if len(w.voters) < 3 || w.master < 0 || j.unknownVoter(w, l.set) {
		return
	}
	up := w.upVoters()
	for _, i := range w.used {
		if o := &w.slots[i]; o != l && o.pod.up && d.showsGoing(o) && slices.Contains(w.voters, o.volume.node) {
			up--
		}
	}
	if w.tableChangedSince(d.checked) || j.ending(w, d) {
		return // no look could show it
	}
	if slices.Contains(w.voters, l.volume.node) && (up-1)*2 <= len(w.voters) {
		w.violate("B", "the daemon deletes %s: of %d voters %d stay", l.podName, len(w.voters), up-1)
	}
}

// loses: the record is lost, and with it how many nodes a StatefulSet had that is gone.
func (j *judge) loses(w *world) {
	j.lostRecord = w.now
	for i := range w.sets {
		j.lostSize[i] = j.lostSize[i] || w.away(i)
	}
}

// unknownVoter: a node votes that is of no pod which the StatefulSets have. The record was lost while this one was gone,
// and it was recreated without it.
func (j *judge) unknownVoter(w *world, s *set) bool {
	return j.lostSize[w.setIndex(s.name)] && slices.ContainsFunc(w.voters, func(node int) bool {
		return !slices.ContainsFunc(w.slots, func(l slot) bool { return l.volume.node == node && l.ordinal < l.set.replicas })
	})
}

// unknownNode: the record was lost while the StatefulSet of a node was gone, which is not made again yet or has somebody's in
// its place, and the node's pod is gone. Nothing says any more that there was one, if its volume is gone too. Of a group that
// has left the definition the volume says nothing: a node that left long ago has one.
func (j *judge) unknownNode(w *world, l *slot) bool {
	gone := j.lostSize[l.index/maxOrdinals] && (!l.set.exists || l.set.foreign) && !l.pod.exists
	return gone && (l.volume.node == 0 || w.leftSince(w.setKind(l.set), j.lostRecord))
}

// evicted: somebody's eviction was let through by the budgets. A pod that is not ready Kubernetes lets go by what its
// disruption controller has computed, though that is older than the pod's state: no budget is closed against it.
func (j *judge) evicted(w *world, l *slot) {
	behind := !l.pod.ready && w.driver() != noDriver && slices.ContainsFunc(w.budgets, func(b budget) bool { return b.masters == l.set.masters && b.pods != w.changed[kindPods] })
	if l.pod.joined && w.stored.record.Bootstrap.Done && !behind {
		for _, i := range w.used {
			o := &w.slots[i]
			if o == l || o.set.masters != l.set.masters || o.ordinal >= o.set.replicas {
				continue
			}
			down := j.of(o)
			if down.cause == byDaemon && !(o.pod.joined && o.pod.ready && !o.pod.terminating) {
				w.violate("B", "%s is evicted though the daemon has taken %s down %d ms ago: the budget stood open", l.podName, o.podName, w.now-down.since)
			}
		}
	}
	j.note(w, l, byEviction)
}

// removed: the StatefulSet controller ends a pod that is beyond the replicas.
func (j *judge) removed(w *world, l *slot) {
	if l.ordinal < l.set.replicas {
		return // the controller's cache is old, and nothing was ever lowered
	}
	// What people do to tables between the last look at them and what the controller makes
	// of the write is theirs, and so is what they lose by it.
	if i := w.setIndex(l.set.name); !j.stopped[i] && !j.changed(w, j.seen[i]) {
		j.holds(w, l, true)
	} else if !j.stopped[i] {
		j.theirs(w, l)
	}
	j.note(w, l, byDaemon)
}

// theirs: a table's own filter, or what else people did to it, brought the last copy
// of a shard to a node that was leaving. They drop the table.
func (j *judge) theirs(w *world, l *slot) {
	lost := make([]bool, len(w.tables))
	for i := range w.shards {
		s := &w.shards[i]
		here, stays := false, false
		for k := range s.copies {
			if c := &s.copies[k]; c.synced {
				o := &w.slots[c.slot]
				here = here || o == l
				stays = stays || o.ordinal < o.set.replicas
			}
		}
		lost[s.table] = lost[s.table] || here && !stays
	}
	w.dropShards(lost)
}

// deletesSet: a daemon deletes a StatefulSet.
func (j *judge) deletesSet(w *world, s *set) {
	index := w.setIndex(s.name)
	if c := &w.commits[w.fetched()]; c.wants(w.setKind(s)) || !w.schedule.Start.Leave {
		w.violate("D", "%s is deleted, and nobody has asked for it", s.name)
	}
	for o := range maxOrdinals {
		if w.slots[index*maxOrdinals+o].pod.exists {
			w.violate("A", "%s is deleted while %s is there", s.name, w.slots[index*maxOrdinals+o].podName)
		}
	}
}

// quietly: a definition that says paused or released is not touched.
func (j *judge) quietly(w *world, d *daemon, what string) {
	if c := &w.commits[d.want]; c.paused || c.released {
		w.violate("H", "%s is written, and the definition says paused or released", what)
	}
	switch c := w.commanded(d); {
	case c.Paused == "true", c.Released == "true":
		w.violate("H", "%s is written, and somebody has commanded to pause or to release", what)
	case c.Abort == "true" && (d.acting == model.ActionRestartPod || d.acting == model.ActionRestartZone):
		w.violate("H", "%s is restarted, and somebody has commanded to abort", what)
	}
}

// commanded is what a daemon has to know: given before its turn, and at the render
// that it works for.
func (w *world) commanded(d *daemon) model.Commands {
	if w.commandedAt >= d.began {
		return model.Commands{}
	}
	return w.commandsAt(w.commits[d.want].desired.Revision)
}

// joinedSince: the node has joined after its set was made smaller, which no look could
// show. What it gets in its last moment is no more than another copy.
func (j *judge) joinedSince(w *world, l *slot) bool {
	return l.ordinal >= l.set.replicas && l.pod.joinedAt > j.lowered[w.setIndex(l.set.name)]
}

// holds: a node that leaves must have nothing that counts. For good it may leave a zone with copies, by consent.
func (j *judge) holds(w *world, l *slot, good bool) {
	for i := range w.shards {
		s := &w.shards[i]
		synced := 0
		on := false
		for k := range s.copies {
			c := &s.copies[k]
			if c.slot == l.index && c.node == l.volume.node && c.state != onDisk && !j.joinedSince(w, l) && !(good && w.mayStay(s, l)) {
				w.violate("A", "%s is removed and holds a copy of %s, shard %d", l.podName, w.tables[s.table].name, s.id)
			}
			if c.synced {
				synced++
				on = on || c.slot == l.index
			}
		}
		if on && synced == 1 {
			w.violate("A", "%s is removed and its volume has the last whole copy of %s, shard %d", l.podName, w.tables[s.table].name, s.id)
		}
	}
}

// changed: since then people have done something to tables; or another node was lost, of a cluster in which one may leave
// with copies that others have too.
func (j *judge) changed(w *world, since millis) bool {
	return j.disturbed >= since || w.schedule.Start.Aware && j.faulted >= since
}

// lowers: a daemon lowers the replicas of a set, and has seen then where the copies are.
// What people do to tables after that brings a copy that no look could show.
func (j *judge) lowers(w *world, s *set, to int, seen millis) {
	index := w.setIndex(s.name)
	j.lowered[index], j.seen[index] = w.now, seen
	if to == 0 && w.commits[w.fetched()].stands() && w.schedule.Start.Leave {
		j.stopped[index] = true // all nodes are desired at rest, and the volumes stay
		return
	}
	if voters := len(w.voters); s.eligible && voters >= 3 && (s.replicas-to > 1 || to < 3) {
		w.violate("B", "%s, whose nodes vote, becomes %d from %d at once", s.name, to, s.replicas)
	}
	for o := to; o < s.replicas && !j.changed(w, max(seen, 1)); o++ {
		j.holds(w, &w.slots[index*maxOrdinals+o], true)
	}
}

func (j *judge) founded(w *world, l *slot) {
	// Most volumes of one that votes and was still being made are gone: it is beyond
	// rescue, and its first template founds another. So does one that has never recovered, before
	// anybody knows its id: nothing was ever in it.
	if w.founded > 1 && !j.hopeless && (w.everRecovered || w.stored.record.ClusterID != "") {
		w.violate("identity", "%s founds a second cluster", l.nodeName)
	}
}

// volumeLost notes what can be no more.
func (j *judge) volumeLost(w *world, l *slot, lost func(disk int) bool) {
	j.note(w, l, byFault)
	for i := range w.shards {
		s := &w.shards[i]
		left := false
		j.drainedForNewVolume(w, l, s, lost)
		for k := range s.copies {
			left = left || s.copies[k].synced && (s.copies[k].slot != l.index || !lost(s.copies[k].disk))
		}
		j.lost = j.lost || !left && s.allocated
	}
	if !w.losesNode(l, lost) {
		return // its id is on another disk too
	}
	gone := w.votersGone(l)
	j.hopeless = j.hopeless || gone*2 >= len(w.voters) && len(w.voters) > 0
	if slices.ContainsFunc(w.voters, l.carries) { // its first disk may have gone before
		j.voterLost = w.now
	}
}

// beyondRescue: most voters went with their volumes, or one did when no look could show it
// any more to who let another leave: without a master nobody takes that one off the voters.
func (j *judge) beyondRescue(w *world) bool {
	return j.hopeless || j.voterLost > 0 && j.voterLost >= j.looked && w.master < 0 && w.votersGone(nil)*2 >= len(w.voters)
}

func (j *judge) recorded(w *world, next *model.Record) {
	if w.stats == nil || next.Operation == nil {
		return
	}
	w.stats.seen(string(next.Operation.Kind))
}
