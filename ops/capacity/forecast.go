package capacity

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// Forecast is, by one reading, what would be when some data nodes had left.
type Forecast struct {
	// db is the reading, in which tables have the filters that they have during the drain.
	db      *model.Database
	version string
	// Own are the tables' own filters as they are.
	Own *OwnFilters
	// Leaving and remaining are data nodes.
	Leaving, remaining []*model.Node
	gone               map[string]bool
	loads              map[string]*load
	byName             map[string]*model.Table
	// Extend and Leave are the consents extend-table-filters and leave-zone.
	Extend, Leave bool
}

// load is what the shards of one table or partition are.
type load struct {
	// shards counts primaries; copies are of all of them, on a node or not.
	shards, copies int
	// largest and moving are in bytes, of what is on the leaving nodes.
	largest, moving int64
	leaving         int
}

// NewForecast makes the forecast for these data nodes, in a cluster of that version.
func NewForecast(db *model.Database, version string, leaving, remaining []*model.Node, extend, leave bool) *Forecast {
	f := &Forecast{db: db, version: version, Leaving: leaving, remaining: remaining, gone: map[string]bool{}, loads: map[string]*load{}, Extend: extend, Leave: leave}
	for _, n := range leaving {
		f.gone[n.ID] = true
	}
	seen := map[model.ShardID]bool{}
	for s := range model.Each(db.Shards) {
		if f.loads[s.Table] == nil {
			f.loads[s.Table] = &load{}
		}
		l := f.loads[s.Table]
		if key := s.Of(); !seen[key] {
			seen[key] = true
			l.shards++
		}
		l.copies++
		if f.gone[s.Node] {
			l.leaving++
			l.moving += s.Bytes
			l.largest = max(l.largest, s.Bytes)
		}
	}
	f.Own = &OwnFilters{db: db, version: version, leaving: leaving, remaining: remaining}
	if extend {
		f.db = f.Own.during()
	}
	return f
}

// Refusals are all reasons why the drain could not end.
func (f *Forecast) Refusals() []model.Reason {
	var out []model.Reason
	for _, check := range []func() []model.Reason{f.held, f.Filtered, f.copiesFit, f.leavable, f.shardsFit, f.diskFits} {
		out = append(out, check()...)
	}
	if len(out) == 0 {
		// It is expensive, and where the numbers above do not fit they say enough.
		return f.placed()
	}
	return out
}

// leavable refuses what CrateDB refuses: to exclude the nodes where a range of replicas would
// come to too few.
func (f *Forecast) leavable() []model.Reason {
	tables := model.Texts(f.db.Tables, func(t *model.Table) string { return keepsNodes(t, len(f.usable(t))) })
	if len(tables) == 0 {
		return nil
	}
	nodes := model.Texts(f.Leaving, func(n **model.Node) string { return (*n).Name })
	return []model.Reason{gates.NodeCannotLeave(nodes, tables)}
}

// Filtered are the tables whose own filters would keep them where they are.
func (f *Forecast) Filtered() []model.Reason {
	var own, alone []string
	for _, t := range f.Own.tables() {
		switch {
		case !f.Own.overrides(t, f.Leaving):
		case f.Extend && f.Own.extendable(t):
		case t.OwnDecide(f.version):
			alone = append(alone, t.Name+": "+f.Own.Freed(t))
		default:
			own = append(own, t.Name)
		}
	}
	var out []model.Reason
	if alone = model.Once(nil, alone...); len(alone) > 0 {
		out = append(out, gates.TableFilterDecides(alone))
	}
	switch {
	case len(own) == 0:
		return out
	case !f.Extend:
		return append(out, gates.TableFilter(own, ""))
	}
	if _, uneven := f.TableExclusions(f.Leaving); len(uneven) > 0 {
		return append(out, gates.TableFilter(uneven, "make the exclude lists of ids of its partitions the same: different ones could not be given back"))
	}
	return out
}

