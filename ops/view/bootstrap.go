package view

import (
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// Bootstrapping reports whether the bootstrap has begun and has not ended.
func Bootstrapping(v *View) bool {
	return !v.Record.Bootstrap.Done && v.Record.Operation.Is(model.OperationBootstrap)
}

// Restoring reports whether a cluster that is being made waits for what a snapshot has.
func Restoring(v *View) bool {
	b := v.Desired.Backups
	return Bootstrapping(v) && b != nil && b.Restore != nil && !v.Record.Restore.Ended()
}

// Founding reports whether the cluster is being made, and its id is not recorded yet.
func Founding(v *View) bool { return Bootstrapping(v) && v.Record.ClusterID == "" }

// BootstrapSets are the sets that a bootstrap waits for: only the nodes that are still desired. The others leave
// in a shrink after the bootstrap.
func BootstrapSets(v *View) []model.RecordedSet {
	if !Bootstrapping(v) || v.Rejected {
		return v.Record.Sets
	}
	return StillDesired(v, v.Record.Sets)
}

// StillDesired are these sets without the nodes that are no longer desired.
func StillDesired(v *View, sets []model.RecordedSet) []model.RecordedSet {
	sets = slices.Clone(sets)
	for i := range sets {
		sets[i].Replicas = min(sets[i].Replicas, Target(v, sets[i].Name))
	}
	return sets
}
