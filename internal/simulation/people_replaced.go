package simulation

import (
	"fmt"

	"stevedore.dev/stevedore/ops/model"
)

// swapping is the first seed whose schedule may have volumes that are replaced.
const swapping = 1_600_000_000

// shape is what a claim is made of: its size in GiB, and its storage class, of classNames.
type shape struct {
	size, class int
	more        [maxDisks - 1]sort // of data1, data2
}

var classNames = [...]string{"disks", "fast", "slow"}

func (s shape) String() string {
	words := fmt.Sprintf("%d GiB of %s", s.size, classNames[s.class])
	for i, m := range s.more {
		if m.size > 0 {
			words += fmt.Sprintf(", %s %d GiB of %s", diskName(i+1), m.size, classNames[m.class])
		}
	}
	return words
}

// other: claims of this shape never become those of that.
func (s shape) other(than shape) bool {
	for disk := range maxDisks {
		have, has := s.of(disk)
		if want, there := than.of(disk); has && there && have.other(want) {
			return true
		}
	}
	return false
}

func (s sort) other(than sort) bool { return s.class != than.class || than.size < s.size }

func (c *claim) sort() sort { return sort{size: c.asked, class: c.class} }

// sized has the volumes of all groups of one size.
func (c *commit) sized(size int) {
	for i := range c.volumes {
		c.volumes[i].size = size
	}
}

// ofReplacements are what meets the replacement of volumes, at a call of a daemon meanwhile.
var ofReplacements = []What{
	killBefore, killAfter, killBefore, killAfter, conflict, unavailable, timeoutAfter, standStill, forbid, restartDaemon,
	evict, evict, drainNode, deletePodByHand, killNode, crashProcess, loseVolume, stickTerminating, loseRecord, loseRecord, loseRecord,
	stallWatch, stallWatch, stallController, stallController, stallDisruption, stallCollector, makeSetByHand, deleteClaimByHand, agreeByHand,
	cutDatabase, unreadView, noExec, denySystem, pinTable, createTable, alterReplicas, snapshot, excludeByID, excludeByName, setTransient, setPersistent, fillDisks,
	pauseCommand, releaseCommand, abortCommand, pushPause, pushRelease, pushShrink, pushGrow, pushTemplate, pushBadTemplate, pushUpgrade, pushRestart, pushRevert, pushRemoveGroup, pushSuspend, scaleUpByHand,
	dropConsent, dropConsent, pushConsent, pushClassBack, pushClassBack, pushClass, pushSmaller, pushVolumes, dropRight, hideRight,
}

// swaps draws the replacement of volumes into a schedule.
func (s *Schedule) swaps(r *random) {
	s.Start.Swaps, s.Start.NoRight = true, r.oneIn(6)
	if s.Start.Driver == noDriver {
		s.Start.Driver = quickDriver
	}
	// Of fewer nodes none is replaced, and once in a while that is what there are.
	if s.Start.Masters > 0 && !r.oneIn(8) {
		s.Start.Masters, s.Start.Hot = max(s.Start.Masters, 3), max(s.Start.Hot, 2)
	}
	if s.Start.Masters == 0 && !r.oneIn(8) {
		s.Start.Hot = max(s.Start.Hot, 3)
	}
	s.Steps += 250
	add := func(what What, at millis) {
		s.Items = append(s.Items, Item{What: what, At: at, A: r.below(64), B: r.below(64)})
	}
	at := r.span(0, 10*second)
	if r.oneIn(8) {
		add(pushBoth, at)
	} else if !r.oneIn(16) {
		add(pushConsent, at)
	}
	at += r.span(5*second, 30*second)
	if add(pushClass, at); r.oneIn(3) {
		s.Items[len(s.Items)-1].What = pushSmaller
	}
	if s.Start.NoRight && !r.oneIn(4) {
		add(hideRight, at+r.span(0, minute)) // and known afterwards
	}
	for r.oneIn(2) {
		add(ofReplacements[r.below(len(ofReplacements))], at+r.span(0, 3*minute))
	}
	for n := 0; n == 0 || r.oneIn(2); n++ {
		s.Items = append(s.Items, Item{What: ofReplacements[r.below(len(ofReplacements))], Replacing: 1 + r.below(250), A: r.below(64), B: r.below(64)})
	}
}

// pushOthers pushes the consent to delete volumes, or volumes that no claim becomes.
func (w *world) pushOthers(it Item, c commit, lag millis) {
	if !w.schedule.Start.Swaps {
		return
	}
	group := func(i int) bool { return it.B%8 != 7 || i == it.A%3 } // mostly all
	for i := range c.volumes {
		v := &c.volumes[i]
		switch {
		case !group(i):
		case it.What == pushClass, it.What == pushBoth:
			v.class = (v.class + 1 + it.A%2) % len(classNames)
			switch it.B % 8 {
			case 4:
				v.size += 20
			case 5:
				v.size = max(v.size-30, 20)
			}
		case it.What == pushSmaller:
			v.size = max(v.size-[...]int{5, 20, 40}[it.A%3], 20)
		case it.What == pushClassBack:
			*v = shape{size: firstSize}
		}
	}
	switch it.What {
	case pushConsent, pushBoth:
		c.consent = true
	case dropConsent:
		c.consent = false
	case pushClass, pushSmaller:
		w.changesToo(&c, it.B%16)
	}
	w.push(c, lag)
}

