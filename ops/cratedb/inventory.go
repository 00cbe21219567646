package cratedb

import (
	"fmt"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/gates"
)

// Statements are all that a reading sends; see execute.Statements. Of those that are
// tried in order, for older releases too, each is in it.
func Statements() []execute.Statement {
	one := map[string]string{
		"cluster": clusterQuery, "nodes": nodesQuery, "shards": shardsQuery, "health": healthQuery, "checks": checksQuery,
		"users": usersQuery, "copies": copiesQuery, "clusterHealth": clusterHealthQuery,
		"privileges": privilegesQuery, "grantedToUsers": grantedToUsersQuery, "grantedToRoles": grantedToRolesQuery,
		"snapshots": snapshotsQuery, "repositories": repositoriesQuery, "snapshotJobs": snapshotJobsQuery,
		"readableTables": readableTables, "readablePartitions": readablePartitions, "redTables": redTables, "blobTables": blobTables,
		"restores": restoresQuery, "ownTables": ownTables, "fetched": fetchedQuery, "missing": missingTables, "facts": factsQuery,
		"unreplicatedTables": unreplicatedTables, "unreplicatedPartitions": unreplicatedPartitions,
	}
	several := map[string][]string{
		"nodesDetailed": nodesQueries[:1], "tables": tablesQueries, "partitions": partitionsQueries,
		"settings": settingsQueries,
	}
	for _, rule := range gates.Questions {
		one[rule.Name] = rule.Asks.SQL
	}
	var out []execute.Statement
	for name, sql := range one {
		out = append(out, execute.Statement{Name: "cratedb." + name, SQL: sql})
	}
	for name, list := range several {
		for i, sql := range list {
			out = append(out, execute.Statement{Name: fmt.Sprintf("cratedb.%s%d", name, i), SQL: sql})
		}
	}
	return append(out, execute.Statement{
		Name: "cratedb.stuck", SQL: stuckQuery, Arguments: []any{[]string{"{n0.id}", "{n1.id}", "{n2.id}", "{n3.id}"}},
	})
}
