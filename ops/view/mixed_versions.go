package view

import (
	"strings"

	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// YellowByVersion are the tables that are yellow only because of the upgrade; nil where there is
// another reason, or where it is not known. CrateDB lets no node take a copy from a newer one. So
// whatever is made while one node is new, and each shard whose primary is on the only new node,
// stays without a replica until a second node is new. To wait for green would be to wait for ever.
//
// It is that yellow when each missing copy is a replica, when its primary is started, and when
// each data node without a copy of it runs an older version than the primary's, or is in a zone
// that is full. The last copy of such a shard is on an upgraded node, which is not the next to go.
func YellowByVersion(v *View) map[string]bool {
	if !v.Record.Operation.Is(model.OperationUpgrade) {
		return nil
	}
	return onlyByVersion(v, false)
}

// OnlyUpgradeMakesCopies reports whether all that is missing are such copies, whatever is under way, and not all nodes that
// could take them are to leave.
func OnlyUpgradeMakesCopies(v *View) bool {
	return onlyByVersion(v, false) != nil && !YellowByLeaving(v)
}

// YellowByLeaving reports whether only nodes that are to leave could take the missing copies, and
// these run an older version: a group that left the definition together with the upgrade was
// not upgraded. Once they are gone a range of replicas wants fewer copies.
func YellowByLeaving(v *View) bool {
	held := onlyByVersion(v, true)
	if held == nil {
		return false
	}
	for table := range model.Each(v.Observed.Database.Tables) {
		if held[table.Name] && !strings.Contains(table.Replicas, "-") {
			return false
		}
	}
	return true
}

// onlyByVersion are the tables of such a yellow; with leaving, only if every node that could
// take a copy is to leave.
func onlyByVersion(v *View, leaving bool) map[string]bool {
	db := &v.Observed.Database
	if !db.TablesKnown || db.Health.Colour != model.Yellow || db.Health.Missing > 0 || db.Relocating+db.Initializing > 0 {
		return nil
	}
	missing, primaries, on := map[model.ShardID]int64{}, map[model.ShardID]string{}, map[model.ShardID]map[string]bool{}
	for s := range model.Each(db.Shards) {
		key := s.Of()
		if s.Node == "" {
			missing[key]++
			continue
		}
		if on[key] == nil {
			on[key] = map[string]bool{}
		}
		on[key][s.Node] = true
		if s.Primary && s.State == "STARTED" {
			primaries[key] = s.Node
		}
	}
	nodes := dataNodes(v)
	members := make([]*model.Node, 0, len(nodes))
	for i := range nodes {
		members = append(members, nodes[i].node)
	}
	tables, explained, refuses := map[string]bool{}, int64(0), capacity.Zones(db, members)
	for key, copies := range missing {
		full := func(n *model.Node) bool { return refuses(on[key], len(on[key])+int(copies), n) }
		if !noneMayTake(nodes, primaries[key], on[key], leaving, full) {
			return nil
		}
		tables[key.Table] = true
		explained += copies
	}
	if explained == 0 || explained < db.Health.Underreplicated {
		return nil
	}
	return tables
}

// noneMayTake reports whether every data node without a copy is older than the primary's, and
// there is one; with leaving, whether each of them is to leave, too. One whose zone is full takes none.
func noneMayTake(nodes map[string]dataNode, primary string, on map[string]bool, leaving bool, full func(*model.Node) bool) bool {
	newest := nodes[primary].version
	if newest == "" {
		return false
	}
	older := false
	for id, n := range nodes {
		if on[id] || full(n.node) {
			continue
		}
		if n.version == "" || gates.Compare(n.version, newest) >= 0 || leaving && !n.leaves {
			return false
		}
		older = true
	}
	return older
}

type dataNode struct {
	version string
	node    *model.Node
	leaves  bool // it is to leave
}

// dataNodes are the nodes with data, by node id.
func dataNodes(v *View) map[string]dataNode {
	nodes := make(map[string]dataNode, len(v.Observed.Database.Nodes))
	for n := range model.Each(v.Observed.Database.Nodes) {
		p := PodOf(v, n)
		if p != nil && !HoldsData(v, p) {
			continue
		}
		nodes[n.ID] = dataNode{version: n.Version, node: n, leaves: p != nil && p.Ordinal >= Target(v, p.Set)}
	}
	return nodes
}