// TableExclusions are the tables whose own filters have to change, partitioned ones as a whole:
// new partitions are made as the table says. uneven are those of which no one exclude list could
// be given back.
func (f *Forecast) TableExclusions(leaving []*model.Node) (out []model.TableExclusion, uneven []string) {
	all := f.Own.tables()
	for _, t := range all {
		if !f.Own.overrides(t, leaving) && !f.Own.nowhere(t) || slices.ContainsFunc(out, func(x model.TableExclusion) bool { return x.Name == whole(t) }) {
			continue
		}
		if t.OwnDecide(f.version) {
			if f.Own.extendable(t) {
				out = append(out, f.Own.extended(t))
			}
			continue
		}
		before := t.Exclude["_id"]
		for _, o := range all {
			if whole(o) == whole(t) && o.Exclude["_id"] != before {
				uneven = model.Once(uneven, whole(t))
			}
		}
		out = append(out, model.TableExclusion{Name: whole(t), Before: before})
	}
	return out, uneven
}

func (f *Forecast) usable(t *model.Table) []*model.Node {
	return slices.DeleteFunc(slices.Clone(f.remaining), func(n *model.Node) bool { return t.Allows(n, f.db.Settings.Filters(), f.version) != model.Yes })
}

// Bounds of number_of_replicas: "1", "0-1", "0-all"; all is math.MaxInt.
func Bounds(replicas string) (lower, upper int, ok bool) {
	low, high, isRange := strings.Cut(replicas, "-")
	lower, err := strconv.Atoi(low)
	if err != nil {
		return 0, 0, false
	}
	if !isRange {
		return lower, lower, true
	}
	if high == "all" {
		return lower, math.MaxInt, true
	}
	upper, err = strconv.Atoi(high)
	return lower, upper, err == nil
}

// copiesFit looks at replicas and zones, table by table.
func (f *Forecast) copiesFit() []model.Reason {
	var few []string
	var lower lowered
	zoned := leftZones{f: f}
	for t := range model.Each(f.db.Tables) {
		least, _, ok := Bounds(t.Replicas)
		usable := f.usable(t)
		switch {
		case !ok:
			lower.add(f, t, usable)
			few = append(few, fmt.Sprintf("%s (its number_of_replicas '%s' cannot be read)", t.Name, t.Replicas))
			continue
		case least+1 > len(usable):
			lower.add(f, t, usable)
			few = append(few, fmt.Sprintf("%s (number_of_replicas '%s' needs %d node(s), it may use %d)", t.Name, t.Replicas, least+1, len(usable)))
			continue
		}
		for _, a := range f.db.Settings.Awareness {
			if copies := copies(t, len(usable)); !f.zonesHold(f.members(), usable, a, copies, f.db.Settings.Forced[a]) && !zoned.add(t, usable, a, copies) {
				lower.add(f, t, usable)
				few = append(few, fmt.Sprintf("%s (number_of_replicas '%s' does not fit the nodes that remain in each %s)", t.Name, t.Replicas, a))
			}
		}
	}
	var out []model.Reason
	if len(few) > 0 {
		statements := model.Texts(lower.tables, func(t **model.Table) string {
			return fmt.Sprintf("%s SET (number_of_replicas = '%s')", alters(*t), lower.values[whole(*t)].value)
		})
		out = append(out, gates.ReplicasDoNotFit(few, len(f.remaining), statements, max(lower.most, 0)))
	}
	return append(out, zoned.lastOfZones()...)
}

// leftZones are tables that need the zones whose last node leaves: those whose copies the other zones take when it has left,
// and those whose copies come back nowhere, because these zones are forced.
type leftZones struct {
	f                            *Forecast
	tables, zones, yellow, force []string
}

// add says whether the zones that are lost are why the table does not fit.
func (l *leftZones) add(t *model.Table, usable []*model.Node, attribute string, copies int) bool {
	f, forced := l.f, l.f.db.Settings.Forced[attribute]
	lost := f.lost(attribute)
	switch {
	case len(lost) == 0:
		return false
	case f.zonesHold(f.remaining, usable, attribute, copies, forced):
		l.tables = append(l.tables, t.Name)
	case f.zonesHold(f.remaining, usable, attribute, copies, nil):
		l.yellow = append(l.yellow, t.Name)
		values, _ := zonesOf(f.remaining, attribute, nil)
		l.force = model.Once(l.force, fmt.Sprintf("cluster.routing.allocation.awareness.force.%s.values (%s)", attribute, strings.Join(missing(values, forced), ", ")))
	default:
		return false
	}
	for _, z := range lost {
		l.zones = model.Once(l.zones, attribute+" "+z)
	}
	return true
}

