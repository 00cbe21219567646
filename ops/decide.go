package ops

import (
	"time"

	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/compute"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/rollout"
	"stevedore.dev/stevedore/ops/setting"
	"stevedore.dev/stevedore/ops/tell"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/ops/volume"
)

// Decide returns what may be done next. It is pure: the same arguments give the same decision,
// and none of them is changed. What is observed has to come from caches that have caught up at
// least once.
func Decide(desired model.Desired, observed model.Observed, record model.Record, policy model.Policy, now time.Time) model.Decision {
	t := new(pass.Pass) // filled in place: it is large, and a literal would be copied
	t.Desired = desired
	t.Observed = observed
	t.Record = record
	t.Policy = policy
	t.Now = now
	t.Even = view.AllEven(&t.View)
	lifecycle.Rebuild(t)
	lifecycle.Command(t)
	aim.KeepAdopted(t)
	lifecycle.Withdraw(t)
	if volume.InGap(&t.View) {
		keep(t)
		t.Decision.Apply = true
		volume.Expand(t)
		volume.KeepOthers(t, false)
		volume.Guard(t)
		t.Decision.Effective.Budgets = t.Record.Budgets
		t.Waits(gates.Applied(t.Observed.ApplyErrors))
		t.Waits(gates.Contact(t.Contact(), t.Observed.Database.Error))
	} else if mayTouch(t, &record) {
		decideNext(t)
	}
	tell.Finish(t, &record)
	return t.Decision
}

// mayTouch reports whether this cluster is ours to touch at all. One that is not is kept as it is.
func mayTouch(t *pass.Pass, record *model.Record) bool {
	switch {
	case lifecycle.OwnedByAnother(t):
		t.Record = *record // it is the other's: nothing is written to it
		return false
	case lifecycle.Removed(t), lifecycle.Released(t), lifecycle.Paused(t):
		if t.Record.Exclusions != nil {
			access.WatchDenied(t) // a table that is hidden keeps the filters of a drain
		}
		closes := volume.Closes(t)
		if keep(t); closes {
			volume.KeepOthers(t, true)
			t.Decision.Apply = true
			t.Waits(gates.Applied(t.Observed.ApplyErrors))
		}
		return false
	}
	lifecycle.TakeUp(t)
	if lifecycle.Adopting(t) {
		keep(t)
		return false
	}
	if lifecycle.Renamed(t) || lifecycle.NotOurs(t) || lifecycle.Foreign(t) || lifecycle.RefuseClassless(t) {
		keep(t)
		tell.Refused(t)
		return false
	}
	return true
}

// decideNext finds out what is to be done next with a cluster that is ours.
func decideNext(t *pass.Pass) {
	// What of it may be applied now.
	aim.RefuseDefinition(t)
	aim.UpdateAdopted(t)
	create(t)
	backup.Backup(t)
	volume.Replace(t)
	volume.Removed(t)
	compute.Begin(t)
	start(t)
	startBootstrap(t)

	// What else is to be done, none of it waiting for the rest.
	tell.Failures(t)
	access.LabelSecrets(t)
	lifecycle.SystemUser(t)
	backup.Restore(t)
	access.Users(t)
	setting.Settings(t)
	access.References(t)
	volume.Grow(t)
	volume.Deleted(t)
	volume.DiskRestarts(t)
	compute.Resize(t)
	compute.Less(t)
	lifecycle.Bootstrap(t)
	continueOperation(t)
	access.Claims(t)
	tell.DropPastFailures(t)

	access.WatchDenied(t)
	setting.OthersFilters(t)
	t.WatchSlow()
	tell.WatchEnds(t)
	tell.Adopted(t)

	effective(t)
	rollout.ReplaceNamed(t)
	rollout.ReplaceStuck(t)
	t.Decision.Apply, t.Decision.Adopt = true, lifecycle.Adoption(&t.View)
	// Where another source defines the cluster too, the one that it belongs to goes on: or whoever can write a file
	// anywhere could hold up everyone's clusters.
	t.Waits(gates.DefinedTwice(t.Desired.Owner, t.Observed.OtherOwner))
	if a := t.Decision.Disruptive; a != nil {
		a.Free = view.FreeClaims(&t.View)
	}
	tell.Verify(t)
	lifecycle.Consent(t)
}
