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
	l := w.claimNamed(name)
	switch {
	case l == nil || l.claim.uid != uid:
		return nil
	case !l.claim.going && w.rightMissing:
		return errForbidden
	case !l.claim.going:
		w.say("daemon %s deletes the claim %s", o.d.name, name)
		w.judge.deletesClaim(w, o.d, l)
		l.claim.going, l.claim.ours, l.claim.goingAt = true, true, w.now
		w.bump(kindClaims)
		if !l.pod.exists {
			w.losesClaim(l)
		}
	default:
		w.judge.deletesClaim(w, o.d, l)
	}
	if err := o.d.after(f); err != nil {
		return err
	}
	if f, err = o.d.write(); err != nil {
		return err
	}
	if l = w.claimNamed(name); l == nil || l.claim.uid != uid {
		return nil // its pod has gone meanwhile
	}
	l.claim.agreed, l.claim.ours = true, true
	w.bump(kindClaims)
	return o.d.after(f)
}
