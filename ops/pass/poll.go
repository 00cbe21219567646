package pass

import (
	"time"

	"stevedore.dev/stevedore/ops/model"
)

// Soonest is the least between two looks at an operation.
const Soonest = 250 * time.Millisecond

// Poll is when to look again without an event. Most waits after the begin of a step are short:
// so it is soon at first, then a quarter of the time that has passed, at most Policy.Poll, and
// never less than AtLeast. A wait whose end is known is looked at when it ends.
func (t *Pass) Poll() time.Duration {
	again := model.First(t.Policy.Poll, model.DefaultPoll)
	if op := t.Record.Operation; op != nil {
		again = min(again, max(t.Elapsed(op.StepBegan())/4, Soonest))
	}
	again = max(again, t.AtLeast)
	if t.Ends > 0 {
		again = min(again, t.Ends)
	}
	return again
}

// Calm is the time between two looks at a cluster that is well, where only time has to pass: a
// budget follows what is seen within ten seconds all the same.
const Calm = 4 * model.DefaultPoll

// EndsIn notes that a wait ends by itself after this time, if nothing changes.
func (t *Pass) EndsIn(d time.Duration) {
	if d > 0 && (t.Ends == 0 || d < t.Ends) {
		t.Ends = d
	}
}
