package cratedb

import (
	"context"
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// Statements of a detailed reading: plain scans, none of them grows with what
// another one read. A list of statements is tried in order: the first has what
// CrateDB has today, the next what older releases lack is left out of.
var (
	copiesQueries = []string{
		`SELECT schema_name, table_name, partition_ident, id, routing_state, node['id'], "primary", relocating_node, size FROM sys.shards`,
	}
	tablesQueries = []string{
		`SELECT table_schema, table_name, '', number_of_replicas, settings['routing']['allocation'], version['created'], settings['write']['wait_for_active_shards'] ` + fromTables,
		`SELECT table_schema, table_name, '', number_of_replicas, settings['routing']['allocation'], version['created'], '' ` + fromTables,
		`SELECT table_schema, table_name, '', number_of_replicas, settings['routing']['allocation'], '', '' ` + fromTables,
	}
	partitionsQueries = []string{
		`SELECT table_schema, table_name, partition_ident, number_of_replicas, settings['routing']['allocation'], version['created'], settings['write']['wait_for_active_shards'] FROM information_schema.table_partitions`,
		`SELECT table_schema, table_name, partition_ident, number_of_replicas, settings['routing']['allocation'], version['created'], '' FROM information_schema.table_partitions`,
		`SELECT table_schema, table_name, partition_ident, number_of_replicas, settings['routing']['allocation'], '', '' FROM information_schema.table_partitions`,
	}
	// From 5.2 on.
	attributesQueries = []string{`SELECT id, attributes FROM sys.nodes`}
)

const fromTables = `FROM information_schema.tables WHERE table_schema NOT IN ('sys', 'information_schema', 'pg_catalog') AND number_of_replicas IS NOT NULL`

// readDetail adds what an action needs known that takes a node away, for a while
// or for good. A part that could not be read leaves the others known.
func (p *asked) readDetail(ctx context.Context, db *model.Database) {
	if gates.CompareMinor(p.answer.Version, "5.2") >= 0 {
		if rows, ok := p.askAny(ctx, db, model.PartAttributes, attributesQueries); ok {
			nodeAttributes(rows, db)
		}
	}
	copies, ok := p.askAny(ctx, db, model.PartShards, copiesQueries)
	if !ok {
		return
	}
	tables, ok := p.askAny(ctx, db, model.PartTables, tablesQueries)
	if !ok {
		return
	}
	partitions, ok := p.askAny(ctx, db, model.PartPartitions, partitionsQueries)
	if !ok || !db.NodesKnown {
		return
	}
	db.TablesKnown = true
	db.Shards = shards(copies)
	started := startedCopies(db)
	for _, r := range slices.Concat(tables, partitions) {
		t := table(r)
		if n, ok := started[t.Name]; ok {
			t.Started = n
			db.Tables = append(db.Tables, t)
		} else if t.Partition == "" {
			db.Partitioned = append(db.Partitioned, t)
		}
	}
	p.readStuck(ctx, db)
}

// nodeAttributes notes node.attr.* of each node.
func nodeAttributes(rows [][]string, db *model.Database) {
	for _, r := range rows {
		if i := slices.IndexFunc(db.Nodes, func(n model.Node) bool { return n.ID == r[0] }); i >= 0 {
			db.Nodes[i].Attributes = object(r[1]).texts()
		}
	}
}