func (l *leftZones) lastOfZones() (out []model.Reason) {
	if len(l.yellow) > 0 {
		out = append(out, gates.ForcedZone(l.zones, l.yellow, l.force))
	}
	if len(l.tables) > 0 {
		out = append(out, gates.LastOfZone(l.zones, l.tables))
	}
	return out
}

// copies is how many of each shard there are on so many nodes: only a range shrinks with them.
func copies(t *model.Table, nodes int) int {
	lower, upper, _ := Bounds(t.Replicas)
	return max(lower, min(upper, nodes-1)) + 1
}

// members are the nodes whose zones CrateDB counts: those that leave with them, until they have left with copies by consent.
func (f *Forecast) members() []*model.Node {
	if f.Leave {
		return f.remaining
	}
	return slices.Concat(f.Leaving, f.remaining)
}

// zonesHold reports whether the zones have room: CrateDB puts at most ceil(copies/zones) of a
// shard into one zone, and a zone counts as long as it has a member, or where it is forced.
func (f *Forecast) zonesHold(members, usable []*model.Node, attribute string, copies int, forced []string) bool {
	_, count := zonesOf(members, attribute, forced)
	if count == 0 {
		return true
	}
	left := map[string]int{}
	for _, n := range usable {
		if z := n.Attributes[attribute]; z != "" {
			left[z]++
		}
	}
	most, room := (copies+count-1)/count, 0
	for _, n := range left {
		room += min(most, n)
	}
	return room >= copies
}

// lost are the zones whose last data node leaves.
func (f *Forecast) lost(attribute string) []string {
	zones, _ := zonesOf(f.Leaving, attribute, nil)
	stay, _ := zonesOf(f.remaining, attribute, nil)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(zones)), func(z string) bool { return stay[z] })
}

// ZoneLost reports whether a leaving node is the last of its zone.
func (f *Forecast) ZoneLost() bool {
	return slices.ContainsFunc(f.db.Settings.Awareness, func(a string) bool { return len(f.lost(a)) > 0 })
}

// needZone are the tables with copies that no other zone takes before the last nodes of theirs have left.
func (f *Forecast) needZone() []string {
	return model.Texts(f.db.Tables, func(t *model.Table) string {
		usable := f.usable(t)
		for _, a := range f.db.Settings.Awareness {
			if len(f.lost(a)) > 0 && !f.zonesHold(f.members(), usable, a, copies(t, len(usable)), f.db.Settings.Forced[a]) {
				return t.Name
			}
		}
		return ""
	})
}

// shardsFit looks at the limits on the number of shards of a node.
func (f *Forecast) shardsFit() []model.Reason {
	var out []model.Reason
	total := 0
	for t := range model.Each(f.db.Tables) {
		l := f.loads[t.Name]
		if l == nil {
			continue
		}
		usable := len(f.usable(t))
		copies := l.shards * copies(t, usable)
		total += copies
		if t.TotalShardsPerNode > 0 && copies > t.TotalShardsPerNode*usable {
			out = append(out, gates.ShardsDoNotFit(t.Name, copies, t.TotalShardsPerNode, usable, "routing.allocation.total_shards_per_node"))
		}
	}
	for _, limit := range []struct {
		most int
		name string
	}{
		{f.db.Settings.TotalShardsPerNode, "cluster.routing.allocation.total_shards_per_node"},
		{f.db.Settings.ShardsPerNode, "cluster.max_shards_per_node"},
	} {
		if limit.most > 0 && total > limit.most*len(f.remaining) {
			out = append(out, gates.ShardsDoNotFit("the cluster", total, limit.most, len(f.remaining), limit.name))
		}
	}
	return out
}

