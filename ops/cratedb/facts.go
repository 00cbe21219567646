package cratedb

import (
	"context"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// factsQuery counts what the primaries of each table have; one that is on no node is not shown as one. Each operation
// on a shard takes the next sequence number, and a snapshot has the operations of its commit: a primary that comes from
// it has the same number (run on 6.3.7 and 6.4.3). The checkpoint is of operations that are done, the greatest number may
// be of one that is not.
const factsQuery = `SELECT schema_name, table_name, count(*), count(*) FILTER (WHERE state = 'STARTED'), sum(seq_no_stats['local_checkpoint'] + 1), sum(num_docs), sum(size) FROM sys.shards WHERE "primary" GROUP BY schema_name, table_name`

// readFacts reads the operations and sizes of all tables, those that are being restored among them.
func (p *asked) readFacts(ctx context.Context, db *model.Database) {
	rows, ok := p.askAll(ctx, db, model.PartShards, factsQuery)
	if !ok {
		return
	}
	db.FactsKnown = true
	for _, r := range rows {
		db.Facts = append(db.Facts, model.TableFacts{
			Name: r[0] + "." + r[1], Primaries: int(number(r[2])), Started: int(number(r[3])), Operations: number(r[4]), Docs: number(r[5]), Bytes: number(r[6]),
		})
	}
	slices.SortFunc(db.Facts, func(a, b model.TableFacts) int { return strings.Compare(a.Name, b.Name) })
}

// visible leaves out the tables that are being restored: that they are not there yet is no loss. Statements about
// tables begin with their schema and name.
func (p *asked) visible(query string, rows [][]string) [][]string {
	if len(p.hidden) == 0 || !aboutTables(query) {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r []string) bool { return slices.Contains(p.hidden, r[0]+"."+r[1]) })
}

func aboutTables(query string) bool {
	return strings.HasPrefix(query, "SELECT table_schema, table_name") || strings.HasPrefix(query, "SELECT schema_name, table_name")
}

// unhide takes the tables that are being restored out of sys.cluster_health, which has one row for all: where the rows
// of sys.health explain all that it says, those that are left are the health.
func (p *asked) unhide(db *model.Database, all [][]string) {
	if len(p.hidden) == 0 {
		return
	}
	whole, rest := health(all), health(p.visible(healthQuery, all))
	c := &db.ClusterHealth
	if c.Colour == whole.Colour && c.Missing == whole.Missing && c.Underreplicated == whole.Underreplicated {
		c.Colour, c.Missing, c.Underreplicated = rest.Colour, rest.Missing, rest.Underreplicated
	}
}
