package plan

import (
	"stevedore.dev/stevedore/ops/model"
)

// Refusals is a course that met these, one after the other.
func Refusals(all ...model.Reason) Course {
	var c course
	for _, r := range all {
		c.refuse(r)
	}
	return c.out
}

// Midway is where a run stands after so many passes; done is true where it has ended.
func Midway(s Start, passes int) (mid Start, done bool) {
	r, err := newRun(s)
	if err != nil {
		panic(err)
	}
	for range passes {
		if done, err = r.pass(); done || err != nil {
			break
		}
	}
	mid = s
	mid.Observed, mid.Record, mid.Now = r.model.observe(&r.start.Desired, &r.record), r.record, r.model.now
	return mid, done
}
