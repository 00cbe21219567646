package capacity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// homeless is a copy that needs a place: its node is away for a while, or for good.
type homeless struct {
	table *model.Table
	shard model.ShardID
	bytes int64
	// moves: the copy leaves a node that runs. CrateDB asks its enable setting of a copy
	// that moves, primaries among them, too.
	moves, primary bool
}

// places says on which nodes CrateDB would let copies be, by what one reading shows.
// What the reading does not know refuses nothing.
type places struct {
	db      *model.Database
	version string
	// nodes are those that may take copies; members are all data nodes, of which the
	// zones are counted.
	nodes, members []*model.Node
	// stays are the nodes of the copies that need no place.
	stays map[model.ShardID][]string
	// onNode counts these copies by node id, ofTable by table and node id.
	onNode  map[string]int
	ofTable map[tableOn]int
	// total are the copies that each shard has.
	total map[model.ShardID]int
	// zones counts those of each awareness attribute.
	zones map[string]int
	// returns: copies come back to nodes that had them, and what filters ask that is not
	// read of a node keeps none off it. Of nodes that are to take others' copies, it does.
	returns bool
}

type tableOn struct{ table, node string }

func newPlaces(db *model.Database, version string, nodes, members []*model.Node) *places {
	p := &places{
		db: db, version: version, nodes: nodes, members: members,
		stays: map[model.ShardID][]string{}, onNode: map[string]int{}, ofTable: map[tableOn]int{}, total: map[model.ShardID]int{}, zones: map[string]int{},
	}
	for _, attribute := range db.Settings.Awareness {
		_, p.zones[attribute] = zonesOf(members, attribute, db.Settings.Forced[attribute])
	}
	return p
}

// zonesOf are the values of an awareness attribute, and how many zones CrateDB divides the
// copies of a shard by: nodes without the attribute are one more, which takes none
// (RoutingNodes.nodesPerAttributesCounts; run on 6.4.3), and so is each forced zone without a node
// (AwarenessAllocationDecider). No node with it: 0.
func zonesOf(nodes []*model.Node, attribute string, forced []string) (values map[string]bool, count int) {
	values = map[string]bool{}
	without := 0
	for _, n := range nodes {
		if zone := n.Attributes[attribute]; zone != "" {
			values[zone] = true
		} else if n.Attributes != nil {
			without = 1
		}
	}
	if len(values) == 0 {
		return nil, 0
	}
	return values, len(values) + without + len(missing(values, forced))
}

// missing are the forced zones that no node is in.
func missing(values map[string]bool, forced []string) []string {
	return slices.DeleteFunc(slices.Clone(forced), func(zone string) bool { return values[zone] })
}

// stay notes a copy that needs no place and takes one.
func (p *places) stay(shard model.ShardID, node string) {
	if node == "" {
		return
	}
	p.stays[shard] = append(p.stays[shard], node)
	p.onNode[node]++
	p.ofTable[tableOn{shard.Table, node}]++
}

// held says why no node may take the copy, by routing.allocation.enable of its table; ""
// where that forbids nothing.
func (h *homeless) held() string {
	switch h.table.Enable {
	case "none", "new_primaries":
	case "primaries":
		if h.moves && h.primary {
			return ""
		}
	default:
		return ""
	}
	return "routing.allocation.enable of the table is '" + h.table.Enable + "'"
}

// refuses says why the node may not take the copy; "" where it may.
func (p *places) refuses(h *homeless, n *model.Node) string {
	if slices.Contains(p.stays[h.shard], n.ID) {
		return "another copy of the shard is there"
	}
	if answer := h.table.Allows(n, p.db.Settings.Filters(), p.version); answer == model.No || answer == model.Unknown && !p.returns {
		if h.table.Own(p.version) {
			return "the filters of the table forbid it"
		}
		return "allocation filters forbid it"
	}
	if why := p.full(h, n); why != "" {
		return why
	}
	if limit := h.table.TotalShardsPerNode; limit > 0 && p.ofTable[tableOn{h.shard.Table, n.ID}] >= limit {
		return fmt.Sprintf("as many shards of the table as its total_shards_per_node allows (%d)", limit)
	}
	if limit := p.db.Settings.TotalShardsPerNode; limit > 0 && p.onNode[n.ID] >= limit {
		return fmt.Sprintf("as many shards as cluster.routing.allocation.total_shards_per_node allows (%d)", limit)
	}
	return p.zoneRefuses(h.shard, n)
}

// zoneRefuses says why the node may not take a copy by the awareness; "" where it may.
func (p *places) zoneRefuses(shard model.ShardID, n *model.Node) string {
	for _, attribute := range p.db.Settings.Awareness {
		zone := n.Attributes[attribute]
		if n.Attributes == nil || p.zones[attribute] == 0 {
			continue
		}
		if zone == "" {
			return "no attribute " + attribute + ", which the awareness asks for"
		}
		if p.inZone(shard, attribute, zone) >= p.eachZone(shard, attribute) {
			return fmt.Sprintf("%s %s has as many copies of the shard as it may", attribute, zone)
		}
	}
	return ""
}

// Zones reports whether the awareness keeps a copy of a shard off a node: so many copies it has, and some are on these
// nodes already. The zones are counted once, for all shards that are asked for.
func Zones(db *model.Database, members []*model.Node) func(on map[string]bool, copies int, n *model.Node) bool {
	p, shard := newPlaces(db, "", nil, members), model.ShardID{}
	return func(on map[string]bool, copies int, n *model.Node) bool {
		p.total[shard], p.stays[shard] = copies, p.stays[shard][:0]
		for id := range on {
			p.stays[shard] = append(p.stays[shard], id)
		}
		return p.zoneRefuses(shard, n) != ""
	}
}