// changesToo has a push of volumes change something else in the same commit.
func (w *world) changesToo(c *commit, what int) {
	switch what {
	case 8:
		c.content, c.bad = w.newContent(), good
	case 9:
		c.version = upgradeTo
	case 10:
		if c.replicas[1] > 0 && c.replicas[1] < maxOrdinals-2 {
			c.replicas[1]++
		}
	case 11:
		if c.replicas[1] > 3 {
			c.replicas[1]--
		}
	}
}

// mayDeleteClaims is what the API server says of the right to do so.
func (w *world) mayDeleteClaims(rec *model.Record) model.Answer {
	switch {
	case !w.schedule.Start.Swaps, rec.Replacing == nil, w.now < w.rightUnknown, rec.Operation != nil && rec.Operation.Restart == nil:
		return model.Unknown
	case w.rightMissing:
		return model.No
	}
	return model.Yes
}

// happenToRight changes whether claims may be deleted, or hides it for a while.
func (w *world) happenToRight(it Item) {
	w.rightMissing = it.What == dropRight && !w.rightMissing
	if it.What == hideRight {
		w.rightUnknown = w.now + millis(1+it.B)*second
	}
	w.say("claims may be deleted: %t, known from %.1f s on", !w.rightMissing, float64(w.rightUnknown)/1000)
}

// liveVolumes is of what the claim templates of a StatefulSet are, or are about to be: one that is being
// recreated gets those that it was deleted for.
func (w *world) liveVolumes(i int) (of shape, known bool) {
	s := &w.sets[i]
	if s.exists || s.orphaned {
		of, known = w.templates[s.template].shape, true
	} else if saved := templateByKey(w.stored.record.Saved[s.name]); saved >= 0 {
		of, known = w.templates[saved].shape, true
	}
	if op := w.stored.record.Operation; op != nil && op.Recreation != nil && op.Recreation.Set == s.name && (s.terminating || s.orphaned) {
		for disk := range maxDisks {
			sort, _ := of.of(disk)
			text, there := op.Recreation.Sizes.Size(diskName(disk))
			if sort.size = gib(text); !there && disk == 0 {
				continue
			}
			if class, ok := op.Recreation.Classes.Size(diskName(disk)); ok {
				sort.class = classOf(class)
			}
			of.put(disk, sort)
		}
	}
	return of, known
}

func classOf(name string) int {
	for i, n := range classNames {
		if n == name {
			return i
		}
	}
	return 0
}

// keepsShapes: volumes are replaced only where a definition that was applied consents to it.
func (w *world) keepsShapes(c *commit) {
	fetched := &w.commits[w.fetched()]
	may := w.stored.record.VolumesConsent && c.consent && fetched.consent
	for i := range w.sets {
		kind := w.setKind(&w.sets[i])
		if live, known := w.liveVolumes(i); known && !may && live.other(c.volumes[kind]) {
			c.volumes[kind] = live
		}
		w.unlimited = w.unlimited || c.volumes[kind].size > mostSize
	}
	c.consent = true
	c.offline = c.offline || w.driver() == offlineDriver
}

// keepsOthers: there are nodes enough that the volumes of one may be replaced.
func (w *world) keepsOthers(c *commit) {
	if !w.schedule.Start.Swaps || c.stands() {
		return
	}
	pending := w.onOthers(c) != "" || w.stored.record.Replacing != nil
	for i := range w.sets {
		live, known := w.liveVolumes(i)
		pending = pending || known && live.other(c.volumes[w.setKind(&w.sets[i])])
	}
	if !pending {
		return
	}
	for i := range w.sets {
		if s := &w.sets[i]; s.eligible {
			c.replicas[w.setKind(s)] = max(c.replicas[w.setKind(s)], 3)
		}
	}
	c.replicas[1] = max(c.replicas[1], 2-c.replicas[2])
}

// onOthers names a claim of a pod that is to be replaced; "" for none.
func (w *world) onOthers(c *commit) string {
	if !w.schedule.Start.Swaps {
		return ""
	}
	for _, i := range w.used {
		l := &w.slots[i]
		kind := w.setKind(l.set)
		for disk := range maxDisks {
			k := l.claimOn(disk)
			if want, there := c.volumes[kind].of(disk); !k.exists || !there || !c.wants(kind) || l.ordinal >= c.replicas[kind] {
				continue
			} else if k.class != want.class || k.shrinks && k.asked > want.size {
				return l.claimNameOf(disk)
			}
		}
	}
	return ""
}

// losesShrinks: without a record, and once a replacement has ended, nobody knows any more whether a claim
// is larger than its template because somebody has made it so, which stays, or because volumes became
// smaller (docs/volumes.md).
func (w *world) losesShrinks() {
	for _, i := range w.used {
		for disk := range maxDisks {
			w.slots[i].claimOn(disk).shrinks = false
		}
	}
}
