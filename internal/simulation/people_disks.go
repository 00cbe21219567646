package simulation

import "slices"

// disking is the first seed whose schedule may have nodes that get more disks, or fewer.
const disking = 2_300_000_000

// ofDisks are what meets disks that come and go, at a call of a daemon meanwhile.
var ofDisks = []What{
	killBefore, killAfter, killBefore, killAfter, conflict, unavailable, timeoutAfter, standStill, forbid, restartDaemon,
	evict, evict, drainNode, deletePodByHand, deletePodByHand, deletePodByHand, killNode, crashProcess, loseVolume, stickTerminating, loseRecord, loseRecord, loseRecord,
	stallWatch, stallWatch, stallController, stallController, stallDisruption, stallCollector, makeSetByHand, deleteClaimByHand, agreeByHand,
	cutDatabase, unreadView, noExec, denySystem, pinTable, createTable, alterReplicas, snapshot, excludeByID, excludeByName, setTransient, setPersistent, fillDisks,
	pauseCommand, releaseCommand, abortCommand, replaceCommand, pushPause, pushRelease, pushShrink, pushGrow, pushTemplate, pushBadTemplate, pushUpgrade, pushRestart, pushRevert, pushRemoveGroup, pushSuspend, scaleUpByHand,
	pushMoreDisks, pushFewerDisks, pushDisksBack, pushDisksBack, pushVolumes, pushClass, pushConsent, pushCompute,
}

// disks draws other numbers of disks into a schedule.
func (s *Schedule) disks(r *random) {
	s.Start.Disks = 1 + r.below(2)
	if r.oneIn(6) {
		s.Start.Disks = maxDisks
	}
	if s.Start.Driver == noDriver {
		s.Start.Driver = quickDriver
	}
	// Of one node no disk is taken, and once in a while that is what there is.
	if s.Start.Masters > 0 && !r.oneIn(8) {
		s.Start.Hot = max(s.Start.Hot, 2)
	}
	if s.Start.Masters == 0 && !r.oneIn(8) {
		s.Start.Hot = max(s.Start.Hot, 3)
	}
	s.Steps += 200
	add := func(what What, at millis) {
		s.Items = append(s.Items, Item{What: what, At: at, A: r.below(64), B: r.below(64)})
	}
	at := r.span(0, 10*second)
	first, second := pushMoreDisks, pushFewerDisks
	if s.Start.Disks > 1 && !r.oneIn(4) {
		first, second = second, first
	}
	add(first, at)
	switch r.below(4) {
	case 0:
		add(second, at+r.span(5000, 3*minute))
	case 1:
		add(pushDisksBack, at+r.span(5000, 2*minute))
	}
	for r.oneIn(2) {
		add(ofDisks[r.below(len(ofDisks))], at+r.span(0, 3*minute))
	}
	for n := 0; n == 0 || r.oneIn(2); n++ {
		s.Items = append(s.Items, Item{What: ofDisks[r.below(len(ofDisks))], Disking: 1 + r.below(200), A: r.below(64), B: r.below(64)})
	}
}

// pushDisks pushes another number of disks, mostly of all groups and alone.
func (w *world) pushDisks(it Item, c commit, lag millis) {
	if !w.disked() {
		return
	}
	for i := range c.disks {
		n := &c.disks[i]
		switch {
		case it.B%8 == 7 && i != it.A%3, it.B%8 == 6 && i == 0:
		case it.What == pushMoreDisks:
			*n = min(*n+1+it.A%5/4, maxDisks)
		case it.What == pushFewerDisks:
			*n = max(*n-1-it.A%4/3, 1)
		case it.What == pushDisksBack:
			*n = w.disksBefore(i)
		}
	}
	w.changesToo(&c, it.B%16)
	if it.B%16 == 12 {
		c.sized(min(c.volumes[1].size+20, mostSize))
	}
	w.push(c, lag)
}

// disksBefore is how many disks a group was to have before the last change of that.
func (w *world) disksBefore(group int) int {
	now := w.head().disks[group]
	for i := len(w.commits) - 1; i >= 0; i-- {
		if n := w.commits[i].disks[group]; n != now {
			return n
		}
	}
	return now
}

