package model

import (
	"stevedore.dev/stevedore/ops/gates"
)

// AsDesired reports whether the cluster is as its definition says, and nothing is under way or
// held. The record is as old as its last pass.
func (r *Record) AsDesired() bool {
	verified := r.Bootstrap.Done && r.Stage == StageVerified
	said := r.Shown.Verdict == Done.String() && len(r.Shown.Problems) == 0
	return verified && said && !r.busy()
}

// IsSuspended reports whether the cluster has stopped, and is not on its way back.
func (r *Record) IsSuspended() bool { return len(r.Suspended) > 0 && r.Operation == nil }

// busy reports whether an operation is under way, or something of ours is in force.
func (r *Record) busy() bool { return r.Operation != nil || r.inForce() }

// inForce reports whether the database allocates shards otherwise than it would without us.
func (r *Record) inForce() bool { return r.Lock != nil || r.Exclusions != nil }

// ReleaseDone reports whether a release has been carried out: the command was seen, what was held in
// the database is given back, the budgets stand at 1, and nothing is waited for any more.
func (r *Record) ReleaseDone() bool {
	said := r.Shown.Verdict == Wait.String() && len(r.Shown.Reasons) == 1 && r.Shown.Reasons[0].Name == gates.ReleasedRule.Name
	return r.Command.Commands.Released == "true" && said && !r.inForce()
}
