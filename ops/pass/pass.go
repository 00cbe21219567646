// Package pass is one pass over a cluster in the making: a view of it, and the decision
// that grows. Whatever decides writes through it.
package pass

import (
	"time"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

// Pass is one decision in the making. A function that takes a *Pass decides.
type Pass struct {
	view.View
	Decision model.Decision

	// NextSet is the set that a restart begins now.
	NextSet string
	// RollBack is a set that goes back to the template that it had: others come first, and no
	// pod is on the new one yet, or its pods are stuck on it.
	RollBack string
	// Ends is when the first wait ends by itself; 0: none is known to.
	Ends time.Duration
	// AtLeast is the least until the next look without an event; 0: Poll's own.
	AtLeast time.Duration
	// System is the name of the Secret of `system`, once it was asked for.
	System string
}
