// Package check asks gates in order. What has to be so before a move is a list of checks;
// the first one that does not pass says why, and the rest is not asked.
//
// A list is data: docs/checks.md is written from it.
package check

import (
	"slices"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// Check is one gate, asked of what is known. It is a number and no function: a pass that is
// given to a function in a list would not stay on the stack.
type Check uint8

// The checks, in the order in which most lists ask them. What each looks at is said at
// its gate.
const (
	Contact Check = iota
	FreshReading
	NodesKnown
	GatewayRecovered
	// GatewayServes is gateway-recovered, whether there is a master or not.
	GatewayServes
	TablesKnown
	// ShardsKnown is tables-known of the tables and of each shard's place.
	ShardsKnown
	// SnapshotsKnown is snapshot-running where it is not known whether one runs.
	SnapshotsKnown
	AllocationKnown
	NodesJoined
	NodeNames
	NodesAnswer
	OtherPods
	ShardsMoving
	AllocationEnabled
	HealthGreen
	ClusterHealth
	ReplicasComplete
	NoSnapshot
	MasterStable
	// VolumeStays is claim-being-deleted of the pod that is about to go.
	VolumeStays
	Unreplicated
	NodeFits
	checks // the first one of Questions
)

// Questions are the checks of the rules that say themselves what they ask CrateDB (gates.Questions), in their order.
func Questions() (all []Check) {
	for i := range gates.Questions {
		all = append(all, checks+Check(i))
	}
	return all
}

// What several moves ask.
var (
	// Reading is a whole and fresh reading, in which everything is there: without one nothing is known to be well.
	Reading = []Check{Contact, FreshReading, NodesKnown, GatewayRecovered, TablesKnown, NodesJoined, NodeNames}
	// Copies is that every copy is where it is to be, and may be recreated.
	Copies = []Check{ShardsMoving, AllocationEnabled, HealthGreen, ClusterHealth, ReplicasComplete}
	// Whole is asked between two pods, at the end of a restart, and before a StatefulSet gets further disks: its pods are to
	// restart next, and while they have not, one that vanishes comes back in a roundabout way only.
	Whole = slices.Concat(Reading, []Check{OtherPods}, Copies)
)

// rules are the gates of the checks.
var rules = [checks]*gates.Rule{
	Contact:           &gates.ContactRule,
	FreshReading:      &gates.FreshReadingRule,
	NodesKnown:        &gates.NodesKnownRule,
	GatewayRecovered:  &gates.RecoveredRule,
	GatewayServes:     &gates.RecoveredRule,
	TablesKnown:       &gates.DetailKnownRule,
	ShardsKnown:       &gates.DetailKnownRule,
	SnapshotsKnown:    &gates.SnapshotRunningRule,
	AllocationKnown:   &gates.AllocationKnownRule,
	NodesJoined:       &gates.JoinedRule,
	NodeNames:         &gates.NodeNameTwiceRule,
	NodesAnswer:       &gates.NodesAnswerRule,
	OtherPods:         &gates.OtherPodDownRule,
	ShardsMoving:      &gates.ShardsMovingRule,
	AllocationEnabled: &gates.AllocationEnabledRule,
	HealthGreen:       &gates.HealthGreenRule,
	ClusterHealth:     &gates.ClusterHealthRule,
	ReplicasComplete:  &gates.ReplicasCompleteRule,
	NoSnapshot:        &gates.SnapshotRunningRule,
	MasterStable:      &gates.MasterStableRule,
	VolumeStays:       &gates.ClaimBeingDeletedRule,
	Unreplicated:      &gates.UnreplicatedRule,
	NodeFits:          &gates.NodeFitsRule,
}

// Rule is the gate that the check asks.
func (c Check) Rule() gates.Rule {
	if c >= checks {
		return *gates.Questions[c-checks]
	}
	return *rules[c]
}

// Move is what the checks are asked about.
type Move struct {
	// Nodes are the nodes that have to be there, counted.
	Nodes view.Count
	// Going is the pod that is about to go down; nil for none. The others wait for it no
	// more than it waits for them.
	Going *model.Pod
	// Allocation is what cluster.routing.allocation.enable has to be.
	Allocation string
	// SettledYellow: a yellow that waiting does not change is accepted.
	SettledYellow bool
	// Explained: it is known what keeps the cluster from green, and the move is what ends it.
	Explained bool
	// LacksCopies: the pod that is about to go has come back without a disk, and shards on it are missing.
	LacksCopies bool
	// YellowByVersion are tables whose copies no older node may take in an upgrade.
	YellowByVersion map[string]bool
	// MasterStable is set once the master has been stable for long enough, and is not asked
	// again.
	MasterStable *bool
}

// Stop asks in order and records the first reason; it says whether there is one.
func (m *Move) Stop(t *pass.Pass, list []Check) bool {
	for _, c := range list {
		reason, stops := m.ask(&t.View, c)
		if !stops {
			continue
		}
		if c.Rule().Kind == gates.Refuses {
			t.Refuse(reason)
		} else {
			t.Wait(reason)
		}
		if c == MasterStable && m.Going != nil { // a drain is looked at again by its own clock
			t.EndsIn(aim.MasterElapsed(&t.View).Left())
		}
		return true
	}
	return false
}
