package simulation

import (
	"context"
)

// DeleteClaim deletes a claim and says then that its volume may go, as the daemon's own does. The
// claim stays as long as its pod does.
func (o objects) DeleteClaim(_ context.Context, name, uid string) error {
	w := o.d.w
	f, err := o.d.write()
	if err != nil {
		return err
	}
	l, disk := w.claimNamed(name)
	switch {
	case l == nil || l.claimOn(disk).uid != uid:
		return nil
	case !l.claimOn(disk).going && w.rightMissing:
		return errForbidden
	case !l.claimOn(disk).going:
		c := l.claimOn(disk)
		w.say("daemon %s deletes the claim %s", o.d.name, name)
		w.judge.deletesClaim(w, o.d, l, disk)
		c.going, c.ours, c.goingAt = true, true, w.now
		w.bump(kindClaims)
		if !l.pod.has(disk) {
			w.losesClaim(l, disk)
		}
	case l.claimOn(disk).ours:
		w.judge.empty(w, o.d, l) // it is deleted already, whatever is desired by now
	default:
		w.judge.deletesClaim(w, o.d, l, disk)
	}
	if err := o.d.after(f); err != nil {
		return err
	}
	if f, err = o.d.write(); err != nil {
		return err
	}
	if l, disk = w.claimNamed(name); l == nil || l.claimOn(disk).uid != uid {
		return nil // its pod has gone meanwhile
	}
	l.claimOn(disk).agreed, l.claimOn(disk).ours = true, true
	w.bump(kindClaims)
	return o.d.after(f)
}
