package cratedb

import (
	"maps"
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// takeOver completes a reading that has asked for the cluster, its nodes and each pod's own
// answer by what a whole reading has said, and reports whether it may: the same cluster has
// the same master and nodes, and each of them has applied the same version of the cluster
// state as then. Health, shards, tables, users, privileges, settings and snapshots are in that
// state, or follow from it, so none of them has changed. The nodes' checks of themselves and
// the sizes of shards are not in it: who offers a reading bounds its age.
func takeOver(db, last *model.Database, detailed bool) bool {
	switch {
	case last == nil, last.Contact != model.Yes, last.Recovered != model.Yes, len(last.Unread) > 0, detailed && !last.TablesKnown:
		return false
	case db.ClusterID != last.ClusterID, db.ClusterName != last.ClusterName, db.MasterNode != last.MasterNode:
		return false
	case db.StateVersion() == 0, db.StateVersion() != last.StateVersion():
		return false
	case !slices.Equal(db.SettingsAsked, last.SettingsAsked), !maps.Equal(db.Effective, last.Effective), !slices.Equal(db.Pods, last.Pods):
		return false
	case !slices.EqualFunc(db.Nodes, last.Nodes, sameNode):
		return false
	}
	at, nodes, pods := db.At, db.Nodes, db.Pods
	*db = *last
	db.At, db.Pods, db.Evidence = at, pods, nil
	db.Nodes = slices.Clone(last.Nodes)
	for i := range db.Nodes {
		n := &db.Nodes[i]
		n.DiskSize, n.DiskUsed, n.Disks, n.Heap = nodes[i].DiskSize, nodes[i].DiskUsed, nodes[i].Disks, nodes[i].Heap
	}
	return true
}

func sameNode(a, b model.Node) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Version == b.Version && a.Address == b.Address
}
