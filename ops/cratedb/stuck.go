package cratedb

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/ops"
)

// maxStuck explanations are asked for: they are the dear part of sys.allocations
// (a tenth of a millisecond each), and it works them out for the rows that are
// returned only.
const maxStuck = 20

const stuckQuery = `SELECT table_schema, table_name, partition_ident, shard_id, node_id, "primary", explanation, decisions FROM sys.allocations WHERE node_id = ANY($1) AND current_state = 'STARTED' LIMIT 20`

// readStuck asks why what should leave a node does not, only while nodes are
// excluded by id and such shards are known.
func (p *asked) readStuck(ctx context.Context, db *ops.Database) {
	if !db.AllocationKnown {
		return
	}
	var waiting []string
	for _, id := range list(db.Settings.Exclude["_id"]) {
		if slices.ContainsFunc(db.Shards, func(s ops.Shard) bool { return s.Node == id && s.State == "STARTED" }) {
			waiting = append(waiting, id)
		}
	}
	if len(waiting) == 0 {
		return
	}
	rows, err := p.session.Strings(ctx, stuckQuery, waiting)
	if err != nil {
		return
	}
	for _, r := range rows {
		id, _ := strconv.Atoi(r[3])
		e := ops.Explanation{
			Table: tableName(r[0], r[1], r[2]), ID: id, Node: r[4], Primary: r[5] == "true", Text: r[6], Reasons: deciders(r[7]),
		}
		if len(e.Reasons) == 0 {
			e.Reasons = reasons(db, e)
		}
		db.Stuck = append(db.Stuck, e)
	}
}

// deciders are sys.allocations' decisions, a text for each node and reason.
func deciders(printed string) []string {
	var decisions []struct {
		Name         string   `json:"node_name"`
		Explanations []string `json:"explanations"`
	}
	if json.Unmarshal([]byte(printed), &decisions) != nil {
		return nil
	}
	var out []string
	for _, d := range decisions {
		for _, words := range d.Explanations {
			out = append(out, d.Name+": "+words)
		}
	}
	return out
}

// reasons says what is known to keep a started copy from each of the other nodes.
// CrateDB itself gives it for a move that is asked for by hand only, and a move
// that it does not refuse is made: a reading must not ask.
func reasons(db *ops.Database, e ops.Explanation) []string {
	i := slices.IndexFunc(db.Tables, func(t ops.Table) bool { return t.Name == e.Table })
	if i < 0 {
		return nil
	}
	table := db.Tables[i]
	var out []string
	if table.Filtered && strings.HasPrefix(e.Text, "cannot rebalance") {
		return []string{"the table has allocation filters of its own (" + filterWords(table) + "), so that the cluster's exclusion does not count for it"}
	}
	copies := copiesOf(db, e)
	for _, n := range db.Nodes {
		if n.ID == e.Node {
			continue
		}
		if why := keptFrom(db, table, n, e, copies); why != "" {
			out = append(out, n.Name+": "+why)
		}
	}
	return out
}

// copiesOf are all copies of the shard.
func copiesOf(db *ops.Database, e ops.Explanation) []ops.Shard {
	var out []ops.Shard
	for _, s := range db.Shards {
		if s.Table == e.Table && s.ID == e.ID {
			out = append(out, s)
		}
	}
	return out
}

// keptFrom is why the node may not have the shard, "" when no reason is known.
func keptFrom(db *ops.Database, table ops.Table, n ops.Node, e ops.Explanation, copies []ops.Shard) string {
	set := db.Settings
	switch {
	case slices.ContainsFunc(copies, func(s ops.Shard) bool { return s.Node == n.ID || s.To == n.ID }):
		return "a copy of this shard is there already"
	case slices.Contains(list(set.Exclude["_id"]), n.ID) || slices.Contains(list(set.Exclude["_name"]), n.Name):
		return "it is excluded too"
	case slices.Contains(list(table.Exclude["_id"]), n.ID) || slices.Contains(list(table.Exclude["_name"]), n.Name):
		return "the table's own filters exclude it"
	case table.TotalShardsPerNode > 0 && shardsOf(db, table.Name, n.ID) >= table.TotalShardsPerNode:
		return "it has " + strconv.Itoa(table.TotalShardsPerNode) + " shards of the table, the table's routing.allocation.total_shards_per_node"
	case set.TotalShardsPerNode > 0 && n.Shards >= set.TotalShardsPerNode:
		return "it has " + strconv.Itoa(n.Shards) + " shards, cluster.routing.allocation.total_shards_per_node is " + strconv.Itoa(set.TotalShardsPerNode)
	case set.DiskThreshold && aboveLow(set.LowWatermark, n):
		return "its disk is above the low watermark of " + set.LowWatermark
	}
	for _, attribute := range set.Awareness {
		if n.Attributes != nil && n.Attributes[attribute] == "" {
			return "it has no node.attr." + attribute + ", which the allocation awareness asks for"
		}
		if most := mostInZone(db, attribute, len(copies)); most > 0 && inZone(db, attribute, n, e, copies)+1 > most {
			return "its " + attribute + " " + n.Attributes[attribute] + " has the " + strconv.Itoa(most) + " of " + strconv.Itoa(len(copies)) + " copies that the allocation awareness gives to each"
		}
	}
	return ""
}

// mostInZone is how many of the copies one value of the attribute may have: values
// count as long as a node has them, an excluded one too. 0 is unknown.
func mostInZone(db *ops.Database, attribute string, copies int) int {
	zones := make(map[string]bool)
	for _, n := range db.Nodes {
		if zone := n.Attributes[attribute]; zone != "" {
			zones[zone] = true
		}
	}
	if len(zones) == 0 {
		return 0
	}
	return (copies + len(zones) - 1) / len(zones)
}

// inZone counts the other copies in the node's zone.
func inZone(db *ops.Database, attribute string, n ops.Node, e ops.Explanation, copies []ops.Shard) int {
	zone, count := n.Attributes[attribute], 0
	for _, s := range copies {
		at := s.Node
		if s.To != "" {
			at = s.To
		}
		if at == e.Node || zone == "" {
			continue
		}
		if i := slices.IndexFunc(db.Nodes, func(o ops.Node) bool { return o.ID == at }); i >= 0 && db.Nodes[i].Attributes[attribute] == zone {
			count++
		}
	}
	return count
}

func shardsOf(db *ops.Database, table, node string) int {
	count := 0
	for _, s := range db.Shards {
		if s.Table == table && (s.Node == node || s.To == node) {
			count++
		}
	}
	return count
}

// aboveLow reads a watermark: a share that may be used, "85%" or "0.85", or the
// bytes that are to stay free, which only CrateDB's own reading needs exact.
func aboveLow(watermark string, n ops.Node) bool {
	if n.DiskSize <= 0 || n.DiskUsed < 0 {
		return false
	}
	text, percent := strings.CutSuffix(watermark, "%")
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || !percent && share > 1 {
		return false
	}
	if percent {
		share /= 100
	}
	return float64(n.DiskUsed) > share*float64(n.DiskSize)
}

func filterWords(t ops.Table) string {
	var out []string
	for _, kind := range []struct {
		name   string
		values map[string]string
	}{{"require", t.Require}, {"include", t.Include}, {"exclude", t.Exclude}} {
		for name, value := range kind.values {
			out = append(out, kind.name+"."+name+" = '"+value+"'")
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
