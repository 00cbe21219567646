package ops

import (
	"slices"
	"time"

	"stevedore.dev/stevedore/ops/gates"
)

// nodesUnread: the database answers, and sys.nodes could not be read. Then no node is
// known to be away. Without contact nothing is read at all, and contact is asked for
// before.
func (t *turn) nodesUnread() bool {
	return t.o.Database.Contact == Yes && !t.o.Database.NodesKnown
}

// absent: sys.nodes was read and has no such node, or nobody answers. What was not read
// is not absent.
func (t *turn) absent(nodeName string) bool {
	return !t.nodesUnread() && !t.member(nodeName)
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
	Part  string    `json:"part"`
	Since time.Time `json:"since"`
	Told  bool      `json:"told,omitempty"`
}

func (s *SlowPart) equal(o *SlowPart) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.Part == o.Part && s.Since.Equal(o.Since) && s.Told == o.Told
}

// slowLong is when a part that does not answer is reported: a listing of many snapshots
// takes seconds. It counts on after a restart.
const slowLong = time.Minute

// watchSlow reports once what does not answer: a repository that hangs holds back what
// takes nodes down, and nobody else says so.
func (t *turn) watchSlow() {
	db := &t.o.Database
	i := slices.IndexFunc(db.Unread, func(u UnreadPart) bool { return u.Slow })
	if i < 0 || !t.r.Bootstrap.Done {
		t.r.Slow = nil
		return
	}
	part := &db.Unread[i]
	next := SlowPart{Part: part.Part, Since: t.now}
	if t.r.Slow != nil && t.r.Slow.Part == part.Part {
		next = *t.r.Slow
	}
	if !next.Told && t.elapsed(next.Since) >= slowLong {
		next.Told = true
		t.report(Report{Reason: "NoAnswerInTime", Warning: true, Status: StatusFailure, Message: part.Words()})
	}
	t.r.Slow = &next
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
	PartJobs         = "sys.jobs"
	PartRepositories = "sys.repositories"
	PartTables       = "information_schema.tables"
	PartPartitions   = "information_schema.table_partitions"
	PartAllocation   = "the settings of the allocation"
	PartAttributes   = "the attributes of sys.nodes"
	PartStuck        = "sys.allocations"
)

// tablesWhy and snapshotsWhy are why those are not known.
func (db *Database) tablesWhy() string {
	return db.Why(PartNodes, PartShards, PartTables, PartPartitions)
}

// snapshotWaits is snapshot-running.
func (t *turn) snapshotWaits() (Reason, bool) {
	db := &t.o.Database
	return gates.SnapshotRunning(db.SnapshotsKnown, db.Snapshots, db.Why(PartSnapshots, PartJobs, PartRepositories))
}

// nodesWait is nodes-known.
func (t *turn) nodesWait() (Reason, bool) {
	return gates.NodesKnown(!t.nodesUnread(), t.o.Database.Why(PartNodes))
}
