package ops

import "time"

// soonest is the least between two looks at an operation.
const soonest = 250 * time.Millisecond

// poll is when to look again without an event. After a step has begun most waits
// are short: so soon at first, then after a quarter of the time that has passed,
// and at Policy.Poll in the end; never sooner than atLeast. A wait whose end is known is
// looked at when it ends.
func (t *turn) poll() time.Duration {
	again := first(t.p.Poll, DefaultPoll)
	if op := t.r.Operation; op != nil {
		again = min(again, max(t.elapsed(op.stepBegan())/4, soonest))
	}
	again = max(again, t.atLeast)
	if t.ends > 0 {
		again = min(again, t.ends)
	}
	return again
}

// calm is between two looks at a cluster that is well, where only time has to pass: a budget
// follows what is seen within ten seconds all the same.
const calm = 4 * DefaultPoll

// endsIn says that a wait ends by itself, if nothing changes.
func (t *turn) endsIn(d time.Duration) {
	if d > 0 && (t.ends == 0 || d < t.ends) {
		t.ends = d
	}
}

// stepBegan is when what is being waited for began.
func (o *Operation) stepBegan() time.Time {
	began := o.Started
	if o.Restart != nil && o.Restart.Since.After(began) {
		began = o.Restart.Since
	}
	if o.Shrink != nil && o.Shrink.Since.After(began) {
		began = o.Shrink.Since
	}
	return began
}
