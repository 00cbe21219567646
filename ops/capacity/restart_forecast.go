package capacity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// RestartForecast is what happens to tables while nodes are away.
type RestartForecast struct {
	// Unhealed are tables and partitions with copies that will not come back, each with
	// the reason: "doc.t: …".
	Unhealed []string
	// WritesWait are tables and partitions with shards whose writes wait until the copies are
	// back, each with what it waits for: "doc.t (ALL)".
	WritesWait []string
	// Keeps are tables and partitions because of which CrateDB could not take the nodes off
	// the cluster, each with its numbers and the statement that helps.
	Keeps []string
	// Sole are tables that have shards with no other started copy.
	Sole []string
}

// ForecastRestart is of one reading: away and data are names of data nodes, those that go
// down at once and all of them. Nothing is known of a reading without tables.
func ForecastRestart(db *model.Database, version string, away, data []string) RestartForecast {
	return ForecastAway(db, version, nodesNamed(db, away), nodesNamed(db, data))
}

func nodesNamed(db *model.Database, names []string) (nodes []*model.Node) {
	for n := range model.Each(db.Nodes) {
		if slices.Contains(names, n.Name) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// ForecastAway is ForecastRestart of nodes that are given themselves.
func ForecastAway(db *model.Database, version string, away, data []*model.Node) RestartForecast {
	a := &absence{db: db, version: version, away: away, data: data}
	out := RestartForecast{WritesWait: a.allWritesWait(), Keeps: a.keeps(), Sole: a.sole()}
	if a.limited() {
		out.Unhealed = a.unhealed()
	}
	return out
}

// absence of nodes that come back.
type absence struct {
	db         *model.Database
	version    string
	away, data []*model.Node
}

func (a *absence) isAway(node string) bool {
	return slices.ContainsFunc(a.away, func(n *model.Node) bool { return n.ID == node })
}

// limited reports whether something may keep a copy from coming back to the node that it was on.
func (a *absence) limited() bool {
	s := &a.db.Settings
	if s.Filters().Any() || s.TotalShardsPerNode > 0 || len(s.Awareness) > 0 {
		return true
	}
	for t := range model.Each(a.db.Tables) {
		if t.Enable != "" || t.TotalShardsPerNode > 0 || t.Filters().Any() {
			return true
		}
	}
	p := newPlaces(a.db, a.version, nil, nil)
	for shard := range model.Each(a.db.Shards) {
		for _, n := range a.away {
			if n.ID == shard.Node && p.full(&homeless{bytes: shard.Bytes}, n) != "" {
				return true
			}
		}
	}
	return false
}

func startedOn(s *model.Shard) bool { return s.State == "STARTED" || s.State == "RELOCATING" }

// unhealed are the tables with copies that do not come back. While a node is away another copy
// of each of its shards becomes the primary. Its own is a replica, which CrateDB allocates anew
// when the node is back: there, or on another node, where its deciders let it. A copy that is
// the only one comes back to its own store whatever they say.
func (a *absence) unhealed() []string {
	p := newPlaces(a.db, a.version, a.data, a.data)
	p.returns = true
	elsewhere := map[model.ShardID]bool{}
	for s := range model.Each(a.db.Shards) {
		key := s.Of()
		p.total[key]++
		if s.Node != "" && startedOn(s) && !a.isAway(s.Node) {
			elsewhere[key] = true
		}
	}
	var list []homeless
	tables := tablesByName(a.db)
	for s := range model.Each(a.db.Shards) {
		key := s.Of()
		if t := tables[s.Table]; a.isAway(s.Node) && elsewhere[key] && startedOn(s) && t != nil {
			list = append(list, homeless{table: t, shard: key, bytes: s.Bytes})
		} else {
			p.stay(key, s.Node)
		}
	}
	return p.without(list)
}

// sole are the tables of which a shard's only started copy is on these nodes, a partition
// by the name of its table.
func (a *absence) sole() []string {
	var out []string
	for _, n := range a.away {
		out = append(out, n.Sole...)
	}
	return model.Distinct(out)
}

// allWritesWait are the tables whose writes wait: a write waits for write.wait_for_active_shards
// copies, of a range of replicas for as many as the nodes that are left allow.
func (a *absence) allWritesWait() []string {
	out := model.Texts(a.db.Tables, func(t *model.Table) string {
		if wait := t.WaitForActiveShards; wait == "" || wait == "0" || wait == "1" || !a.writesWait(t) {
			return ""
		}
		return t.Name + " (" + t.WaitForActiveShards + ")"
	})
	slices.Sort(out)
	return out
}

func (a *absence) writesWait(t *model.Table) bool {
	left, all := map[int]int{}, map[int]int{}
	for s := range model.Each(a.db.Shards) {
		if s.Table != t.Name {
			continue
		}
		all[s.ID]++
		if startedOn(s) && !a.isAway(s.Node) {
			left[s.ID]++
		}
	}
	for id := range all {
		need, err := strconv.Atoi(t.WaitForActiveShards)
		if strings.EqualFold(t.WaitForActiveShards, "ALL") {
			need, err = copies(t, a.usable(t)), nil
		}
		// Where a shard has no copy left every write waits, whatever it says.
		if err == nil && left[id] > 0 && left[id] < need {
			return true
		}
	}
	return false
}

// usable counts the nodes that are left to a table.
func (a *absence) usable(t *model.Table) (nodes int) {
	for _, n := range a.data {
		if !a.isAway(n.ID) && t.Allows(n, a.db.Settings.Filters(), a.version) != model.No {
			nodes++
		}
	}
	return nodes
}

func (a *absence) keeps() []string {
	out := model.Texts(a.db.Tables, func(t *model.Table) string { return keepsNodes(t, a.usable(t)) })
	slices.Sort(out)
	return out
}

// keepsNodes says why CrateDB could not take a node off if that leaves the table so many nodes;
// "" where it can. When a range of replicas comes to fewer copies than a number in
// write.wait_for_active_shards, CrateDB refuses the table's own metadata, and with it the
// change of the cluster that made it so. A range whose lower bound is not left keeps its
// number, and ALL is any number.
func keepsNodes(t *model.Table, usable int) string {
	wait, err := strconv.Atoi(t.WaitForActiveShards)
	lower, upper, ok := Bounds(t.Replicas)
	most := min(upper, usable-1)
	isRange := ok && strings.Contains(t.Replicas, "-")
	if err != nil || !isRange || most < lower || wait <= most+1 {
		return ""
	}
	return fmt.Sprintf(`%s (number_of_replicas '%s' comes to %d copies, write.wait_for_active_shards is %d: ALTER TABLE %s SET ("write.wait_for_active_shards" = %d))`,
		t.Name, t.Replicas, most+1, wait, model.TableIdentifier(whole(t)), max(most+1, 1))
}
