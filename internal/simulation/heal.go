package simulation

import (
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// heal ends all faults, and people clean up after themselves.
func (w *world) heal() {
	w.healed, w.dueKnown = true, false
	w.judge.disturbed = w.now
	w.say("all faults are over")
	w.steps++
	w.stalled, w.unreachable, w.snapshotUntil, w.drains = 0, 0, 0, nil
	w.deafUntil, w.losing, w.present = 0, false, nil
	for i := range w.tables {
		w.tables[i].denied = false
	}
	w.noCrash, w.noVolume, w.unread = 0, 0, [views]millis{}
	w.disruptionStalled, w.collectorStalled = 0, 0
	w.repairsDrivers()
	w.repairsKubelets()
	w.rightMissing, w.rightUnknown = false, 0
	w.takesSetsBack()
	for i := range w.dead {
		w.dead[i], w.cordoned[i] = 0, 0
	}
	for _, d := range w.daemons {
		clear(d.view.stalled[:])
		d.paused = 0
	}
	for _, i := range w.used {
		p := &w.slots[i].pod
		if p.exists && !p.terminating && p.due > w.now+10*second {
			p.due = w.now + 10*second
		}
		if p.goneDue > w.now+10*second {
			p.goneDue = w.now + 10*second
		}
		if l := &w.slots[i]; l.unwellUntil > w.now {
			l.unwellUntil, p.readyDue = w.now, min(p.readyDue, w.now+second)
		}
	}
	for i := range w.sets {
		s := &w.sets[i]
		s.cacheDue = min(s.cacheDue, w.now+second)
		if s.due > 0 {
			s.due = min(s.due, w.now+second)
		}
	}
	going := w.goesOn()
	w.commands, w.pauseEnd = model.Commands{}, 0
	w.enable.transient, w.enable.theirTransient = "", ""
	if plain(w.enable.persistent) == plain(w.enable.theirs) && plain(w.enable.theirs) != "all" {
		w.enable.persistent, w.enable.theirs = "all", "all"
	} else if plain(w.enable.theirs) != "all" {
		w.enable.theirs = "all"
	}
	if w.ambiguous && w.stored.record.Lock == nil {
		w.enable.persistent, w.enable.theirs = "all", "all"
	}
	w.excludeName = clusterSetting{}
	w.jobsLog.transient, w.jobsLog.theirTransient = "", ""
	w.freeTables()
	for i := range w.slots {
		w.slots[i].full, w.slots[i].filled = false, 0
	}
	w.reroute = w.now

	w.repairsBackups()
	corrected := w.reachable()
	w.wantsBackups(&corrected)
	if gates.CompareMinor(going, corrected.version) > 0 {
		corrected.version = going
	}
	w.push(corrected, 100)
	w.retriesDrivers()
	c := w.head()
	data := c.replicas[1] + c.replicas[2]
	if w.schedule.Start.Swaps || w.disked() {
		data = max(data-1, 1) // one of them is drained
	}
	data = min(data, w.awaitsDisks())
	for i := range w.tables {
		t := &w.tables[i]
		if t.Low >= data {
			t.number = numberOf("0-1")
		}
	}
	w.endsClaims()
	w.freesDisks()
	w.saysWhose()
	w.dropsLost()
	if !c.stands() {
		// So are those whose only copies people have sent onto a node that was about to go,
		// after the last look.
		left := make([]bool, len(w.tables))
		for i := range w.tables {
			left[i] = w.gone(i, func(o *replica) bool {
				l := &w.slots[o.slot]
				return l.pod.exists || l.ordinal < max(l.set.replicas, c.replicas[w.setKind(l.set)])
			})
		}
		w.dropShards(left)
	}
}

// dropsLost: what is lost is lost, and its tables are dropped.
func (w *world) dropsLost() {
	if !w.judge.lost {
		return
	}
	lost := make([]bool, len(w.tables))
	for i := range w.tables {
		lost[i] = w.gone(i, func(*replica) bool { return true })
	}
	w.dropShards(lost)
}

// goesOn is the version of an upgrade that goes on as soon as people take its abort back, while
// a pod is away, or as soon as the claims are gone that somebody has deleted, with their pods: one
// may start on that version before their next push is seen, and no older one may be pushed then.
// "" for none.
func (w *world) goesOn() string {
	if slices.ContainsFunc(w.used, func(i int) bool { return w.slots[i].goesWith(func(k *claim) bool { return k.going }) }) {
		return w.commits[w.fetched()].version
	}
	if w.commandsAt(w.commits[w.fetched()].desired.Revision).Abort == "" {
		return ""
	}
	for i := range w.sets {
		for o := range w.sets[i].replicas {
			if p := &w.slots[i*maxOrdinals+o].pod; !p.exists || p.terminating {
				return w.commits[w.fetched()].version
			}
		}
	}
	return ""
}

// gone says that a shard of a table has no whole copy any more that counts.
func (w *world) gone(table int, counts func(*replica) bool) bool {
	if t := &w.tables[table]; t.source != "" && !t.came {
		return false // it never was there
	}
	for i := range w.shards {
		s := &w.shards[i]
		if s.table != table || !s.allocated {
			continue
		}
		whole := false
		for j := range s.copies {
			whole = whole || s.copies[j].synced && counts(&s.copies[j])
		}
		if !whole {
			return true
		}
	}
	return false
}
