package view

import (
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// Bootstrapping reports whether the bootstrap has begun and has not ended.
func Bootstrapping(v *View) bool {
	return !v.Record.Bootstrap.Done && v.Record.Operation != nil && v.Record.Operation.Kind == model.OperationBootstrap
}

// Restoring reports whether a cluster that is being made waits for what a snapshot has.
func Restoring(v *View) bool {
	b := v.Desired.Backups
	return Bootstrapping(v) && b != nil && b.Restore != nil && !v.Record.Restore.Ended()
}

// Founding reports whether the cluster is being made, and its id is not recorded yet.
func Founding(v *View) bool { return Bootstrapping(v) && v.Record.ClusterID == "" }

// Made are the sets that a bootstrap waits for. Of a cluster that is being made these are only
// the nodes that are still desired: the others leave in a shrink, once it is made.
func Made(v *View) []model.RecordedSet {
	if !Bootstrapping(v) || v.Rejected {
		return v.Record.Sets
	}
	return StillWanted(v, v.Record.Sets)
}

// StillWanted are these sets without the nodes that are no longer desired.
func StillWanted(v *View, sets []model.RecordedSet) []model.RecordedSet {
	sets = slices.Clone(sets)
	for i := range sets {
		sets[i].Replicas = min(sets[i].Replicas, Target(v, sets[i].Name))
	}
	return sets
}
