package pass

import (
	"time"

	"stevedore.dev/stevedore/ops/model"
)

// Soonest is the least between two looks at an operation.
const Soonest = 250 * time.Millisecond

// Poll is when to look again without an event. After a step has begun most waits
// are short: so soon at first, then after a quarter of the time that has passed,
// and at Policy.Poll in the end; never sooner than atLeast. A wait whose end is known is
// looked at when it ends.
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

// Calm is between two looks at a cluster that is well, where only time has to pass: a budget
// follows what is seen within ten seconds all the same.
const Calm = 4 * model.DefaultPoll

// EndsIn says that a wait ends by itself, if nothing changes.
func (t *Pass) EndsIn(d time.Duration) {
	if d > 0 && (t.Ends == 0 || d < t.Ends) {
		t.Ends = d
	}
}
