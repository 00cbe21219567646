package chaos

import (
	"fmt"
	"strconv"
)

// table is one that the application uses.
type table struct {
	name string
	// with is the WITH clause, and replicas the least of number_of_replicas.
	with     string
	replicas int
	// partitioned by the column part; a blob table has digests and no rows.
	partitioned, blob bool
	// gone tables are made and filled, but nobody uses them after that.
	gone bool
}

// dropped is the table that is dropped while nodes with copies of it are away.
const dropped = "dropped"

// seed has the rows that INSERT … SELECT reads.
const seed, seedRows = "seed", 10

// parts is how many partitions there come to be.
const parts = 4

var tables = []table{
	{name: "none", with: "number_of_replicas = 0"},
	{name: "one", with: "number_of_replicas = 1", replicas: 1},
	{name: "two", with: "number_of_replicas = 2", replicas: 2},
	{name: "parted", with: "number_of_replicas = 1", replicas: 1, partitioned: true},
	// A filter of its own makes the cluster's exclusions void for the table. This
	// one leaves it enough nodes, of three too.
	{name: "filtered", with: `number_of_replicas = 1, "routing.allocation.exclude._name" = 'data-hot-1'`, replicas: 1},
	{name: "files", with: "number_of_replicas = 1", replicas: 1, blob: true},
	{name: dropped, with: "number_of_replicas = 1", replicas: 1, gone: true},
}

// create is the statement that makes the table.
func (t table) create() string {
	switch {
	case t.blob:
		return fmt.Sprintf("CREATE BLOB TABLE %s CLUSTERED INTO 3 SHARDS WITH (%s)", t.name, t.with)
	case t.partitioned:
		return fmt.Sprintf("CREATE TABLE doc.%s (id TEXT, batch BIGINT, part INTEGER, PRIMARY KEY (id, part)) CLUSTERED INTO 2 SHARDS PARTITIONED BY (part) WITH (%s)", t.name, t.with)
	}
	return fmt.Sprintf("CREATE TABLE doc.%s (id TEXT PRIMARY KEY, batch BIGINT) CLUSTERED INTO 3 SHARDS WITH (%s)", t.name, t.with)
}

func (t table) fullName() string {
	if t.blob {
		return "blob." + t.name
	}
	return "doc." + t.name
}

func partOf(batch int64) int64 { return batch % parts }

// insertOne writes one row, which is there once however often it is sent.
func (t table) insertOne(batch int64) string {
	if t.partitioned {
		return fmt.Sprintf("INSERT INTO doc.%s (id, batch, part) VALUES ('%s', %d, %d) ON CONFLICT (id, part) DO NOTHING", t.name, rowID(batch), batch, partOf(batch))
	}
	return fmt.Sprintf("INSERT INTO doc.%s (id, batch) VALUES ('%s', %d) ON CONFLICT (id) DO NOTHING", t.name, rowID(batch), batch)
}

// insertMany writes seedRows rows of one batch: the statement of which an answer
// may mean fewer rows than were asked for.
func (t table) insertMany(batch int64) string {
	if t.partitioned {
		return fmt.Sprintf("INSERT INTO doc.%s (id, batch, part) (SELECT '%d-' || n, %d, %d FROM doc.%s) ON CONFLICT (id, part) DO NOTHING", t.name, batch, batch, partOf(batch), seed)
	}
	return fmt.Sprintf("INSERT INTO doc.%s (id, batch) (SELECT '%d-' || n, %d FROM doc.%s) ON CONFLICT (id) DO NOTHING", t.name, batch, batch, seed)
}

func (t table) lookUp(batch int64) string {
	if t.partitioned {
		return fmt.Sprintf("SELECT batch FROM doc.%s WHERE id = '%s' AND part = %d", t.name, rowID(batch), partOf(batch))
	}
	return fmt.Sprintf("SELECT batch FROM doc.%s WHERE id = '%s'", t.name, rowID(batch))
}

func (t table) scan() string { return "SELECT count(*) FROM " + t.fullName() }

func rowID(batch int64) string { return strconv.FormatInt(batch, 10) }
