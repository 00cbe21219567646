package sql

import (
	"slices"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// ofPartitions reports whether a condition of DELETE is answered by the values of partitions alone:
// then whole partitions are dropped (DeletePlanner). No condition at all is answered by them, too.
func ofPartitions(t *model.Table, where expr) bool {
	if !t.Partitioned() {
		return false
	}
	all := func(parts ...expr) bool {
		return !slices.ContainsFunc(parts, func(e expr) bool { return !ofPartitions(t, e) })
	}
	switch e := where.(type) {
	case nil, literal, param:
		return true
	case column:
		return len(e.path) == 0 && slices.Contains(t.PartitionedBy, e.name)
	case binary:
		return all(e.l, e.r)
	case unary:
		return all(e.e)
	case isNull:
		return all(e.e)
	case inList:
		return all(append([]expr{e.e}, e.list...)...)
	case like:
		return all(e.e, e.pattern)
	case between:
		return all(e.e, e.lo, e.hi)
	case cast:
		return all(e.e)
	}
	return false
}
