package simulation

import (
	"context"
	"errors"
	"slices"
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
	switch {
	case err != nil:
		return 0
	case n >= int(gibibyte): // of a claim whose template nobody knows
		return n / int(gibibyte)
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
	// a smaller claim template, and volumes that are too large are replaced.
	class         int
	ours, shrinks bool
}

// newClaim is made of the claim template that the StatefulSet controller knows.
func (w *world) newClaim(l *slot) claim {
	c := claim{exists: true}
	if w.driver() != noDriver {
		of := w.templates[l.set.seenTemplate].shape
		c.uid, c.asked, c.class, c.made = w.nextUID(), of.size, of.class, w.now
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
	all := int64(0)
	for disk := range maxDisks {
		if disk == 0 || l.pod.sees(disk) {
			all += l.sizeOn(disk)
		}
	}
	return all
}

func (w *world) takes() millis {
	if w.driver() == slowDriver {
		return w.rnd.span(2*second, 25*second)
	}
	return w.rnd.span(100, 2*second)
}

// mounted: the kubelet has the volume of a disk, whatever the process in the pod does.
func (l *slot) mounted(disk int) bool { return l.pod.has(disk) && l.pod.started > 0 }

func (w *world) claimsDue() millis {
	due := never
	for _, i := range w.used {
		for disk := range maxDisks {
			if at := w.slots[i].claimOn(disk).due; at > 0 {
				due = min(due, at)
			}
		}
	}
	return due
}

func (w *world) happenClaims() {
	for _, i := range w.used {
		for disk := range maxDisks {
			if c := w.slots[i].claimOn(disk); c.due > 0 && c.due <= w.now {
				c.due = 0
				w.drives(&w.slots[i], disk)
			}
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
func (w *world) drives(l *slot, disk int) {
	c := l.claimOn(disk)
	switch {
	case !c.exists:
	case c.asked <= c.capacity:
		w.resizes(c, model.ResizeNone)
	case w.driver() == limitedDriver && c.asked > mostSize && !w.unlimited:
		w.say("the driver cannot give %s %d GiB", l.claimNameOf(disk), c.asked)
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
	case l.mounted(disk):
		w.follows(l, disk)
	}
}

// follows: the file system is as large as the volume by now.
func (w *world) follows(l *slot, disk int) {
	c := l.claimOn(disk)
	c.capacity = w.gives(c.asked)
	w.say("%s has %d GiB", l.claimNameOf(disk), c.capacity)
	w.resizes(c, model.ResizeNone)
	if l.fullOn(disk) && l.usedOn(disk)*100 < l.sizeOn(disk)*85 {
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
	for disk := range maxDisks {
		if c := l.claimOn(disk); l.pod.has(disk) && c.resize == model.ResizeNode && !c.stuck {
			w.follows(l, disk)
		}
	}
}

// podGone: a claim that somebody has deleted goes with its pod.
func (w *world) podGone(l *slot, held diskSet) {
	for disk := range maxDisks {
		if l.claimOn(disk).going && held.has(disk) {
			w.losesClaim(l, disk)
		}
	}
}

func (w *world) losesClaim(l *slot, disk int) {
	c := l.claimOn(disk)
	w.say("the claim %s is gone, and its volume with it", l.claimNameOf(disk))
	gone := &w.judge.grownGone[w.setIndex(l.set.name)]
	gone.size, gone.at = c.capacity, w.now
	if c.resize == model.ResizeNode {
		gone.size = c.asked // its volume has grown, and the file system follows
	}
	w.judge.volumeLost(w, l, oneDisk(disk))
	w.loseDisks(l, oneDisk(disk))
	l.emptied = c.ours
	*c = claim{}
	w.bump(kindClaims)
}

// repairsDrivers: whatever has kept volumes from growing is over.
func (w *world) repairsDrivers() {
	for _, i := range w.used {
		for disk := range maxDisks {
			c := w.slots[i].claimOn(disk)
			again := c.stuck || w.driver() == silentDriver
			c.stuck = false
			if again && c.exists && c.asked > c.capacity {
				c.due = w.now + second
			}
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
	l, disk := w.claimNamed(name)
	if l == nil {
		return execute.ErrNotFound
	}
	c, n := l.claimOn(disk), gib(change.Size)
	switch {
	case c.uid != uid:
		return errConflict
	case c.unbound:
		return errors.New("403: Only bound persistent volume claims can be expanded")
	case n == c.asked:
		return o.d.after(f)
	case n < c.asked && n <= c.capacity:
		return errors.New("422: spec.resources.requests.storage: field can not be less than status.capacity")
	}
	w.judge.asks(w, o.d, l, disk, n)
	if w.telling() {
		w.say("daemon %s asks for %d GiB for %s, which has %d", o.d.name, n, name, c.capacity)
	}
	c.asked, c.askedAt, c.askedBy = n, w.now, o.d
	c.resize, c.due = model.ResizeNone, w.now+w.rnd.span(50, 800)
	version := w.bump(kindClaims)
	w.dueKnown = false
	if err := o.d.after(f); err != nil {
		return err
	}
	o.d.own[kindClaims] = version
	return nil
}

func (w *world) claimNamed(name string) (l *slot, disk int) {
	for _, i := range w.used {
		for disk := range maxDisks {
			if l := &w.slots[i]; l.claimOn(disk).exists && l.claimNameOf(disk) == name {
				return l, disk
			}
		}
	}
	return nil, 0
}

// watchClaims is what a watch shows of the claims.
func (d *daemon) watchClaims() {
	w, v := d.w, &d.view
	v.claims = v.claims[:0]
	for _, i := range w.used {
		for disk := range maxDisks {
			if l := &w.slots[i]; l.claimOn(disk).exists {
				v.claims = append(v.claims, w.seenClaim(l, disk))
			}
		}
	}
}

// volumeTemplate is the claim template of a StatefulSet; none in a world without a driver.
func volumeTemplate(set string, of shape) []model.VolumeTemplate {
	if of.size == 0 {
		return nil
	}
	var out []model.VolumeTemplate
	for disk := range maxDisks {
		if sort, there := of.of(disk); there {
			out = append(out, model.VolumeTemplate{Set: set, Name: diskName(disk), Size: int64(sort.size) * gibibyte, Text: sizeTexts[sort.size], Class: classNames[sort.class]})
		}
	}
	return out
}

func (w *world) firstVolumes() (of [3]shape) {
	if w.driver() != noDriver {
		of = [3]shape{{size: firstSize}, {size: firstSize}, {size: firstSize}}
	}
	return of
}

// endsClaims: what somebody deletes goes before people see what is left. Nobody takes a voter down in the moment in which
// another one ends without which there is no majority.
func (w *world) endsClaims() {
	for _, i := range w.used {
		l, goes := &w.slots[i], false
		if w.endsMajority(l) {
			continue
		}
		for disk := range maxDisks {
			if c := l.claimOn(disk); c.going && !c.ours {
				if goes = true; l.pod.up || l.pod.joined {
					w.judge.fault(w, l)
					w.stop(l)
				}
				w.losesClaim(l, disk)
			}
		}
		if goes {
			w.judge.fault(w, l)
			w.stop(l)
			if l.pod.exists && !l.pod.terminating {
				w.terminate(l)
			}
		}
	}
}

// retriesDrivers: what a driver could not give and can by now it tries again.
func (w *world) retriesDrivers() {
	for _, i := range w.used {
		for disk := range maxDisks {
			if c := w.slots[i].claimOn(disk); c.resize == model.ResizeFailed && w.unlimited {
				c.due = w.now + second
			}
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
		for disk := range maxDisks {
			if c := w.slots[i].claimOn(disk); c.exists && c.going {
				out = append(out, w.seenClaim(&w.slots[i], disk))
			}
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, o.d.before(o.d.call(callLook))
}

func (w *world) seenClaim(l *slot, disk int) model.Claim {
	c := l.claimOn(disk)
	seen := model.Claim{Name: l.claimNameOf(disk), Set: l.set.name, Ordinal: l.ordinal, ClusterID: c.clusterID, Version: c.version, Phase: "Bound", Terminating: c.going, Replace: c.agreed}
	if c.going {
		seen.Deleted = (c.goingAt / second * second).time()
	}
	if w.driver() != noDriver {
		seen.UID, seen.Template, seen.Class = c.uid, diskName(disk), classNames[c.class]
		if c.unbound {
			seen.Phase = "Pending"
		}
		if w.disked() {
			seen.Made = (c.made / second * second).time()
		}
		seen.Requested, seen.Capacity, seen.Resize = int64(c.asked)*gibibyte, int64(c.capacity)*gibibyte, c.resize
		if c.resize == model.ResizeNode {
			seen.Follows = (c.since / second * second).time()
		}
	}
	return seen
}

// endsMajority: the pod of a voter is just ending, and if this one ends too, the voters that are left are no majority.
func (w *world) endsMajority(l *slot) bool {
	ends, stay := false, 0
	for _, i := range w.used {
		o := &w.slots[i]
		if o == l || !slices.Contains(w.voters, o.volume.node) {
			continue
		}
		if ends = ends || o.pod.terminating; o.pod.up && !o.pod.terminating {
			stay++
		}
	}
	return ends && slices.Contains(w.voters, l.volume.node) && stay*2 <= len(w.voters)
}
