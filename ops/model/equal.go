package model

import (
	"maps"
	"slices"
)

// Equal reports whether two records say the same, saved objects included.
func (r *Record) Equal(o *Record) bool { return r.DecidedEqual(o) && maps.Equal(r.Saved, o.Saved) }

// DecidedEqual leaves out the saved objects.
func (r *Record) DecidedEqual(o *Record) bool {
	switch {
	case r.SchemaVersion != o.SchemaVersion, r.Owner != o.Owner, r.ClusterName != o.ClusterName,
		r.ClusterID != o.ClusterID, r.Pins != o.Pins, r.Revision != o.Revision, r.Commit != o.Commit,
		r.Stage != o.Stage, r.HighestVersion != o.HighestVersion, r.Version != o.Version, r.TLS != o.TLS,
		r.AllowedCIDRs != o.AllowedCIDRs, r.Seq != o.Seq, r.Last != o.Last, r.Command != o.Command,
		LicenceName(r.License) != LicenceName(o.License), r.LicenseSecret != o.LicenseSecret, r.LicenseChange != o.LicenseChange,
		r.Bootstrap.Done != o.Bootstrap.Done, r.Bootstrap.Licence != o.Bootstrap.Licence,
		r.Bootstrap.System != o.Bootstrap.System, !r.Bootstrap.SystemChange.equal(o.Bootstrap.SystemChange),
		!sameList(r.Bootstrap.Users, o.Bootstrap.Users),
		!sameList(r.Sets, o.Sets), !slices.EqualFunc(r.References, o.References, SameReference), !sameList(r.Suspended, o.Suspended), !sameList(r.Budgets, o.Budgets),
		r.RestartedAt != o.RestartedAt, r.RestartedBy != o.RestartedBy, r.Unexplained != o.Unexplained, r.OthersSettings != o.OthersSettings,
		!equalHold(r.Hold, o.Hold), !equalCompute(r.Compute, o.Compute), !sameList(r.Settings, o.Settings), !r.Budget.equal(o.Budget), !r.Exclusions.equal(o.Exclusions), r.UnexplainedExclusion != o.UnexplainedExclusion, r.Denied != o.Denied, !r.Slow.equal(o.Slow), r.OthersFilters != o.OthersFilters, !endsEqual(r.Ends, o.Ends),
		r.RecoverDue != o.RecoverDue, !r.HoldHidden.Equal(o.HoldHidden), r.DeleteConsent != o.DeleteConsent, !r.Removal.equal(o.Removal), !sameList(r.Unproven, o.Unproven), !sameList(r.Proven, o.Proven), !r.Operation.equal(o.Operation):
		return false
	}
	return true
}

func (op *Operation) equal(o *Operation) bool {
	if op == nil || o == nil {
		return op == o
	}
	return op.Kind == o.Kind && op.Step == o.Step && op.Started.Equal(o.Started) && op.Revision == o.Revision &&
		op.TimedOut == o.TimedOut && slices.Equal(op.From, o.From) && slices.Equal(op.To, o.To) &&
		op.Restart.equal(o.Restart) && op.Shrink.equal(o.Shrink) && equalUpgrade(op.Upgrade, o.Upgrade)
}

func equalUpgrade(a, b *Upgrade) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func (s *Shrink) equal(o *Shrink) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.Masters == o.Masters && s.Set == o.Set && s.From == o.From && s.To == o.To && s.Before == o.Before &&
		s.LeaveZone == o.LeaveZone && s.Since.Equal(o.Since) && slices.Equal(s.Leaving, o.Leaving) &&
		s.Shards == o.Shards && s.Bytes == o.Bytes && s.Moving.Equal(o.Moving) && s.Drained.Equal(o.Drained) &&
		s.Still.Equal(o.Still) && s.Rerouted.Equal(o.Rerouted) && s.Held == o.Held && s.Hidden.Equal(o.Hidden) &&
		s.MasterStable == o.MasterStable && slices.Equal(s.Evidence, o.Evidence)
}

func (r *Restart) equal(o *Restart) bool {
	if r == nil || o == nil {
		return r == o
	}
	return r.Set == o.Set && r.Remembered == o.Remembered && r.Pod == o.Pod && r.Zone == o.Zone && slices.Equal(r.Pods, o.Pods) && r.PodUID == o.PodUID && r.Template == o.Template &&
		r.Since.Equal(o.Since) && r.Before.Equal(o.Before) && r.At == o.At && r.By == o.By &&
		r.MasterStable == o.MasterStable && slices.Equal(r.Done, o.Done)
}

func (x *Exclusions) equal(o *Exclusions) bool {
	if x == nil || o == nil {
		return x == o
	}
	return x.Set == o.Set && x.IDs == o.IDs && x.Before == o.Before && slices.Equal(x.Tables, o.Tables)
}

func equalHold(a, b *Hold) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// SameReference reports whether two references say the same; times are compared as instants.
func SameReference(a, b RecordedReference) bool {
	return a.Secret == b.Secret && a.Version == b.Version && a.Changed.Equal(b.Changed)
}
