package view

import (
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// Bootstrapping is true from the creation of the sets until the cluster id is
// recorded.
func Bootstrapping(v *View) bool {
	return !v.Record.Bootstrap.Done && v.Record.Operation != nil && v.Record.Operation.Kind == model.OperationBootstrap
}

// Made are the sets as the bootstrap waits for them: of a cluster that is being made, the
// nodes that are wanted still. What is not leaves as in any shrink, once it is made.
func Made(v *View) []model.RecordedSet {
	if !Bootstrapping(v) || v.Rejected {
		return v.Record.Sets
	}
	return StillWanted(v, v.Record.Sets)
}

// StillWanted are of these sets the nodes that are wanted by now.
func StillWanted(v *View, sets []model.RecordedSet) []model.RecordedSet {
	sets = slices.Clone(sets)
	for i := range sets {
		sets[i].Replicas = min(sets[i].Replicas, Target(v, sets[i].Name))
	}
	return sets
}
