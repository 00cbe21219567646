package simulation

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// driver is what makes the volumes of a world larger. In a world without one nobody changes
// their size, and nothing of this file happens.
type driver uint8

const (
	noDriver       driver = iota
	quickDriver           // online, within seconds
	slowDriver            // online, within a minute
	roundingDriver        // online, and gives more than it is asked for
	offlineDriver         // the file system follows where a pod mounts the volume anew
	limitedDriver         // online; it says that it cannot give more than mostSize
	silentDriver          // it begins, and nothing comes of it before all faults are over
	drivers
)

func (d driver) String() string {
	return [...]string{"no driver", "quick", "slow", "rounds up", "offline", "limited", "silent"}[d]
}

// Sizes are in GiB.
const (
	firstSize = 100
	mostSize  = 140
	roundsTo  = 16
	gibibyte  = int64(1) << 30
	dataClaim = "data0"
)

func (w *world) driver() driver { return w.schedule.Start.Driver }

// sizeTexts are as definitions write them.
var sizeTexts = func() (all [512]string) {
	for i := range all {
		all[i] = strconv.Itoa(i) + "Gi"
	}
	return all
}()

// gib reads such a text; 0 for another one.
func gib(text string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(text, "Gi"))
	if err != nil {
		return 0
	}
	return n
}

// growth is how far the resize of a claim has come, with what is due next.
type growth struct {
	uid             string
	asked, capacity int
	resize          model.ResizeState
	askedAt, since  millis  // when it was asked last; since when it is as resize says
	askedBy         *daemon // who that was
	due             millis
	// stuck: its driver does nothing more with it before all faults are over.
	stuck bool
	// going: somebody has deleted it, and it stays until its pod has gone; agreed: a person says
	// by an annotation that its volume may go.
	going, agreed bool
	goingAt       millis
	// class is of classNames. ours: a daemon has deleted it. shrinks: its StatefulSet was recreated with
	// smaller claim templates, and volumes that are too large are replaced.
	class         int
	ours, shrinks bool
}

// newClaim is made of the claim template that the StatefulSet controller knows.
func (w *world) newClaim(l *slot) claim {
	c := claim{exists: true}
	if w.driver() != noDriver {
		of := w.templates[l.set.seenTemplate].shape
		c.uid, c.asked, c.class = w.nextUID(), of.size, of.class
		c.capacity = w.gives(c.asked)
	}
	return c
}

func (w *world) gives(size int) int {
	if w.driver() == roundingDriver {
		return (size + roundsTo - 1) / roundsTo * roundsTo
	}
	return size
}

// disk is how large CrateDB sees the file system of a node.
func (l *slot) disk() int64 {
	if l.claim.capacity > 0 {
		return int64(l.claim.capacity) * gibibyte
	}
	return diskSize
}

func (w *world) takes() millis {
	if w.driver() == slowDriver {
		return w.rnd.span(2*second, 25*second)
	}
	return w.rnd.span(100, 2*second)
}

// mounted: the kubelet has the volume, whatever the process in the pod does.
func (l *slot) mounted() bool { return l.pod.exists && l.pod.started > 0 }

func (w *world) claimsDue() millis {
	due := never
	for _, i := range w.used {
		if at := w.slots[i].claim.due; at > 0 {
			due = min(due, at)
		}
	}
	return due
}

func (w *world) happenClaims() {
	for _, i := range w.used {
		if c := &w.slots[i].claim; c.due > 0 && c.due <= w.now {
			c.due = 0
			w.drives(&w.slots[i])
		}
	}
}

func (w *world) resizes(c *claim, state model.ResizeState) {
	if c.resize != state {
		c.resize, c.since = state, w.now
		w.bump(kindClaims)
	}
}

// drives is what a driver does next with a claim that asks for more than it has.
func (w *world) drives(l *slot) {
	c := &l.claim
	switch {
	case !c.exists:
	case c.asked <= c.capacity:
		w.resizes(c, model.ResizeNone)
	case w.driver() == limitedDriver && c.asked > mostSize && !w.unlimited:
		w.say("the driver cannot give %s %d GiB", l.claimName, c.asked)
		w.resizes(c, model.ResizeFailed)
	case c.resize == model.ResizeNone, c.resize == model.ResizeFailed:
		w.resizes(c, model.ResizeController)
		c.due = w.now + w.takes()
	case c.stuck, w.driver() == silentDriver && !w.healed:
	case c.resize == model.ResizeController:
		w.resizes(c, model.ResizeNode)
		if w.driver() != offlineDriver {
			c.due = w.now + w.takes()
		}
	case l.mounted():
		w.follows(l)
	}
}

// follows: the file system is as large as the volume by now.
func (w *world) follows(l *slot) {
	c := &l.claim
	c.capacity = w.gives(c.asked)
	w.say("%s has %d GiB", l.claimName, c.capacity)
	w.resizes(c, model.ResizeNone)
	if l.full && l.diskUsed()*100 < l.disk()*85 {
		l.full, l.filled = false, 0
		w.judge.disturbed, w.reroute = w.now, max(w.now, 1)
	}
	if l.pod.joined {
		l.place.Load = l.load()
	}
}

// mounts: a pod that starts has its volume mounted, and then each driver makes the file system
// larger.
func (w *world) mounts(l *slot) {
	if c := &l.claim; c.resize == model.ResizeNode && !c.stuck {
		w.follows(l)
	}
}

