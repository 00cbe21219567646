package cratedb

import (
	"context"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// CrateDB refuses a snapshot of all tables, before it begins, where one is closed, blocks reads
// (CreateSnapshotPlan) or has a shard without a primary (SnapshotsService). BLOB tables are in none.
const (
	readableTables     = `SELECT table_schema, table_name, closed, settings['blocks']['read'] ` + fromTables + ` AND table_schema <> 'blob'`
	readablePartitions = `SELECT table_schema, table_name, closed, settings['blocks']['read'] FROM information_schema.table_partitions`
	blobTables         = `SELECT table_name FROM information_schema.tables WHERE table_schema = 'blob'`
	redTables          = `SELECT table_schema, table_name FROM sys.health WHERE health = 'RED'`
)

// readReadable finds out which tables a snapshot can have.
func (p *asked) readReadable(ctx context.Context, db *model.Database) {
	tables, ok := p.ask(ctx, db, model.PartTables, readableTables)
	if !ok {
		return
	}
	partitions, ok := p.ask(ctx, db, model.PartPartitions, readablePartitions)
	if !ok {
		return
	}
	red, ok := p.ask(ctx, db, model.PartHealth, redTables)
	if !ok {
		return
	}
	blobs, ok := p.ask(ctx, db, model.PartTables, blobTables)
	if !ok {
		return
	}
	for _, r := range blobs {
		db.Blobs = append(db.Blobs, r[0])
	}
	db.UnreadableKnown = true
	bad := func(name, why string, partition bool) {
		if !slices.ContainsFunc(db.Unreadable, func(u model.UnreadableTable) bool { return u.Name == name }) {
			db.Unreadable = append(db.Unreadable, model.UnreadableTable{Name: name, Why: why, Partition: partition})
		}
	}
	for _, r := range red {
		bad(r[0]+"."+r[1], "red", false)
	}
	for i, r := range slices.Concat(tables, partitions) {
		switch name, partition := r[0]+"."+r[1], i >= len(tables); {
		case r[2] == "true":
			bad(name, "closed", partition)
		case r[3] == "true":
			bad(name, "blocks.read", partition)
		}
	}
	for _, r := range tables {
		name := r[0] + "." + r[1]
		if !slices.ContainsFunc(db.Unreadable, func(u model.UnreadableTable) bool { return u.Name == name }) {
			db.Readable = append(db.Readable, name)
		}
	}
	slices.SortFunc(db.Unreadable, func(a, b model.UnreadableTable) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(db.Readable)
}
