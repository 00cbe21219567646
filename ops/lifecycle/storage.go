package lifecycle

import (
	"slices"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
)

// NeedsStorage reports whether the next decision may depend on storage classes: a desired
// StatefulSet is not there, and none of its claims, or a claim is to grow or to be of another class, or
// a disk to come.
func NeedsStorage(d *model.Desired, o *model.Observed) bool {
	unmade := func(c model.ClaimClass) bool { return aim.Unmade(o, c.Set) }
	disks := func(c *model.Change) bool { return c.Class == model.ChangeDisks }
	return !d.Removed && (slices.ContainsFunc(d.Storage, unmade) || aim.NeedsClasses(d, o) || model.Any(d.Changes, disks))
}

// RefuseClassless refuses a new cluster of which a claim could have no volume, before anything
// of it is made. What is there already is never held up.
func RefuseClassless(t *pass.Pass) bool {
	if len(t.Observed.Sets) > 0 || len(t.Observed.Claims) > 0 {
		return false
	}
	missing := aim.RefuseClasses(t, func(string) bool { return true })
	return aim.RefuseAttributes(t) || missing
}
