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

// Check is one gate, asked of what is known. It is a value and no function: a pass that is
// given to a function in a list would not stay on the stack.
type Check struct {
	rule *gates.Rule
	// question is its place among gates.Questions, from 1 on; 0 where it is none of these.
	question int
	// other tells two checks of one rule apart.
	other bool
}

// Rule is the gate that the check asks.
func (c Check) Rule() gates.Rule { return *c.rule }

// The checks, in the order in which most lists ask them. What each looks at is said at
// its gate.
var (
	Contact          = Check{rule: &gates.ContactRule}
	FreshReading     = Check{rule: &gates.FreshReadingRule}
	NodesKnown       = Check{rule: &gates.NodesKnownRule}
	GatewayRecovered = Check{rule: &gates.RecoveredRule}
	// GatewayServes is gateway-recovered, whether there is a master or not.
	GatewayServes = Check{rule: &gates.RecoveredRule, other: true}
	TablesKnown   = Check{rule: &gates.DetailKnownRule}
	// ShardsKnown is tables-known of the tables and of each shard's place.
	ShardsKnown = Check{rule: &gates.DetailKnownRule, other: true}
	// SnapshotsKnown is snapshot-running where it is not known whether one runs.
	SnapshotsKnown    = Check{rule: &gates.SnapshotRunningRule, other: true}
	AllocationKnown   = Check{rule: &gates.AllocationKnownRule}
	NodesJoined       = Check{rule: &gates.JoinedRule}
	NodeNames         = Check{rule: &gates.NodeNameTwiceRule}
	NodesAnswer       = Check{rule: &gates.NodesAnswerRule}
	OtherPods         = Check{rule: &gates.OtherPodDownRule}
	ShardsMoving      = Check{rule: &gates.ShardsMovingRule}
	AllocationEnabled = Check{rule: &gates.AllocationEnabledRule}
	HealthGreen       = Check{rule: &gates.HealthGreenRule}
	ClusterHealth     = Check{rule: &gates.ClusterHealthRule}
	ReplicasComplete  = Check{rule: &gates.ReplicasCompleteRule}
	NoSnapshot        = Check{rule: &gates.SnapshotRunningRule}
	MasterStable      = Check{rule: &gates.MasterStableRule}
	// VolumeStays is claim-being-deleted of the pod that is about to go.
	VolumeStays  = Check{rule: &gates.ClaimBeingDeletedRule}
	Unreplicated = Check{rule: &gates.UnreplicatedRule}
	NodeFits     = Check{rule: &gates.NodeFitsRule}
)

// Questions are the checks of the rules that say themselves what they ask CrateDB (gates.Questions), in their order.
func Questions() (all []Check) {
	for i, rule := range gates.Questions {
		all = append(all, Check{rule: rule, question: i + 1})
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
		if c.rule.Kind == gates.Refuses {
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
