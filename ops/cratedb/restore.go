package cratedb

import (
	"context"

	"stevedore.dev/stevedore/ops/model"
)

// What there is of a restore. sys.snapshot_restore has a row for each that runs, from the cluster state of
// any node (SysSnapshotRestoreTableInfo).
const (
	restoresQuery = `SELECT DISTINCT repository FROM sys.snapshot_restore`
	// A table that waits to be fetched is yellow, with shards that are missing; it is red once it cannot be (run on 6.4.3).
	missingTables = `SELECT table_schema, table_name FROM sys.health WHERE missing_shards > 0`
	ownTables     = `SELECT table_schema, table_name ` + fromTables
	fetchedQuery  = `SELECT sum(recovery['size']['used']), sum(recovery['size']['recovered']) FROM sys.shards WHERE "primary" AND recovery['type'] = 'SNAPSHOT' AND state <> 'STARTED'`
)

// readRestore finds out which tables are there, and what is being fetched. What runs is asked first: a restore
// that ends in between shows its tables.
func (p *asked) readRestore(ctx context.Context, db *model.Database) {
	running, ok := p.ask(ctx, db, model.PartRestores, restoresQuery)
	if !ok {
		return
	}
	tables, ok := p.askAll(ctx, db, model.PartTables, ownTables)
	if !ok {
		return
	}
	missing, ok := p.askAll(ctx, db, model.PartHealth, missingTables)
	if !ok {
		return
	}
	r := &db.Restore
	r.Known = true
	for _, row := range running {
		r.Running = append(r.Running, row[0])
	}
	for _, row := range tables {
		r.Tables = append(r.Tables, row[0]+"."+row[1])
	}
	for _, row := range missing {
		r.Missing = append(r.Missing, row[0]+"."+row[1])
	}
	if sizes, ok := p.ask(ctx, db, model.PartShards, fetchedQuery); ok && len(sizes) == 1 {
		r.Bytes, r.Fetched = number(sizes[0][0]), number(sizes[0][1])
	}
}
