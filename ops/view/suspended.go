package view

import (
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// PartlyStopped reports whether a suspension has stopped some of the nodes already: then its gates were
// looked at, and there may be nobody left who answers.
func PartlyStopped(v *View) bool {
	return slices.ContainsFunc(v.Record.Suspended, func(before model.RecordedSet) bool {
		s := Recorded(v.Record.Sets, before.Name)
		return s != nil && s.Replicas < before.Replicas
	})
}
