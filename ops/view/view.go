// Package view is what is known of a cluster in one pass: what is desired, observed and
// recorded, and what follows from it. Nothing in it decides or changes anything.
package view

import (
	"time"

	"stevedore.dev/stevedore/ops/model"
)

// View is what one decision goes by. A function that takes a *View only reads.
type View struct {
	Desired  model.Desired
	Observed model.Observed
	// Record is the next one: what this pass has decided so far is in it. Slices are
	// copied before they are changed.
	Record model.Record
	Policy model.Policy
	Now    time.Time

	// Rejected is true when a refusal keeps the StatefulSets as they are.
	Rejected bool
	// Suspending is true while the cluster is suspended, or on its way there or back:
	// its templates stay as they were.
	Suspending bool
	// Commanded is true when a command wins over the definition.
	Commanded model.Commands
	// Adopted are the StatefulSets that keep the pod template that they were adopted with, and
	// Kept is what the desired ones have otherwise: none of it is in Desired.Changes.
	Adopted []string
	Kept    []model.Change

	// Even is true where each pod has exactly the disks that its StatefulSet has claim templates of, as in most
	// passes. False says nothing: then each pod is looked at.
	Even bool
}
