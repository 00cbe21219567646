package ops

import "stevedore.dev/stevedore/ops/gates"

// hiddenHealth: sys.cluster_health, which no privilege filters, counts more than
// sys.health shows. What an upgrade holds back, and what a settled yellow lacks, is told
// from the rows of sys.health: what those do not have is explained by neither.
//
// Only the counts and red are compared: a cluster that is read-only is yellow there and
// lacks nothing.
func (db *Database) hiddenHealth() bool {
	all, seen := &db.ClusterHealth, &db.Health
	return all.Colour != ColourUnknown &&
		(all.Missing > seen.Missing || all.Underreplicated > seen.Underreplicated || all.Colour == Red && seen.Colour != Red)
}

// clusterHealthWaits is cluster-health, before a node goes down or is removed. Settled: a
// yellow is accepted.
func (t *turn) clusterHealthWaits(settled bool) (Reason, bool) {
	db := &t.o.Database
	all, seen := &db.ClusterHealth, &db.Health
	return gates.ClusterHealth(db.Why(PartClusterView), all.Colour.String(), settled, db.hiddenHealth(),
		all.Missing, all.Underreplicated, seen.Missing, seen.Underreplicated)
}

// asHealthy is what an executor's last look compares sys.cluster_health with: it may be no
// worse than when this was decided.
func (db *Database) asHealthy() WholeHealth {
	all := &db.ClusterHealth
	return WholeHealth{Asked: all.Colour != ColourUnknown, Red: all.Colour == Red, Lacks: all.Missing + all.Underreplicated}
}

// WholeHealth is what sys.cluster_health said when an action was decided. The zero value
// asks nothing: before 6.0 CrateDB has no such view.
type WholeHealth struct {
	Asked, Red bool
	// Lacks counts shards that are missing or lack copies.
	Lacks int64
}
