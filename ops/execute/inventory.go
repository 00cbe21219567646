package execute

import (
	"stevedore.dev/stevedore/ops/model"
)

// Statement is one that this program sends to CrateDB.
type Statement struct {
	// Name says where it comes from: "execute.copies".
	Name string
	// SQL with $1 for what is bound. {n1.id} stands for the id of a node.
	SQL string
	// Arguments are bound: texts, or lists of texts, with the same placeholders.
	Arguments []any
	// Writes is true for what changes something.
	Writes bool
}

// Statements are all that executors send, with values in the place of those that a
// cluster gives: what compares CrateDB with its simulator asks each. A test fails for
// one that is missing here.
func Statements() []Statement {
	reads := map[string]string{
		"excluded": excluded, "nodeIDs": nodeIDs, "copies": copies, "allocation": allocation, "nodeNames": nodeNames,
		"masterNode": masterNode, "tableFilters": tableFilters, "partitionFilters": partitionFilters, "userNames": userNames,
		"notGreen": notGreen, "clusterHealth": clusterHealth, "denials": denials, "systemPrivileges": systemPrivileges, "clusterID": clusterID, "openChecks": openChecks,
		"repositoryJobs": repositoryJobs, "primaryOrigins": primaryOrigins, "redNames": redNames, "unfinished": unfinished,
		"setting": "SELECT " + SettingColumn("cluster.max_shards_per_node") + " FROM sys.cluster",
	}
	leaving := model.Examination{IDs: []string{"{n1.id}"}, Names: []string{"{n1.name}", "{n3.name}"}}
	reads["superuserItself"], reads["seenShards"], reads["seenElsewhere"] = superuserItself, seenShards(leaving), seenElsewhere(leaving)
	var out []Statement
	for name, sql := range reads {
		out = append(out, Statement{Name: "execute." + name, SQL: sql})
	}
	return append(append(out, swapStatements()...),
		Statement{Name: "execute.tableExcluded", SQL: tableExcluded, Arguments: []any{"doc", "t0"}},
		Statement{Name: "execute.tablePartitions", SQL: tablePartitions, Arguments: []any{"doc", "t0"}},
		Statement{Name: "execute.setTableFiltersOnly", SQL: `ALTER TABLE ONLY "doc"."t0"` + setFilterList([]model.Setting{{Name: "include._name", Value: "{n1.name}"}}), Writes: true},
		Statement{Name: "execute.clusterPrivileges", SQL: clusterPrivileges, Arguments: []any{"system"}},
		Statement{Name: "execute.userPrivileges", SQL: userPrivileges, Arguments: []any{"system"}},
		Statement{Name: "execute.repositoryOf", SQL: repositoryOf, Arguments: []any{"stevedore_0a0b0c0d"}},
		Statement{Name: "execute.createRepository", SQL: `CREATE REPOSITORY "stevedore_0a0b0c0d" TYPE fs WITH ("location" = 'backups/shop/orders/id')`, Writes: true},
		Statement{Name: "execute.alterRepository", SQL: `ALTER REPOSITORY "stevedore_0a0b0c0d" SET ("location" = 'backups/shop/orders/id')`, Writes: true},
		Statement{Name: "execute.createSnapshot", SQL: createSnapshot("stevedore_0a0b0c0d", "stevedore-daily-20260101t030000z", nil), Writes: true},
		Statement{Name: "execute.createSnapshotOfTables", SQL: createSnapshot("stevedore_0a0b0c0d", "stevedore-daily-20260102t030000z", []string{"doc.t0"}), Writes: true},
		Statement{Name: "execute.restoreUsers", SQL: restoreUsersStatement("stevedore_0a0b0c0d", "stevedore-daily-20260101t030000z"), Writes: true},
		Statement{Name: "execute.restoreSections", SQL: restoreSections("stevedore_0a0b0c0d", "stevedore-daily-20260101t030000z", nil, true), Writes: true},
		Statement{Name: "execute.restoreTables", SQL: restoreSections("stevedore_0a0b0c0d", "stevedore-daily-20260101t030000z", []string{"doc.t0"}, false), Writes: true},
		Statement{Name: "execute.fetchTables", SQL: fetchStatement("stevedore_0a0b0c0d", "stevedore-daily-20260101t030000z", []string{"doc.t0"}, "stevedore_drill_0a1b2c3d4e5f_$1"), Writes: true},
		Statement{Name: "execute.withoutReplicas", SQL: withoutReplicas("doc.nowhere"), Writes: true},
		Statement{Name: "execute.writable", SQL: writable("doc.nowhere"), Writes: true},
		Statement{Name: "execute.dropSnapshot", SQL: dropSnapshot("stevedore_0a0b0c0d", "stevedore-daily-20260102t030000z"), Writes: true},
		Statement{Name: "execute.dropRepository", SQL: dropRepository("stevedore_0a0b0c0d"), Writes: true},
		Statement{Name: "execute.dropTable", SQL: dropTable("doc.nowhere"), Writes: true},
		Statement{Name: "execute.analyze", SQL: analyze, Writes: true},
		Statement{Name: "execute.reroute", SQL: reroute, Writes: true},
		Statement{Name: "execute.acknowledgeChecks", SQL: acknowledgeChecks, Writes: true},
		Statement{Name: "execute.setAllocation", SQL: setAllocation("new_primaries"), Writes: true},
		Statement{Name: "execute.setExcluded", SQL: setExcluded("{n1.id},{n3.id}"), Writes: true},
		Statement{Name: "execute.setExcludedAnew", SQL: setExcluded("{n1.id},{n3.id},"), Writes: true},
		Statement{Name: "execute.setExcludedNone", SQL: setExcluded(""), Writes: true},
		Statement{Name: "execute.setTableExcluded", SQL: setTableExcluded("doc", "t0", []string{"{n1.id}", "{n3.id}"}), Writes: true},
		Statement{Name: "execute.setTableExcludedNone", SQL: setTableExcluded("doc", "t0", nil), Writes: true},
		Statement{Name: "execute.setTableFilters", SQL: `ALTER TABLE "doc"."t0"` + setFilterList([]model.Setting{{Name: "include._name", Value: "{n1.name},{n3.name}"}, {Name: "require.zone"}}), Writes: true},
		Statement{Name: "execute.resetTableFilters", SQL: `ALTER TABLE "doc"."t0"` + resetFilterList([]model.Setting{{Name: "include._name"}, {Name: "require.zone"}}), Writes: true},
		Statement{Name: "execute.setLicense", SQL: setLicenseStatement("key"), Writes: true},
		Statement{Name: "execute.createUser", SQL: createUser("u0"), Arguments: []any{"pw-u0"}, Writes: true},
		Statement{Name: "execute.alterUser", SQL: alterUser("u0"), Arguments: []any{"pw-u1"}, Writes: true},
		Statement{Name: "execute.createUserLiteral", SQL: createUserLiteral("u0", "pw-u0"), Writes: true},
		Statement{Name: "execute.alterUserLiteral", SQL: alterUserLiteral("u0", "pw-u1"), Writes: true},
		Statement{Name: "execute.grantAll", SQL: grantAll("u0"), Writes: true},
		Statement{Name: "execute.dropUser", SQL: DropUser("u0"), Writes: true},
		Statement{Name: "execute.setSettings", SQL: `SET GLOBAL PERSISTENT "cluster.max_shards_per_node" = 999`, Writes: true},
		Statement{Name: "execute.resetSettings", SQL: `RESET GLOBAL "cluster.max_shards_per_node"`, Writes: true},
	)
}
