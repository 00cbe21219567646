package cratedb

import (
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// table reads a row of information_schema's tables or table_partitions; its
// Started is not known yet.
func table(r []string) model.Table {
	allocation := object(r[4])
	t := model.Table{
		Name: tableName(r[0], r[1], r[2]), Replicas: r[3], Created: r[5], Partition: r[2],
		Exclude: allocation.below("exclude").filters(), Include: allocation.below("include").filters(),
		Require: allocation.below("require").filters(), TotalShardsPerNode: allocation.number("total_shards_per_node", -1),
		Enable: strings.ToLower(allocation.text("enable")), WaitForActiveShards: strings.ToUpper(r[6]),
	}
	if t.Enable == "all" {
		// Shown of a table that says nothing of it, too.
		t.Enable = ""
	}
	if t.Partition != "" {
		t.Of = tableName(r[0], r[1], "")
	}
	t.Filtered = len(t.Exclude)+len(t.Include)+len(t.Require) > 0
	return t
}