// diskFits looks at bytes: of all tables, and of those that may use the same
// nodes only. A disk whose size CrateDB does not know bounds nothing.
func (f *Forecast) diskFits() []model.Reason {
	s := &f.db.Settings
	if !s.DiskThreshold {
		return nil
	}
	all, tiers := tiersOf(f)
	out := all.overflow(s.LowWatermark, "the data of all tables")
	for _, g := range tiers {
		what := g.first
		if g.tables > 1 {
			what = fmt.Sprintf("%s and %d more table(s) or partition(s)", g.first, g.tables-1)
		}
		if g.tables < all.tables {
			out = append(out, g.overflow(s.LowWatermark, what)...)
		}
	}
	return out
}

// tier is tables that may use the same nodes, and what of them moves there.
type tier struct {
	nodes           []*model.Node
	moving, largest int64
	first           string
	tables          int
}

// tiersOf are the tables from which something moves: all of them, and by their nodes.
func tiersOf(f *Forecast) (all *tier, tiers []*tier) {
	all = &tier{nodes: f.remaining}
	for t := range model.Each(f.db.Tables) {
		l := f.loads[t.Name]
		if l == nil || l.moving == 0 {
			continue
		}
		usable := f.usable(t)
		// A range that counts fewer copies then gives some of them up.
		moving := l.moving
		if spare := l.copies - l.shards*copies(t, len(usable)); spare > 0 {
			moving = l.moving / int64(l.leaving) * int64(max(0, l.leaving-spare))
		}
		own := slices.IndexFunc(tiers, func(g *tier) bool { return slices.Equal(g.nodes, usable) })
		if own < 0 {
			own, tiers = len(tiers), append(tiers, &tier{nodes: usable, first: t.Name})
		}
		for _, g := range []*tier{tiers[own], all} {
			g.moving += moving
			g.tables++
			if moving > 0 {
				g.largest = max(g.largest, l.largest)
			}
		}
	}
	return all, tiers
}

// overflow is the reason where the nodes have too little room in all, or none of them has enough
// for the largest shard.
func (g *tier) overflow(watermark, what string) []model.Reason {
	room, widest, known := g.room(watermark)
	switch {
	case !known:
	case g.moving > room:
		return []model.Reason{gates.DiskDoesNotFit(what, g.moving, room, watermark, len(g.nodes))}
	case g.largest > widest:
		return []model.Reason{gates.DiskDoesNotFit("the largest shard of "+what, g.largest, widest, watermark, len(g.nodes))}
	}
	return nil
}

// room is the bytes free below the low watermark, in all and on the disk that has most.
func (g *tier) room(watermark string) (room, widest int64, known bool) {
	for _, n := range g.nodes {
		disks, _ := n.FileSystems()
		all, one, ok := RoomOf(disks, watermark)
		if !ok {
			return 0, 0, false
		}
		room += all
		widest = max(widest, one)
	}
	return room, widest, true
}

// belowWatermark is how many bytes of a disk may be used: "85%" of it, "0.85", or all but "10gb".
func belowWatermark(watermark string, size int64) (int64, bool) {
	text := strings.ToLower(strings.TrimSpace(watermark))
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		p, err := strconv.ParseFloat(percent, 64)
		return int64(float64(size) * p / 100), err == nil && p >= 0 && p <= 100
	}
	for _, unit := range []struct {
		suffix string
		power  int
	}{{"pb", 50}, {"tb", 40}, {"gb", 30}, {"mb", 20}, {"kb", 10}, {"p", 50}, {"t", 40}, {"g", 30}, {"m", 20}, {"k", 10}, {"b", 0}} {
		if number, ok := strings.CutSuffix(text, unit.suffix); ok {
			n, err := strconv.ParseFloat(number, 64)
			return size - int64(n*math.Pow(2, float64(unit.power))), err == nil && n >= 0
		}
	}
	ratio, err := strconv.ParseFloat(text, 64)
	if err != nil || ratio < 0 || ratio > 1 {
		return 0, false
	}
	return int64(float64(size) * ratio), true
}
