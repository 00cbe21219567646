package cratedb

import (
	"context"
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// Statements of a detailed reading: plain scans, none of them grows with what
// another one read. A list of statements is tried in order: the first has what
// CrateDB has today, the next what older releases lack is left out of.
var (
	nodesQueries = []string{
		`SELECT ` + nodeColumns + `, attributes FROM sys.nodes`, // from 5.2 on
		nodesQuery,
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
)

const copiesQuery = `SELECT schema_name, table_name, partition_ident, id, routing_state, node['id'], "primary", relocating_node, size FROM sys.shards`

const fromTables = `FROM information_schema.tables WHERE table_schema NOT IN ('sys', 'information_schema', 'pg_catalog') AND number_of_replicas IS NOT NULL`

// readTables adds what an action needs known that takes a node away, for a while or for
// good: the tables, and each copy of their shards. A part that could not be read leaves the
// others known.
func (p *asked) readTables(ctx context.Context, db *model.Database) {
	tables, ok := p.askAny(ctx, db, model.PartTables, tablesQueries)
	if !ok {
		return
	}
	partitions, ok := p.askAny(ctx, db, model.PartPartitions, partitionsQueries)
	if !ok {
		return
	}
	all := slices.Concat(tables, partitions)
	noteUnreplicated(db, slices.DeleteFunc(slices.Clone(all), func(r []string) bool { return r[3] != "0" }))
	if !db.ShardsKnown {
		return
	}
	db.TablesKnown = true
	db.Shards = shards(p.copies)
	started := startedCopies(db)
	for _, r := range all {
		t := table(r)
		if n, ok := started[t.Name]; ok {
			t.Started = n
			db.Tables = append(db.Tables, t)
		} else if t.Partition == "" {
			db.Partitioned = append(db.Partitioned, t)
		}
	}
}