// podGone: a claim that somebody has deleted goes with its pod.
func (w *world) podGone(l *slot) {
	if l.claim.going {
		w.losesClaim(l)
	}
}

func (w *world) losesClaim(l *slot) {
	w.say("the claim %s is gone, and its volume with it", l.claimName)
	gone := &w.judge.grownGone[w.setIndex(l.set.name)]
	gone.size, gone.at = l.claim.capacity, w.now
	if l.claim.resize == model.ResizeNode {
		gone.size = l.claim.asked // its volume has grown, and the file system follows
	}
	w.judge.volumeLost(w, l)
	w.loseVolume(l)
	l.emptied = l.claim.ours
	l.claim = claim{}
	w.bump(kindClaims)
}

// repairsDrivers: whatever has kept volumes from growing is over.
func (w *world) repairsDrivers() {
	for _, i := range w.used {
		l := &w.slots[i]
		c := &l.claim
		again := c.stuck || w.driver() == silentDriver
		c.stuck = false
		if again && c.exists && c.asked > c.capacity {
			c.due = w.now + second
		}
	}
}

// GrowClaim is refused as the API server does it.
func (o objects) GrowClaim(_ context.Context, name, uid string, change model.ClaimChange) error {
	w := o.d.w
	f, err := o.d.write()
	if err != nil {
		return err
	}
	l := w.claimNamed(name)
	if l == nil {
		return execute.ErrNotFound
	}
	c, n := &l.claim, gib(change.Size)
	switch {
	case c.uid != uid:
		return errConflict
	case n == c.asked:
		return o.d.after(f)
	case n < c.asked && n <= c.capacity:
		return errors.New("422: spec.resources.requests.storage: field can not be less than status.capacity")
	}
	w.judge.asks(w, o.d, l, n)
	if w.telling() {
		w.say("daemon %s asks for %d GiB for %s, which has %d", o.d.name, n, name, c.capacity)
	}
	c.asked, c.askedAt, c.askedBy = n, w.now, o.d
	c.resize, c.due = model.ResizeNone, w.now+w.rnd.span(50, 800)
	w.bump(kindClaims)
	w.dueKnown = false
	return o.d.after(f)
}

func (w *world) claimNamed(name string) *slot {
	for _, i := range w.used {
		if l := &w.slots[i]; l.claimName == name && l.claim.exists {
			return l
		}
	}
	return nil
}

// watchClaims is what a watch shows of the claims.
func (d *daemon) watchClaims() {
	w, v := d.w, &d.view
	v.claims = v.claims[:0]
	for _, i := range w.used {
		l := &w.slots[i]
		if !l.claim.exists {
			continue
		}
		v.claims = append(v.claims, w.seenClaim(l))
	}
}

// volumeTemplate is the claim template of a StatefulSet; none in a world without a driver.
func volumeTemplate(set string, of shape) []model.VolumeTemplate {
	if of.size == 0 {
		return nil
	}
	return []model.VolumeTemplate{{Set: set, Name: dataClaim, Size: int64(of.size) * gibibyte, Text: sizeTexts[of.size], Class: classNames[of.class]}}
}

func (w *world) firstVolumes() (of [3]shape) {
	if w.driver() != noDriver {
		of = [3]shape{{size: firstSize}, {size: firstSize}, {size: firstSize}}
	}
	return of
}

// endsClaims: what somebody deletes goes before people see what is left.
func (w *world) endsClaims() {
	for _, i := range w.used {
		if l := &w.slots[i]; l.claim.going && !l.claim.ours {
			w.judge.fault(w, l)
			w.stop(l)
			w.losesClaim(l)
			if l.pod.exists && !l.pod.terminating {
				w.terminate(l)
			}
		}
	}
}

// retriesDrivers: what a driver could not give and can by now it tries again.
func (w *world) retriesDrivers() {
	for _, i := range w.used {
		if c := &w.slots[i].claim; c.resize == model.ResizeFailed && w.unlimited {
			c.due = w.now + second
		}
	}
}

// DeletedClaims is what the API server has of them in this moment. Without one the look is not
// counted: recorded schedules say at which call of a daemon something happens.
func (o objects) DeletedClaims(context.Context) ([]model.Claim, error) {
	w := o.d.w
	o.d.claimsAt = w.now
	var out []model.Claim
	for _, i := range w.used {
		if l := &w.slots[i]; l.claim.exists && l.claim.going {
			out = append(out, w.seenClaim(l))
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, o.d.before(o.d.call(callLook))
}

func (w *world) seenClaim(l *slot) model.Claim {
	c := &l.claim
	seen := model.Claim{Name: l.claimName, Set: l.set.name, Ordinal: l.ordinal, ClusterID: c.clusterID, Version: c.version, Phase: "Bound", Terminating: c.going, Replace: c.agreed}
	if c.going {
		seen.Deleted = (c.goingAt / second * second).time()
	}
	if w.driver() != noDriver {
		seen.UID, seen.Template, seen.Class = c.uid, dataClaim, classNames[c.class]
		seen.Requested, seen.Capacity, seen.Resize = int64(c.asked)*gibibyte, int64(c.capacity)*gibibyte, c.resize
		if c.resize == model.ResizeNode {
			seen.Follows = (c.since / second * second).time()
		}
	}
	return seen
}
