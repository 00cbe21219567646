package view

import (
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// Data says whether a set carries data; eligible whether its nodes vote.
func Data(v *View, s model.RecordedSet) bool {
	if w := v.DesiredSet(s.Name); w != nil {
		return w.Data
	}
	return s.Group != names.MasterGroup || v.Record.Pins.MasterGroup == names.MasterGroup
}

func WaitsForTooMany(v *View, p *model.Pod) bool {
	live := v.Live(p.Set)
	return p.RecoverAfter != 0 && live != nil && live.RecoverAfter != p.RecoverAfter && p.RecoverAfter > GatewayNodes(v)
}

// GatewayNodes are those that gateway.recover_after_data_nodes counts; of a cluster that is
// being made those that are wanted still.
func GatewayNodes(v *View) int {
	nodes := 0
	for _, s := range Made(v) {
		if countsForGateway(v, s.Name) {
			nodes += s.Replicas
		}
	}
	return nodes
}

// countsForGateway: the setting counts nodes with data; before 4.7 it counts all.
func countsForGateway(v *View, set string) bool {
	s := Recorded(v.Record.Sets, set)
	return s != nil && (Data(v, *s) || gates.Compare(v.Record.Version, "4.7.0") < 0)
}

// Unequal is true while a set is to come, to go, to grow or to shrink and has not: the rendered gateway
// counts are for nodes that are not there, and a full outage would wait for
// them for ever.
func Unequal(v *View) bool {
	for _, s := range v.Record.Sets {
		if w := v.DesiredSet(s.Name); w == nil || w.Replicas != s.Replicas {
			return true
		}
	}
	return len(v.Record.Sets) != len(v.Desired.Sets)
}

// Target is how many replicas are wanted of a set; 0 of one that is gone.
func Target(v *View, set string) int {
	if w := v.DesiredSet(set); w != nil {
		return w.Replicas
	}
	return 0
}
