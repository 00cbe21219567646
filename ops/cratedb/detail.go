package cratedb

import (
	"context"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops"
)

// Statements of a detailed reading.
const (
	copiesQuery     = `SELECT schema_name, table_name, partition_ident, id, routing_state, node['id'] FROM sys.shards`
	tablesQuery     = `SELECT table_schema, table_name, '', number_of_replicas, settings['routing']['allocation'] FROM information_schema.tables WHERE table_schema NOT IN ('sys', 'information_schema', 'pg_catalog') AND number_of_replicas IS NOT NULL`
	partitionsQuery = `SELECT table_schema, table_name, partition_ident, number_of_replicas, settings['routing']['allocation'] FROM information_schema.table_partitions`
	snapshotsQuery  = `SELECT count(*) FROM sys.snapshots WHERE state = 'IN_PROGRESS'`
)

// maxSole tables of a node are named.
const maxSole = 20

// shard is one shard of a table or partition.
type shard struct{ schema, table, partition, id string }

// readDetail adds what only a pod that is to go down needs known.
func (p *asked) readDetail(ctx context.Context, db *ops.Database) {
	s := p.session
	if rows, err := s.Strings(ctx, snapshotsQuery); err == nil && len(rows) == 1 {
		db.SnapshotsKnown, db.Snapshots = true, int(number(rows[0][0]))
	}
	copies, err := s.Strings(ctx, copiesQuery)
	if err != nil {
		return
	}
	tables, err := s.Strings(ctx, tablesQuery)
	if err != nil {
		return
	}
	partitions, err := s.Strings(ctx, partitionsQuery)
	if err != nil {
		return
	}
	db.TablesKnown = true
	started := fewest(startedCopies(copies, db))
	for _, r := range slices.Concat(tables, partitions) {
		db.Tables = append(db.Tables, tableOf(r, started))
	}
	db.Tables = slices.DeleteFunc(db.Tables, func(t ops.Table) bool { return t.Started < 0 })
}

// startedCopies counts what is started of each shard, and notes which nodes have
// the only one.
func startedCopies(rows [][]string, db *ops.Database) map[shard]int {
	count, on := make(map[shard]int), make(map[shard]string)
	for _, r := range rows {
		key := shard{r[0], r[1], r[2], r[3]}
		switch r[4] {
		case "STARTED":
			count[key]++
			on[key] = r[5]
		case "RELOCATING":
			// One row, on the node that it is on until the handoff.
			db.Relocating++
			count[key]++
			on[key] = r[5]
		case "INITIALIZING":
			db.Initializing++
			fallthrough
		default:
			count[key] += 0
		}
	}
	for key, n := range count {
		i := slices.IndexFunc(db.Nodes, func(node ops.Node) bool { return node.ID == on[key] })
		if n != 1 || i < 0 {
			continue
		}
		name := key.schema + "." + key.table
		if sole := db.Nodes[i].Sole; len(sole) < maxSole && !slices.Contains(sole, name) {
			db.Nodes[i].Sole = append(sole, name)
		}
	}
	for i := range db.Nodes {
		slices.Sort(db.Nodes[i].Sole)
	}
	return count
}

// fewest is the smallest count over the shards of each table or partition.
func fewest(started map[shard]int) map[shard]int {
	least := make(map[shard]int)
	for key, n := range started {
		key.id = ""
		if before, ok := least[key]; !ok || n < before {
			least[key] = n
		}
	}
	return least
}

// tableOf has Started -1 for what has no shards of its own: a partitioned table.
func tableOf(row []string, started map[shard]int) ops.Table {
	t := ops.Table{Name: row[0] + "." + row[1], Replicas: row[3], Started: -1, Filtered: filtered(row[4])}
	if n, ok := started[shard{row[0], row[1], row[2], ""}]; ok {
		t.Started = n
	}
	if row[2] != "" {
		t.Name += " partition " + row[2]
	}
	return t
}

// filtered reads Go's print of the object that settings['routing']['allocation']
// is: "map[enable:all exclude:map[] include:map[] require:map[_name:n1] …]". A
// filter that is set has something between its brackets.
func filtered(printed string) bool {
	for _, kind := range []string{"require:map[", "include:map[", "exclude:map["} {
		if _, after, ok := strings.Cut(printed, kind); ok && !strings.HasPrefix(after, "]") {
			return true
		}
	}
	return false
}