// keepsDisks: nobody wants fewer disks while a pod has not all, nor takes one away that a pod has and its
// StatefulSet has not; nor fewer where no other node takes what is on them.
func (w *world) wantsDisks(c *commit) {
	if !w.disked() {
		return
	}
	fewer := false
	for i := range w.sets {
		s := &w.sets[i]
		kind := w.setKind(s)
		live, known := w.liveVolumes(i)
		if !known {
			continue
		}
		lacking, extra := false, diskSet(0)
		for o := range maxOrdinals {
			if p := &w.slots[i*maxOrdinals+o].pod; p.exists {
				lacking = lacking || live.disks()&^p.disks != 0
				extra |= p.mounts &^ live.disks()
			}
		}
		has := w.countDisks(live.disks() | extra)
		moving := s.terminating || s.orphaned && !s.exists || !w.stored.record.Bootstrap.Done
		if c.disks[kind] < has && (lacking || extra != 0 || moving) || moving && !w.stored.record.Bootstrap.Done {
			c.disks[kind] = has
		}
		fewer = fewer || c.disks[kind] < has && !s.masters && c.wants(kind)
	}
	if fewer && !c.stands() {
		c.replicas[1] = max(c.replicas[1], 2-c.replicas[2])
	}
}

func (w *world) countDisks(disks diskSet) int {
	for n := maxDisks; n > 1; n-- {
		if disks.has(n - 1) {
			return n
		}
	}
	return 1
}

// freesDisks: people delete the claims of disks that no pod uses and that another node has written on: it
// does not start with one.
func (w *world) freesDisks() {
	for _, i := range w.used {
		l := &w.slots[i]
		for disk := 1; disk < maxDisks; disk++ {
			c, v := l.claimOn(disk), l.volumeOn(disk)
			stale := c.exists && v.node != 0 && (v.node != l.volume.node || l.claim.made > c.made+30*second)
			another := l.volume.node != 0 && v.node != l.volume.node
			if !stale || l.pod.sees(disk) && !another {
				continue
			}
			w.say("somebody deletes the claim %s, which nobody needs", l.claimNameOf(disk))
			if l.pod.has(disk) {
				w.judge.fault(w, l)
				w.stop(l)
				defer w.terminate(l)
			}
			w.losesClaim(l, disk)
		}
	}
}

// awaitsDisks is how many copies fit while nodes wait until all pods have the same disks, one of them down;
// many where none waits for that.
func (w *world) awaitsDisks() int {
	waits, nodes := false, 0
	for i := range w.sets {
		s := &w.sets[i]
		if waits = waits || w.disked() && w.mixed(i); s.exists && !s.masters {
			nodes += s.replicas
		}
	}
	if !waits {
		return maxOrdinals * len(w.sets)
	}
	return max(nodes-1, 1)
}

// mixes: a pod does not start, for a disk of it is another node's, and people have had the time to see it.
func (w *world) mixes() bool {
	return slices.ContainsFunc(w.used, func(i int) bool {
		l := &w.slots[i]
		return l.pod.exists && !l.pod.up && l.pod.phase == running && l.mixesNodes()
	})
}

// diskOf is the disk of a slot that an item strikes.
func (w *world) diskOf(it Item, l *slot) int {
	if disk := it.B % maxDisks; w.disked() && l.claimOn(disk).exists {
		return disk
	}
	return 0
}

// losesDisk: all volumes of a slot are lost, or one of several.
func (w *world) losesDisk(it Item, l *slot) {
	lost := everyDisk
	if disk := it.B % maxDisks; w.disked() && it.B%2 == 0 && l.claimOn(disk).exists {
		lost = oneDisk(disk)
		w.say("the volume %s is lost", l.claimNameOf(disk))
	} else {
		w.say("the volume of %s is lost", l.podName)
	}
	w.judge.volumeLost(w, l, lost)
	w.loseDisks(l, lost)
}
