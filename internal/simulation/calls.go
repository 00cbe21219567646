package simulation

import ()

// call is one step of a daemon outside itself.
type call uint8

const (
	callPass call = iota
	callRead
	callLook // a read of the API server
	callSQL
	callWrite
)

// call lets the world go on and takes what fault is due here.
func (d *daemon) call(c call) callFault {
	w := d.w
	switch c {
	case callPass:
		w.advance(w.now + w.rnd.span(0, 5))
	case callRead:
		w.advance(w.now + w.rnd.span(2, 40))
	default:
		w.steps++
		w.advance(w.now + w.rnd.span(1, 25))
	}
	if w.lease.holder == d && w.now-d.leased <= leaseDuration {
		// Renewed beside the work.
		d.leased, w.lease.renewed = w.now, w.now
	}
	if w.stored.record.Operation != nil && w.stored.exists {
		w.inOperation++
	}
	if w.driver() != noDriver && w.recreating() {
		w.inRecreation++
	}
	if w.stored.record.Replacing != nil {
		w.inReplacement++
	}
	if b := w.stored.record.Backups; b != nil && (b.Running != nil || b.Due.Schedule != "") {
		w.inBackup++
	}
	if b := w.stored.record.Backups; b != nil && b.Fetch != nil {
		w.inDrill++
	}
	if w.changesDisks() {
		w.inDisking++
	}
	f := w.faultAt(d, c)
	if f != noFault {
		w.judge.met = w.now
	}
	if d.doomed {
		panic(killed{})
	}
	return f
}

// callFault is what meets a call.
type callFault uint8

const (
	noFault callFault = iota
	faultKillBefore
	faultKillAfter
	faultConflict
	faultUnavailable
	faultTimeoutAfter
	faultPause
	faultForbidden
	callFaults
)

func (f callFault) String() string {
	return [...]string{"", "killed before", "killed after", "409", "429", "time-out after success", "paused", "refused by a webhook"}[f]
}

// write is before a write of the API server.
func (d *daemon) write() (callFault, error) {
	f := d.call(callWrite)
	if err := d.mayWrite(); err != nil {
		return f, err
	}
	return f, d.before(f)
}

// before is what a fault does before the effect.
func (d *daemon) before(f callFault) error {
	switch f {
	case faultKillBefore:
		panic(killed{})
	case faultConflict:
		return errConflict
	case faultUnavailable:
		return errUnavailable
	case faultForbidden:
		return errForbidden
	case faultPause:
		d.pause()
		return d.mayWrite()
	}
	return nil
}

// after is what it does after.
func (d *daemon) after(f callFault) error {
	switch f {
	case faultKillAfter:
		panic(killed{})
	case faultTimeoutAfter:
		return errTimeout
	}
	return nil
}

// pause is a process that stands still while the world goes on, another daemon
// included.
func (d *daemon) pause() {
	w := d.w
	until := w.now + w.rnd.span(5, 45)*second
	w.say("daemon %s stands still until %.1f", d.name, float64(until)/1000)
	d.paused = until
	for w.now < until {
		var next *daemon
		for _, o := range w.daemons {
			if o != d && o.paused <= w.now && o.wake < until && (next == nil || o.wake < next.wake) {
				next = o
			}
		}
		if next == nil {
			w.advance(until)
			break
		}
		w.advance(next.wake)
		next.take()
	}
	d.paused = 0
	w.steps++
	w.say("daemon %s goes on", d.name)
}
