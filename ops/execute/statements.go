package execute

import (
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// Statements in CrateDB's SQL. Literals are quoted here; a
// password is bound wherever a session can bind it, and stands in a statement
// only for `crash`, where it is a random one-time password.

// literal quotes a text.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// MakeUser are the statements that make a user with all privileges; the password is bound to the first
// one. Again sets the password of one that is there.
func MakeUser(user string) (create, again, grant string) {
	return createUser(user), alterUser(user), grantAll(user)
}

// DropUser takes a user away, where there is one.
func DropUser(user string) string { return "DROP USER IF EXISTS " + model.Identifier(user) }

func createUserLiteral(user, password string) string {
	return "CREATE USER " + model.Identifier(user) + " WITH (password = " + literal(password) + ")"
}

func alterUserLiteral(user, password string) string {
	return "ALTER USER " + model.Identifier(user) + " SET (password = " + literal(password) + ")"
}

func createUser(user string) string {
	return "CREATE USER " + model.Identifier(user) + " WITH (password = $1)"
}
func alterUser(user string) string {
	return "ALTER USER " + model.Identifier(user) + " SET (password = $1)"
}
func grantAll(user string) string { return "GRANT ALL PRIVILEGES TO " + model.Identifier(user) }

func setLicenseStatement(key string) string { return "SET LICENSE " + literal(key) }

// setAllocation names its level: without one it would be transient, and lost in
// a full restart.
func setAllocation(value string) string {
	return `SET GLOBAL PERSISTENT "cluster.routing.allocation.enable" = ` + literal(value)
}

// setExcluded names its level too. The list has node ids, separated by commas.
func setExcluded(list string) string {
	return `SET GLOBAL PERSISTENT "cluster.routing.allocation.exclude._id" = ` + literal(list)
}

// setTableExcluded also changes each partition, and what new ones are made with.
// A list that becomes empty is taken off: an empty one is a setting too, which
// was not there before.
func setTableExcluded(schema, table string, ids []string) string {
	const setting = `"routing.allocation.exclude._id"`
	alter := "ALTER TABLE " + model.Identifier(schema) + "." + model.Identifier(table)
	if len(ids) == 0 {
		return alter + " RESET (" + setting + ")"
	}
	return alter + " SET (" + setting + " = " + literal(strings.Join(ids, ",")) + ")"
}

// setFilterList sets filters in one statement, an empty one for none. Of a partitioned table that is
// changed as a whole it also changes each partition, and what new ones are made with.
func setFilterList(filters []model.Setting) string {
	var list []string
	for _, f := range filters {
		list = append(list, model.Identifier("routing.allocation."+f.Name)+" = "+literal(f.Value))
	}
	return " SET (" + strings.Join(list, ", ") + ")"
}

// resetFilterList takes filters off: an empty one is a setting too.
func resetFilterList(filters []model.Setting) string {
	var list []string
	for _, f := range filters {
		list = append(list, model.Identifier("routing.allocation."+f.Name))
	}
	return " RESET (" + strings.Join(list, ", ") + ")"
}

const (
	excluded        = `SELECT settings['cluster']['routing']['allocation']['exclude']['_id'], settings['cluster']['routing']['allocation']['exclude'] FROM sys.cluster`
	tableExcluded   = `SELECT settings['routing']['allocation']['exclude']['_id'], settings['routing']['allocation'] FROM information_schema.tables WHERE table_schema = $1 AND table_name = $2`
	tablePartitions = `SELECT "values", settings['routing']['allocation'] FROM information_schema.table_partitions WHERE table_schema = $1 AND table_name = $2`
	reroute         = `ALTER CLUSTER REROUTE RETRY FAILED`
	// A node that does not answer the others has no version (run on 6.4.3, 6.3.7): the row
	// itself comes from the cluster state, which may be old.
	nodeIDs = `SELECT id, name, version['number'] FROM sys.nodes`
	copies  = `SELECT schema_name, table_name, partition_ident, id, routing_state, node['id'], node['name'], relocating_node FROM sys.shards`

	allocation = `SELECT settings['cluster']['routing']['allocation']['enable'] FROM sys.cluster`
	nodeNames  = `SELECT name, version['number'] FROM sys.nodes`
	masterNode = `SELECT master_node FROM sys.cluster`
	// The same tables as those of a reading.
	tableFilters     = `SELECT settings['routing']['allocation'] FROM information_schema.tables WHERE table_schema NOT IN ('sys', 'information_schema', 'pg_catalog') AND number_of_replicas IS NOT NULL`
	partitionFilters = `SELECT settings['routing']['allocation'] FROM information_schema.table_partitions`

	userNames = `SELECT name FROM sys.users`
	notGreen  = `SELECT table_schema, table_name FROM sys.health WHERE health <> 'GREEN'`

	// clusterPrivileges are those of a user on the whole cluster: AL, DDL, DML and
	// DQL after GRANT ALL PRIVILEGES.
	clusterPrivileges = `SELECT type FROM sys.privileges WHERE grantee = $1 AND class = 'CLUSTER' AND state = 'GRANT'`
	allPrivileges     = 4
	userPrivileges    = `SELECT state, type, class, ident FROM sys.privileges WHERE grantee = $1`
	// The same for crash, which binds nothing.
	systemPrivileges = `SELECT type FROM sys.privileges WHERE grantee = 'system' AND class = 'CLUSTER' AND state = 'GRANT'`

	clusterID = `SELECT id FROM sys.cluster`

	// Acknowledging takes DML, and is lost when a node restarts.
	acknowledgeChecks = `UPDATE sys.node_checks SET acknowledged = TRUE WHERE id = 1`
	openChecks        = `SELECT node_id FROM sys.node_checks WHERE id = 1 AND acknowledged = FALSE AND passed = FALSE`
)
