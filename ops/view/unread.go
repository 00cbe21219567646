package view

import (
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// ClusterHealthWaits is cluster-health, before a node goes; settled accepts a yellow.
func ClusterHealthWaits(v *View, settled bool) (model.Reason, bool) {
	db := &v.Observed.Database
	all, seen := &db.ClusterHealth, &db.Health
	return gates.ClusterHealth(db.Why(model.PartClusterView), all.Colour.String(), settled, db.HiddenHealth(),
		all.Missing, all.Underreplicated, seen.Missing, seen.Underreplicated)
}

// nodesUnread reports whether the database answers and sys.nodes could not be read: then no node
// is known to be away. Without contact nothing is read at all, and contact is asked for before.
func nodesUnread(v *View) bool {
	return v.Observed.Database.Contact == model.Yes && !v.Observed.Database.NodesKnown
}

// Absent reports whether sys.nodes was read and lacks the node, or nobody answers.
func Absent(v *View, nodeName string) bool {
	return !nodesUnread(v) && !v.Member(nodeName)
}

// SlowLong is how long a part may go unanswered before that is reported: a listing of many
// snapshots takes seconds. It counts on after a restart of the daemon.
const SlowLong = time.Minute

// SnapshotWaits is snapshot-running. One of ours runs until it is found to have ended, also where the node that
// lists the snapshots is behind.
func SnapshotWaits(v *View) (model.Reason, bool) {
	db := &v.Observed.Database
	running, known := db.Snapshots, db.SnapshotsKnown
	if b := v.Record.Backups; b != nil && b.Running != nil {
		running, known = max(running, 1), true // one of ours that no listing shows yet
	}
	return gates.SnapshotRunning(known, running, db.Why(model.PartSnapshots, model.PartJobs, model.PartRepositories))
}

// NodesWait is nodes-known.
func NodesWait(v *View) (model.Reason, bool) {
	return gates.NodesKnown(!nodesUnread(v), v.Observed.Database.Why(model.PartNodes))
}

// DisruptedWait is disrupted-clusters.
func DisruptedWait(v *View) (model.Reason, bool) {
	return gates.DisruptedClusters(v.Observed.Disrupted, max(v.Policy.MaxDisruptedClusters, 1))
}