// full says of the node's most free disk what CrateDB would: nothing comes to one above the
// low watermark, nor to one that the copy would bring above the high one. A copy that is on
// the disk already counts once more.
func (p *places) full(h *homeless, n *model.Node) string {
	s := &p.db.Settings
	disks, known := n.FileSystems()
	if !s.DiskThreshold || !known {
		return ""
	}
	disk := mostFree(disks)
	if limit, ok := belowWatermark(s.LowWatermark, disk.Size); ok && disk.Used > limit {
		return "above the low watermark (" + s.LowWatermark + ")"
	}
	if limit, ok := belowWatermark(s.HighWatermark, disk.Size); ok && disk.Used+h.bytes > limit {
		return "above the high watermark (" + s.HighWatermark + ") with the shard of " + gates.Bytes(h.bytes)
	}
	return ""
}

// eachZone is how many copies of a shard one zone may have.
func (p *places) eachZone(shard model.ShardID, attribute string) int {
	zones := max(p.zones[attribute], 1)
	return (p.total[shard] + zones - 1) / zones
}

func (p *places) inZone(shard model.ShardID, attribute, zone string) int {
	count := 0
	for _, n := range p.members {
		if n.Attributes[attribute] == zone && slices.Contains(p.stays[shard], n.ID) {
			count++
		}
	}
	return count
}

// without are those copies that have no place, and why, one for each table. Places are
// given out so that as many as can be have one: a place that is free by number may be on
// a node that the copy may not be on.
func (p *places) without(list []homeless) []string {
	var out []string
	said := map[string]bool{}
	for _, part := range p.parts(list) {
		for _, h := range p.unplaced(part) {
			if !said[h.table.Name] {
				said[h.table.Name] = true
				out = append(out, h.table.Name+" ("+p.why(&h)+")")
			}
		}
	}
	slices.Sort(out)
	return out
}

// parts are the copies that take places from one another: of one shard, of one table
// where it has a limit, all where the cluster has one.
func (p *places) parts(list []homeless) [][]homeless {
	var order []model.ShardID
	parts := map[model.ShardID][]homeless{}
	for _, h := range list {
		key := h.shard
		switch {
		case p.db.Settings.TotalShardsPerNode > 0:
			key = model.ShardID{}
		case h.table.TotalShardsPerNode > 0:
			key = model.ShardID{Table: h.table.Name, ID: -1}
		}
		if parts[key] == nil {
			order = append(order, key)
		}
		parts[key] = append(parts[key], h)
	}
	out := make([][]homeless, len(order))
	for i, key := range order {
		out[i] = parts[key]
	}
	return out
}

// unplaced gives out the places of one part.
func (p *places) unplaced(part []homeless) []homeless {
	var out []homeless
	f, ways := newFlow(), make([]int, len(part))
	for i := range part {
		h := &part[i]
		ways[i] = -1
		if h.held() != "" {
			out = append(out, *h)
			continue
		}
		from, any := fmt.Sprintf("copy %d", i), false
		for _, n := range p.nodes {
			if p.refuses(h, n) != "" {
				continue
			}
			if any = true; len(part) > 1 {
				p.way(f, from, h, n)
			}
		}
		switch {
		case !any:
			out = append(out, *h)
		case len(part) > 1:
			ways[i] = f.edge("", from, 1)
		}
	}
	if len(part) == 1 {
		return out // nobody else needs its place
	}
	f.most("", "places")
	for i, way := range ways {
		if way >= 0 && f.left(way) > 0 {
			out = append(out, part[i])
		}
	}
	return out
}

// way is from a copy to a place: through the zone, which takes so many copies of a shard,
// the node, which takes one, and what the limits leave free there.
func (p *places) way(f *flow, from string, h *homeless, n *model.Node) {
	shard := fmt.Sprintf("%s/%d", h.shard.Table, h.shard.ID)
	if s := &p.db.Settings; len(s.Awareness) == 1 {
		if zone := n.Attributes[s.Awareness[0]]; zone != "" {
			to := "zone " + zone + " of " + shard
			f.edge(from, to, 1)
			through := to + " through"
			f.once(to, through, p.eachZone(h.shard, s.Awareness[0])-p.inZone(h.shard, s.Awareness[0], zone))
			from = through
		}
	}
	on := "node " + n.ID + " of " + shard
	f.once(from, on, 1)
	if limit := h.table.TotalShardsPerNode; limit > 0 {
		to := "node " + n.ID + " of " + h.table.Name
		f.once(on, to, 1)
		on = to + " through"
		f.once(to, on, limit-p.ofTable[tableOn{h.shard.Table, n.ID}])
	}
	free := len(p.stays) + 1<<20
	if limit := p.db.Settings.TotalShardsPerNode; limit > 0 {
		free = limit - p.onNode[n.ID]
	}
	f.once(on, "node "+n.ID, free)
	f.once("node "+n.ID, "places", free)
}

// why says for each node that remains why the copy has no place there, nodes of one
// reason together.
func (p *places) why(h *homeless) string {
	if held := h.held(); held != "" {
		return held
	}
	var order []string
	nodes := map[string][]string{}
	for _, n := range p.nodes {
		reason := p.refuses(h, n)
		if reason == "" {
			reason = "another shard needs the place"
		}
		if nodes[reason] == nil {
			order = append(order, reason)
		}
		nodes[reason] = append(nodes[reason], n.Name)
	}
	var parts []string
	for _, reason := range order {
		names := nodes[reason]
		if len(names) > 5 {
			names = append(slices.Clone(names[:5]), fmt.Sprintf("%d more", len(names)-5))
		}
		parts = append(parts, strings.Join(names, ", ")+": "+reason)
	}
	return cmp.Or(strings.Join(parts, "; "), "no node is left for it")
}
