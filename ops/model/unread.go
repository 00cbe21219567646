package model

import (
	"time"
)

// HiddenHealth reports whether sys.cluster_health, which no privilege filters, counts more than
// sys.health shows. What an upgrade holds back, and what a settled yellow lacks, is known from
// the rows of sys.health: neither explains what those do not have.
//
// Only the counts and red are compared: a cluster that is read-only is yellow there and lacks
// nothing.
func (db *Database) HiddenHealth() bool {
	all, seen := &db.ClusterHealth, &db.Health
	if all.Colour == ColourUnknown {
		return false // before 6.0 CrateDB has no such view
	}
	lacksMore := all.Missing > seen.Missing || all.Underreplicated > seen.Underreplicated
	return lacksMore || all.Colour == Red && seen.Colour != Red
}

// AsHealthy is what an executor's last look compares sys.cluster_health with: it may be no
// worse than when this was decided.
func (db *Database) AsHealthy() WholeHealth {
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

// Why is what is known of a part of a reading that could not be read, by the first of
// these names that has failed; "" where none has.
func (db *Database) Why(parts ...string) string {
	for _, part := range parts {
		for i := range db.Unread {
			if u := &db.Unread[i]; u.Part == part {
				return u.Words()
			}
		}
	}
	return ""
}

// Words are a sentence without its end.
func (u *UnreadPart) Words() string {
	if u.Slow {
		return u.Part + " does not answer in time: " + u.Why
	}
	return u.Part + " could not be read: " + u.Why
}

// SlowPart is a part of a reading that the database does not answer in time.
type SlowPart struct {
	Part     string    `json:"part"`
	Since    time.Time `json:"since"`
	Reported bool      `json:"told,omitempty"`
}

func (s *SlowPart) equal(o *SlowPart) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.Part == o.Part && s.Since.Equal(o.Since) && s.Reported == o.Reported
}

// The names of parts of a reading, as UnreadPart has them.
const (
	PartNodes        = "sys.nodes"
	PartShards       = "sys.shards"
	PartHealth       = "sys.health"
	PartClusterView  = "sys.cluster_health"
	PartChecks       = "sys.node_checks"
	PartUsers        = "sys.users"
	PartPrivileges   = "sys.privileges"
	PartRoles        = "sys.roles"
	PartSnapshots    = "sys.snapshots"
	PartRestores     = "sys.snapshot_restore"
	PartJobs         = "sys.jobs"
	PartRepositories = "sys.repositories"
	PartTables       = "information_schema.tables"
	PartPartitions   = "information_schema.table_partitions"
	PartAllocation   = "the settings of the allocation"
	PartStuck        = "sys.allocations"
)

// TablesWhy is why the tables are not known; "" where they are.
func (db *Database) TablesWhy() string {
	return db.Why(PartNodes, PartShards, PartTables, PartPartitions)
}
