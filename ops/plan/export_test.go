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
