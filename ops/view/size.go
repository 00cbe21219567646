package view

import (
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// Data reports whether a set carries data, by the definition or, once it has left it, the record.
func Data(v *View, s model.RecordedSet) bool {
	if w := v.DesiredSet(s.Name); w != nil {
		return w.Data
	}
	return s.Group != names.MasterGroup || v.Record.Pins.MasterGroup == names.MasterGroup
}

// WaitsForTooMany reports whether a pod waits for more data nodes than there are, and the
// template of its set no longer does.
func WaitsForTooMany(v *View, p *model.Pod) bool {
	live := v.Live(p.Set)
	return p.RecoverAfter != 0 && live != nil && live.RecoverAfter != p.RecoverAfter && p.RecoverAfter > GatewayNodes(v)
}

// GatewayNodes counts the nodes that gateway.recover_after_data_nodes counts; of a cluster that
// is being made those that are still desired.
func GatewayNodes(v *View) int {
	nodes := 0
	for _, s := range Made(v) {
		if countsForGateway(v, s.Name) {
			nodes += s.Replicas
		}
	}
	return nodes
}

// countsForGateway reports whether the gateway counts a set's nodes: those with data, before 4.7
// all.
func countsForGateway(v *View, set string) bool {
	s := Recorded(v.Record.Sets, set)
	return s != nil && (Data(v, *s) || gates.Compare(v.Record.Version, "4.7.0") < 0)
}

// Unequal reports whether a set is still to come, to go, to grow or to shrink. The rendered
// gateway counts are for nodes that are not there: after a full outage CrateDB would wait for
// them for ever.
func Unequal(v *View) bool {
	for _, s := range v.Record.Sets {
		if w := v.DesiredSet(s.Name); w == nil || w.Replicas != s.Replicas {
			return true
		}
	}
	return len(v.Record.Sets) != len(v.Desired.Sets)
}

// Target is how many replicas of a set are desired; 0 of one that has left the definition.
func Target(v *View, set string) int {
	if w := v.DesiredSet(set); w != nil {
		return w.Replicas
	}
	return 0
}
