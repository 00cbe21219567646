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
	// delayed are the looks until copies of a node that has left are recreated.
	delayed int
}

// seeZones loses the copies that a node has left with, and makes one of them again where a node takes it.
func (w *world) seeZones(db *model.Database) {
	if !w.aware {
		return
	}
	p := w.place(db)
	gone := func(id string) bool {
		return !slices.ContainsFunc(db.Nodes, func(n model.Node) bool { return n.ID == id })
	}
	if p.Lose(gone) {
		w.delayed = 3
	}
	if w.delayed > 0 {
		w.delayed--
	} else {
		p.Replicate(1)
	}
	w.shards = p.Rows()
	for i := range w.shards {
		if w.shards[i].Node == "" {
			db.Unassigned++
			db.Health.Underreplicated++
			db.Health.Colour = model.Yellow
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
