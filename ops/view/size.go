package view

import (
	"cmp"
	"slices"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// Data reports whether a set carries data, by the definition or, once it has left it, the record.
func Data(v *View, s model.RecordedSet) bool {
	if w := v.DesiredSet(s.Name); w != nil {
		return w.Data
	}
	return s.Group != names.MasterGroup || v.Record.Pins.MasterGroup == names.MasterGroup
}

// DataNodes is how many recorded nodes carry data.
func DataNodes(v *View) int {
	return Total(v.Record.Sets, func(s model.RecordedSet) bool { return Data(v, s) })
}

// HoldsData reports whether shards may be on the node in a pod.
func HoldsData(v *View, p *model.Pod) bool {
	return Data(v, *cmp.Or(Recorded(v.Record.Sets, p.Set), &model.RecordedSet{Name: p.Set}))
}

// Unequal reports whether a set is still to come, to go, to grow or to shrink. The rendered
// gateway counts are for nodes that are not there: after a full outage CrateDB would wait for
// them for ever.
func Unequal(v *View) bool {
	return len(v.Record.Sets) != len(v.Desired.Sets) || slices.ContainsFunc(v.Record.Sets, func(s model.RecordedSet) bool {
		w := v.DesiredSet(s.Name)
		return w == nil || w.Replicas != s.Replicas
	})
}

// AllOurs reports whether each recorded StatefulSet is there, and none of somebody else in its place.
func AllOurs(v *View) bool {
	return !slices.ContainsFunc(v.Record.Sets, func(s model.RecordedSet) bool { live := v.Live(s.Name); return live == nil || !live.Ours })
}

// Target is how many replicas of a set are desired; 0 of one that has left the definition.
func Target(v *View, set string) int {
	if w := v.DesiredSet(set); w != nil {
		return w.Replicas
	}
	return 0
}
