package model

import (
	"maps"
	"slices"
)

// Equal reports whether two records say the same, saved objects included.
func (r *Record) Equal(o *Record) bool { return r.DecidedEqual(o) && maps.Equal(r.Saved, o.Saved) }

// DecidedEqual leaves out the saved objects. Each case is a difference. Times are compared
// with Equal: a time that was stored has no monotonic reading.
func (r *Record) DecidedEqual(o *Record) bool {
	switch {
	// Whose cluster it is, and which one.
	case r.SchemaVersion != o.SchemaVersion, r.Owner != o.Owner, r.ClusterName != o.ClusterName, r.ClusterID != o.ClusterID, r.Pins != o.Pins:
	// What was taken up of its definition.
	case r.Revision != o.Revision, r.Commit != o.Commit, r.Stage != o.Stage, r.AllowedCIDRs != o.AllowedCIDRs, r.DeleteConsent != o.DeleteConsent:
	// What runs.
	case r.HighestVersion != o.HighestVersion, r.Version != o.Version, r.TLS != o.TLS, !sameList(r.Sets, o.Sets), !sameList(r.Suspended, o.Suspended):
	case !slices.EqualFunc(r.References, o.References, SameReference), !samePart(r.Compute, o.Compute), !sameList(r.Computes, o.Computes), !sameList(r.Budgets, o.Budgets), !r.Budget.equal(o.Budget):
	case LicenceName(r.License) != LicenceName(o.License), r.LicenseSecret != o.LicenseSecret, r.LicenseChange != o.LicenseChange, !r.Bootstrap.equal(&o.Bootstrap):
	// What is under way, and which templates have come up.
	case !r.Operation.equal(o.Operation), !r.Removal.equal(o.Removal), r.RestartedAt != o.RestartedAt, r.RestartedBy != o.RestartedBy:
	case !samePart(r.Replacing, o.Replacing), !samePart(r.Removing, o.Removing), r.VolumesConsent != o.VolumesConsent:
	case !r.Growth.equal(o.Growth), !r.Resizing.equal(o.Resizing), r.RecoverDue != o.RecoverDue, !sameList(r.OnTrial, o.OnTrial), !sameList(r.Verified, o.Verified), !sameList(r.Adopted, o.Adopted):
	// What we have set in the database.
	case !samePart(r.Lock, o.Lock), !r.LockHidden.Equal(o.LockHidden), !r.Exclusions.equal(o.Exclusions), !sameList(r.Settings, o.Settings):
	case !r.Backups.equal(o.Backups), !r.Restore.equal(o.Restore):
	// What was reported, and what was asked for last.
	case r.UnexplainedLock != o.UnexplainedLock, r.UnexplainedExclusion != o.UnexplainedExclusion, r.OthersSettings != o.OthersSettings, r.OthersFilters != o.OthersFilters:
	case r.DeletedClaims != o.DeletedClaims, r.Seen != o.Seen, r.Denied != o.Denied, !r.Slow.equal(o.Slow), !endsEqual(r.Ends, o.Ends), r.Seq != o.Seq, r.Last != o.Last, r.Command != o.Command:
	default:
		return true
	}
	return false
}

func (b *Bootstrap) equal(o *Bootstrap) bool {
	system := b.System == o.System && b.SystemChange.equal(o.SystemChange)
	return b.Done == o.Done && b.Licence == o.Licence && system && sameList(b.Users, o.Users)
}

func (op *Operation) equal(o *Operation) bool {
	if op == nil || o == nil {
		return op == o
	}
	switch {
	// What it is, and where it stands.
	case op.Kind != o.Kind, op.Step != o.Step, op.Revision != o.Revision, !op.Started.Equal(o.Started), op.TimedOut != o.TimedOut:
	case !slices.Equal(op.From, o.From), !slices.Equal(op.To, o.To):
	// How far its kind has come.
	case !op.Restart.equal(o.Restart), !op.Shrink.equal(o.Shrink), !samePart(op.Upgrade, o.Upgrade), !samePart(op.Recreation, o.Recreation):
	default:
		return true
	}
	return false
}

func (s *Shrink) equal(o *Shrink) bool {
	if s == nil || o == nil {
		return s == o
	}
	switch {
	// What becomes smaller, and who leaves.
	case s.Masters != o.Masters, s.Replaces != o.Replaces, s.Set != o.Set, s.From != o.From, s.To != o.To, s.Before != o.Before:
	case s.LeaveZone != o.LeaveZone, !slices.Equal(s.Leaving, o.Leaving):
	// How far the drain has come.
	case !s.Since.Equal(o.Since), s.Shards != o.Shards, s.Bytes != o.Bytes, !s.Moving.Equal(o.Moving), !s.StillSince.Equal(o.StillSince):
	case !s.Drained.Equal(o.Drained), !slices.Equal(s.Evidence, o.Evidence), !slices.Equal(s.Pinned, o.Pinned), !slices.Equal(s.Behind, o.Behind):
	// What was seen and done on the way.
	case !s.Rerouted.Equal(o.Rerouted), s.SnapshotRuns != o.SnapshotRuns, !s.Hidden.Equal(o.Hidden), s.MasterStable != o.MasterStable:
	default:
		return true
	}
	return false
}

func (r *Restart) equal(o *Restart) bool {
	if r == nil || o == nil {
		return r == o
	}
	switch {
	// Which pods are to restart, and who asked for it.
	case r.Set != o.Set, r.Remembered != o.Remembered, !r.Before.Equal(o.Before), r.At != o.At, r.By != o.By, r.Replaces != o.Replaces, r.Removes != o.Removes:
	// Who goes down now.
	case r.Pod != o.Pod, r.PodUID != o.PodUID, r.Template != o.Template, r.Zone != o.Zone, !slices.Equal(r.Pods, o.Pods):
	// How far it has come.
	case !r.Since.Equal(o.Since), r.MasterStable != o.MasterStable, r.ForecastReported != o.ForecastReported, r.Unseen != o.Unseen, r.Gone != o.Gone, r.Narrow != o.Narrow, !slices.Equal(r.Done, o.Done):
	default:
		return true
	}
	return false
}

func (x *Exclusions) equal(o *Exclusions) bool {
	if x == nil || o == nil {
		return x == o
	}
	ids := x.IDs == o.IDs && x.Before == o.Before
	return ids && x.Set == o.Set && x.Replaces == o.Replaces && slices.Equal(x.Tables, o.Tables)
}

// samePart compares a part that a record may lack.
func samePart[P comparable](a, b *P) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// SameReference reports whether two references say the same; times are compared as instants.
func SameReference(a, b RecordedReference) bool {
	return a.Secret == b.Secret && a.Version == b.Version && a.Changed.Equal(b.Changed)
}
