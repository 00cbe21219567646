package cratedb

import (
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// maxSole tables of a node are named.
const maxSole = 20

// shardKey is one shard of a table or partition.
type shardKey struct {
	table string
	id    int
}

const partitionMark = " partition "

// tableName is how a table or partition is called everywhere in a reading.
func tableName(schema, table, partition string) string {
	if partition == "" {
		return schema + "." + table
	}
	return schema + "." + table + partitionMark + partition
}

// shards reads the copies of sys.shards, those of closed tables, partitions and
// blob tables among them.
func shards(rows [][]string) []model.Shard {
	out := make([]model.Shard, 0, len(rows))
	primary := make(map[shardKey]bool, len(rows))
	for _, r := range rows {
		id, _ := strconv.Atoi(r[3])
		s := model.Shard{
			Table: tableName(r[0], r[1], r[2]), ID: id, State: r[4], Node: r[5], Primary: r[6] == "true", To: r[7], Bytes: number(r[8]),
		}
		primary[shardKey{s.Table, s.ID}] = primary[shardKey{s.Table, s.ID}] || s.Primary
		out = append(out, s)
	}
	// sys.shards says of every copy on no node that it is no primary. Each shard
	// has exactly one primary, so where no other copy is, one of these is it.
	for i := range out {
		key := shardKey{out[i].Table, out[i].ID}
		if out[i].State == "UNASSIGNED" && !primary[key] {
			out[i].Primary, primary[key] = true, true
		}
	}
	return out
}

// startedCopies is, by table, the smallest number of started copies of any of
// its shards; it counts what moves, and notes which nodes have the only copy.
func startedCopies(db *model.Database) map[string]int {
	count, on := make(map[shardKey]int), make(map[shardKey]string)
	for _, s := range db.Shards {
		key := shardKey{s.Table, s.ID}
		switch s.State {
		case "STARTED":
			count[key]++
			on[key] = s.Node
		case "RELOCATING":
			// One row, on the node that it is on until the handoff.
			db.Relocating++
			count[key]++
			on[key] = s.Node
		case "INITIALIZING":
			db.Initializing++
			fallthrough
		default:
			count[key] += 0
		}
	}
	least := make(map[string]int)
	for key, n := range count {
		if before, ok := least[key.table]; !ok || n < before {
			least[key.table] = n
		}
		i := slices.IndexFunc(db.Nodes, func(node model.Node) bool { return node.ID == on[key] })
		if n != 1 || i < 0 {
			continue
		}
		// One partition stands for its table.
		name, _, _ := strings.Cut(key.table, partitionMark)
		if !slices.Contains(db.Nodes[i].Sole, name) {
			db.Nodes[i].Sole = append(db.Nodes[i].Sole, name)
		}
	}
	for i := range db.Nodes {
		slices.Sort(db.Nodes[i].Sole)
		db.Nodes[i].Sole = db.Nodes[i].Sole[:min(maxSole, len(db.Nodes[i].Sole))]
	}
	return least
}
