package simulation

import (
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

// growing is the first seed whose schedule may have volumes that grow.
const growing = 1_100_000_000

// agreeing is the first seed whose schedule may have people who agree that a volume goes.
const agreeing = 1_400_000_000

// ofVolumes are what meets the growth of volumes, at a call of a daemon while a StatefulSet is
// recreated or at any time.
var ofVolumes = []What{
	killBefore, killAfter, killBefore, killAfter, conflict, unavailable, timeoutAfter, standStill, forbid, restartDaemon,
	evict, drainNode, deletePodByHand, deletePodByHand, killNode, loseRecord, loseRecord, stallWatch, stallController, stallController,
	stallDisruption, stallDisruption, stallCollector, makeSetByHand, makeSetByHand, deleteClaimByHand,
	pauseCommand, releaseCommand, abortCommand, pushPause, pushRelease, pushShrink, pushTemplate, pushRemoveGroup, pushSuspend, pushVolumesBack, scaleUpByHand,
}

// whileGrowing are what meets claims that grow.
var whileGrowing = []What{stickDriver, deleteClaimByHand, fillDisks, pushVolumesBack, pushVolumes, pushOffline, evict, loseRecord, restartDaemon, pushGrow, pushShrink, loseVolume}

// grows draws the growth of volumes into a schedule.
func (s *Schedule) grows(r *random) {
	s.Start.Driver = driver(1 + r.below(int(drivers)-1))
	if r.oneIn(3) {
		s.Start.Driver = quickDriver // the claims are soon done, and the StatefulSet is recreated
	}
	s.Start.Offline = r.oneIn(2)
	s.Steps += 60
	at := r.span(0, 20*second)
	s.Items = append(s.Items, Item{What: pushVolumes, At: at, A: r.below(64), B: r.below(64)})
	for r.oneIn(2) {
		i := Item{What: whileGrowing[r.below(len(whileGrowing))], At: at + r.span(0, minute), A: r.below(64), B: r.below(64)}
		s.Items = append(s.Items, i)
	}
	for n := 0; n == 0 || r.oneIn(2); n++ {
		s.Items = append(s.Items, Item{What: ofVolumes[r.below(len(ofVolumes))], Recreating: 1 + r.below(24), A: r.below(64), B: r.below(64)})
	}
}

// losesClaims draws claims that somebody deletes, what takes their pods down, and the remedy.
func (s *Schedule) losesClaims(r *random) {
	at := r.span(0, 30*second)
	for range r.between(1, 2) {
		s.Items = append(s.Items, Item{What: deleteClaimByHand, At: at + r.span(0, 10*second), A: r.below(64), B: r.below(64)})
	}
	takes := [...]What{pushTemplate, pushTemplate, pushUpgrade, pushSuspend, pushOffline, pushShrink, crashProcess, replaceCommand}
	for n := 0; n == 0 || r.oneIn(2); n++ {
		s.Items = append(s.Items, Item{What: takes[r.below(len(takes))], At: at + r.span(0, minute), A: r.below(64), B: r.below(64)})
	}
	if r.oneIn(2) {
		s.Items = append(s.Items, Item{What: agreeByHand, At: at + r.span(10*second, 2*minute), A: r.below(64), B: r.below(64)})
	}
}

// pushVolumes pushes larger volumes, mostly alone, or a size between: of the last one that was
// pushed and the one that the StatefulSets have.
func (w *world) pushVolumes(it Item, c commit, lag millis) {
	if w.driver() == noDriver {
		return
	}
	switch it.What {
	case pushOffline:
		c.offline = !c.offline
	case pushVolumesBack:
		least := firstSize
		for i := range w.sets {
			if w.sets[i].exists {
				least = max(least, w.templates[w.sets[i].template].size)
			}
		}
		for i := range c.volumes {
			v := &c.volumes[i]
			if v.size = (v.size + least) / 2; it.B%4 == 0 {
				v.size = least
			}
		}
	default:
		for i := range c.volumes {
			c.volumes[i].size = min(c.volumes[i].size+[...]int{8, 20, 30, 50}[it.A%4], 400)
		}
		switch it.B % 8 {
		case 3:
			c.content, c.bad = w.newContent(), good
		case 4:
			c.version = upgradeTo
		case 5:
			if c.replicas[1] > 0 && c.replicas[1] < maxOrdinals-2 {
				c.replicas[1]++
			}
		case 6:
			if c.replicas[1] > 1 {
				c.replicas[1]--
			}
		case 7:
			if c.warm && !c.stands() && c.replicas[1] > 0 {
				c.warm, c.replicas[2] = false, 0
			}
		}
	}
	w.push(c, lag)
}

// wantsVolumes puts the volumes into what is rendered of a commit.
func (w *world) wantsVolumes(c *commit) {
	if w.driver() == noDriver {
		return
	}
	for i := range c.desired.Sets {
		c.desired.Volumes = append(c.desired.Volumes, volumeTemplate(c.desired.Sets[i].Name, c.volumes[w.setKind(&w.sets[w.setIndex(c.desired.Sets[i].Name)])])...)
	}
	if c.offline {
		c.desired.Operations.OfflineResize = model.OfflineRestart
	}
}

// happenToVolumes is what meets claims, StatefulSets that are gone and their controllers.
func (w *world) happenToVolumes(it Item, l *slot) {
	if w.driver() == noDriver {
		return
	}
	until := w.now + millis(1+it.B)*second
	switch it.What {
	case dropRight, hideRight:
		if w.schedule.Start.Swaps {
			w.happenToRight(it)
		}
	case pushCompute, dropResize, stickKubelet:
		w.happenToCompute(it, l)
	case stickDriver:
		disk := w.diskOf(it, l)
		l.claimOn(disk).stuck = true
		w.say("%s grows no more", l.claimNameOf(disk))
	case stallDisruption:
		w.disruptionStalled = until
		for i := range w.budgets {
			if b := &w.budgets[i]; b.due > 0 {
				b.due = max(b.due, until)
			}
		}
	case stallCollector:
		w.collectorStalled = until
		for i := range w.sets {
			if s := &w.sets[i]; s.orphaning.due > 0 {
				s.orphaning.due = max(s.orphaning.due, until)
			}
		}
	case deletePodByHand:
		if l.pod.exists && !l.pod.terminating {
			w.say("somebody deletes %s, whatever the budget says", l.podName)
			w.judge.fault(w, l)
			w.terminate(l)
		}
	case makeSetByHand:
		w.makesSet(it)
	case agreeByHand:
		for _, i := range w.used {
			for disk := range maxDisks {
				if c := w.slots[i].claimOn(disk); c.going && !c.agreed {
					c.agreed = true
					w.say("somebody says that the volume of %s may go", w.slots[i].claimNameOf(disk))
					w.bump(kindClaims)
				}
			}
		}
	case deleteClaimByHand:
		disk := w.diskOf(it, l)
		switch c := l.claimOn(disk); {
		case !c.exists:
		case l.pod.has(disk):
			c.going, c.goingAt = true, w.now
			w.bump(kindClaims)
			w.say("somebody deletes the claim %s, which stays until its pod has gone", l.claimNameOf(disk))
		default:
			w.losesClaim(l, disk)
		}
	}
}

// recreating: a recreation is recorded, or a StatefulSet is away from its pods.
func (w *world) recreating() bool {
	if op := w.stored.record.Operation; op != nil && op.Kind == model.OperationExpand {
		return true
	}
	for i := range w.sets {
		if s := &w.sets[i]; s.terminating || s.orphaned && !s.exists {
			return true
		}
	}
	return false
}

// keepsVolumes: volumes that have grown never become smaller, and none is desired that the driver cannot give;
// what works offline is restarted for.
func (w *world) keepsVolumes(c *commit) {
	switch {
	case w.driver() == noDriver:
		return
	case w.schedule.Start.Swaps:
		w.keepsShapes(c)
		return
	}
	size := max(c.volumes[1].size, w.commits[w.fetched()].volumes[1].size)
	if w.driver() == limitedDriver {
		size = min(size, mostSize)
	}
	for i := range w.sets {
		s := &w.sets[i]
		if s.exists || s.orphaned {
			size = max(size, w.templates[s.template].size)
		}
		// One that is gone comes back as it was saved last, and then has that size.
		if saved := templateByKey(w.stored.record.Saved[s.name]); s.orphaned && saved >= 0 {
			size = max(size, w.templates[saved].size)
		}
	}
	if op := w.stored.record.Operation; op != nil && op.Recreation != nil {
		if text, ok := op.Recreation.Sizes.Size(dataClaim); ok {
			size = max(size, gib(text))
		}
	}
	c.offline = c.offline || w.driver() == offlineDriver
	c.sized(size)
	w.unlimited = size > mostSize // pods that came later have such volumes: it has to give them
}

// saysWhose: somebody has raised replicas by hand, and a pod that came by that has never joined. The
// status asks whose its claim is once the definition has that node too.
func (w *world) saysWhose() {
	for _, i := range w.used {
		l := &w.slots[i]
		s := view.Recorded(w.stored.record.Sets, l.set.name)
		if s != nil && l.ordinal >= s.Replicas && l.pod.exists && l.claim.exists && l.volume.node == 0 && l.claim.clusterID == "" {
			l.claim.clusterID = clusterID
			w.say("somebody says that %s is of this cluster", l.claimName)
		}
	}
}
