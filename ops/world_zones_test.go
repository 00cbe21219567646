package ops_test

import (
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// toyZones is cluster.routing.allocation.awareness.attributes = zone, of the nodes in world.zones.
type toyZones struct {
	aware bool
	// forced are cluster.routing.allocation.awareness.force.zone.values.
	forced []string
	// delayed are the looks until copies of a node that has left are recreated.
	delayed int
}

// zoneTakes is CrateDB's AwarenessAllocationDecider: a zone takes at most ceil(copies / zones) of a shard. A zone counts
// while it has a member. A zone that awareness is forced to counts once more while it has no copy of the shard.
func (w *world) zoneTakes(s *model.Shard, node string, members []model.Node) bool {
	if !w.aware {
		return true
	}
	zoneOf, zones := map[string]string{}, map[string]bool{}
	for _, n := range members {
		zoneOf[n.ID] = w.zones[n.Name]
		zones[w.zones[n.Name]] = true
	}
	copies, in := 0, map[string]int{}
	for i := range w.shards {
		o := &w.shards[i]
		if o.Table != s.Table || o.ID != s.ID {
			continue
		}
		copies++
		switch {
		case o == s && s.Node != "":
			in[zoneOf[s.Node]] += 0
		case o != s && o.Node != "":
			in[zoneOf[o.Node]]++
		}
	}
	in[zoneOf[node]]++
	count := len(zones)
	for _, z := range w.forced {
		if _, has := in[z]; !has {
			count++
		}
	}
	return in[zoneOf[node]] <= (copies+count-1)/count
}

// seeZones loses the copies that a node has left with, and makes one of them again where a node takes it.
func (w *world) seeZones(db *model.Database) {
	if !w.aware {
		return
	}
	for i := range w.shards {
		s := &w.shards[i]
		if s.Node != "" && !slices.ContainsFunc(db.Nodes, func(n model.Node) bool { return n.ID == s.Node }) {
			s.Node, s.State = "", "UNASSIGNED"
			w.delayed = 3
			w.promote(s)
		}
	}
	if w.delayed > 0 {
		w.delayed--
	} else {
		w.remake(db)
	}
	for i := range w.shards {
		if w.shards[i].Node == "" {
			db.Unassigned++
			db.Health.Underreplicated++
			db.Health.Colour = model.Yellow
		}
	}
}

// promote makes another started copy the primary.
func (w *world) promote(s *model.Shard) {
	if !s.Primary {
		return
	}
	for i := range w.shards {
		if o := &w.shards[i]; o.Table == s.Table && o.ID == s.ID && o.State == "STARTED" && o.Node != "" {
			s.Primary, o.Primary = false, true
			return
		}
	}
}

func (w *world) remake(db *model.Database) {
	for i := range w.shards {
		s := &w.shards[i]
		if s.Node != "" {
			continue
		}
		for _, n := range db.Nodes {
			taken := slices.ContainsFunc(w.shards, func(o model.Shard) bool { return o.Table == s.Table && o.ID == s.ID && o.Node == n.ID })
			if !taken && !slices.Contains(w.excluded(), n.ID) && w.zoneTakes(s, n.ID, db.Nodes) {
				s.Node, s.State = n.ID, "STARTED"
				return
			}
		}
	}
}

func (w *world) seeAwareness(db *model.Database) {
	if w.aware {
		db.Settings.Awareness = []string{"zone"}
	}
}

// mayStay reports whether a node may leave with the copy: by consent, and with another one started on a node that stays.
func (w *world) mayStay(s *model.Shard, set string, to int) bool {
	if !slices.Contains(w.desired.Operations.Consent, definition.ConsentLeaveZone) {
		return false
	}
	return slices.ContainsFunc(w.shards, func(o model.Shard) bool {
		i := strings.LastIndexByte(o.Node, '/')
		if o.Table != s.Table || o.ID != s.ID || o.State != "STARTED" || i < 0 {
			return false
		}
		ordinal, _ := strconv.Atoi(o.Node[i+1:])
		return o.Node[:i] != set || ordinal < to
	})
}
