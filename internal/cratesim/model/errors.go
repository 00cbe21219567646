package model

import (
	"fmt"
	"strings"
	"time"
)

// Error is a failure in CrateDB's words: what HTTP and the PostgreSQL protocol say of it.
type Error struct {
	Class    string // the exception's simple name; HTTP messages read Class[Message]
	Message  string
	SQLState string // SQLSTATE of the PostgreSQL protocol
	HTTP     int    // HTTP status; 0 is 500
	Code     int    // CrateDB's own code in the HTTP body
	Fatal    bool   // severity FATAL: the connection ends after it
	// Of is what the error tells of: who has no privilege there is not told (CrateDB's
	// TableScopeException and its like). The zero value is told to everybody.
	Of Scope
	// Wait is how long CrateDB itself holds a statement in the hope that the cause goes
	// away before it gives this answer; 0 answers at once.
	Wait time.Duration
}

// Scope is what a privilege may be on: a TABLE by its full name, a SCHEMA or the CLUSTER.
type Scope struct{ Class, Ident string }

func (e *Error) Error() string { return e.Message }

func (e *Error) ofTable(name string) *Error {
	if !strings.Contains(name, ".") {
		name = "doc." + name
	}
	return e.of("TABLE", name)
}

func (e *Error) of(class, ident string) *Error {
	e.Of = Scope{class, ident}
	return e
}

// HTTPMessage is the text under error.message in an HTTP answer.
func (e *Error) HTTPMessage() string {
	if strings.HasPrefix(e.Message, e.Class+"[") {
		return e.Message
	}
	if strings.HasPrefix(e.Message, "[") && e.Class == noMaster {
		return e.Class + e.Message
	}
	return e.Class + "[" + e.Message + "]"
}

// PostgresMessage is the text of the error over the PostgreSQL protocol. Without a
// master it is the exception's own, which is empty, or what CrateDB makes of an
// exception that has none (run on 6.4.3).
func (e *Error) PostgresMessage() string {
	switch {
	case e.Class == noMaster && e.Message == "[]":
		return ""
	case e.Class == noMaster && e.Message == "[null]":
		return noMaster + " in org.elasticsearch.action.support.master.TransportMasterNodeAction$AsyncSingleAction$2.onTimeout(TransportMasterNodeAction.java:249)"
	}
	return e.Message
}

const noMaster = "MasterNotDiscoveredException"

// masterTimeout and writeTimeout are how long statements that need a master, and writes
// that need a primary, are held before they fail (run on 6.4.3).
const (
	masterTimeout = 30 * time.Second
	writeTimeout  = 60 * time.Second
)

func errorOf(class, state string, http, code int, format string, args ...any) *Error {
	return &Error{Class: class, Message: fmt.Sprintf(format, args...), SQLState: state, HTTP: http, Code: code}
}

// ErrParse is a request that cannot be read.
func ErrParse(format string, args ...any) *Error {
	return errorOf("SQLParseException", "XX000", 400, 4000, format, args...)
}

// ErrSyntax is a statement that the grammar does not have. Before 6.4 it was made an
// SQLParseException, of which PGError did not know what it is.
func ErrSyntax(v Version, words string) *Error {
	if v.AtLeast(6, 4) {
		return errorOf("ParsingException", "42601", 400, 4000, "%s", words)
	}
	return ErrParse("%s", words)
}

// ErrUnsupported is a statement or feature that exists for the parser only.
func ErrUnsupported(format string, args ...any) *Error {
	return errorOf("UnsupportedFeatureException", "0A000", 400, 4004, format, args...).of("CLUSTER", "")
}

func errNotLive(setting string) *Error {
	return errorOf("UnsupportedOperationException", "XX000", 400, 4004, "Setting '%s' cannot be set/reset at runtime", setting)
}

// ErrIllegalArgument is a value or setting that cannot be taken.
func ErrIllegalArgument(format string, args ...any) *Error {
	return errorOf("SQLParseException", "XX000", 400, 4000, format, args...)
}

// ErrRelationUnknown names a table that does not exist; name is schema-qualified.
func ErrRelationUnknown(name string) *Error {
	return errorOf("RelationUnknown", "42P01", 404, 4041, "Relation '%s' unknown", name).ofTable(name)
}

// ErrRelationExists is CREATE TABLE of a name that is taken.
func ErrRelationExists(name string) *Error {
	return errorOf("RelationAlreadyExists", "42P07", 409, 4093, "Relation '%s' already exists.", name).ofTable(name)
}

// ErrInaccessible is what a table does not do: a closed one, or one for blobs.
func ErrInaccessible(name, why string) *Error {
	return errorOf("OperationOnInaccessibleRelationException", "XX000", 400, 4007, "The relation \"%s\" doesn't support or allow %s", name, why).ofTable(name)
}

// ErrPartitionUnknown names a partition that does not exist.
func ErrPartitionUnknown(table, ident string) *Error {
	return errorOf("PartitionUnknownException", "XX000", 404, 4046, "No partition for table '%s' with ident '%s' exists", table, ident).ofTable(table)
}

// ErrSchemaUnknown names a schema without tables.
func ErrSchemaUnknown(name string) *Error {
	return errorOf("SchemaUnknownException", "3F000", 404, 4045, "Schema '%s' unknown", name).of("SCHEMA", name)
}

// ErrColumnUnknown names a column that its table lacks.
func ErrColumnUnknown(name string) *Error {
	return errorOf("ColumnUnknownException", "42703", 404, 4043, "Column %s unknown", name)
}

// ErrFunctionUnknown names a scalar or aggregate that does not exist.
func ErrFunctionUnknown(signature string) *Error {
	return errorOf("UnsupportedFunctionException", "0A000", 400, 4000, "Unknown function: %s", signature)
}

// ErrDuplicateKey is an INSERT of a primary key that is taken.
func ErrDuplicateKey() *Error {
	return errorOf("DuplicateKeyException", "23505", 409, 4091, "A document with the same primary key exists already")
}

// ErrConversion is a value that does not fit the wanted type.
func ErrConversion(value, typ string) *Error {
	return errorOf("ConversionException", "XX000", 400, 4000, "Cannot cast value `%s` to type `%s`", value, typ)
}

func (c *Cluster) errUserExists(v Version, name string) *Error {
	if v.AtLeast(5, 6) {
		return errorOf("RoleAlreadyExistsException", "XX000", 409, 4099, "Role '%s' already exists", name)
	}
	return errorOf("UserAlreadyExistsException", "XX000", 409, 4099, "User '%s' already exists", name)
}

func (c *Cluster) errUserUnknown(v Version, name string) *Error {
	state := "XX000"
	if v.AtLeast(5, 10) {
		state = "42704"
	}
	if v.AtLeast(5, 6) {
		return errorOf("RoleUnknownException", state, 404, 40410, "Role '%s' does not exist", name)
	}
	return errorOf("UserUnknownException", state, 404, 40410, "User '%s' does not exist", name)
}

// ErrSuperuser is a statement only the superuser may run.
func ErrSuperuser(user string) *Error {
	return errorOf("UnauthorizedException", "XX000", 401, 4011,
		`User "%s" is not authorized to execute the statement. Superuser permissions are required`, user)
}

// ErrMissingPrivilege names the privilege a statement lacks.
func ErrMissingPrivilege(p Privilege, user string) *Error {
	return errorOf("MissingPrivilegeException", "XX000", 401, 4011, "Missing '%s' privilege for user '%s'", p, user)
}

// ErrNoPrivilege is the answer to who has no privilege on the cluster in place of one that
// tells of it.
func ErrNoPrivilege(user string) *Error {
	return errorOf("MissingPrivilegeException", "XX000", 401, 4011, "Missing privilege for user '%s'", user)
}

// errNotRecovered is what DDL, SET and CREATE USER answer before gateway recovery.
func errNotRecovered() *Error {
	e := errorOf(noMaster, "XX000", 503, 5031,
		"blocked by: [STATE_NOT_RECOVERED/1/state not recovered / initialized];")
	e.Wait = masterTimeout
	e.Message = "MasterNotDiscoveredException[ClusterBlockException[" + e.Message + "]]"
	return e
}

// errNoMaster is the answer of a node without a master: "[]" at once to the readings
// that need one, "[null]" to what is held for 30 s.
func errNoMaster(held bool) *Error {
	if held {
		e := errorOf(noMaster, "XX000", 503, 5031, "[null]")
		e.Wait = masterTimeout
		return e
	}
	return errorOf(noMaster, "XX000", 503, 5031, "[]")
}

func errWriteNoMaster() *Error {
	e := errorOf("ClusterBlockException", "XX000", 503, 5031, "blocked by: [MASTER_NOT_DISCOVERED/2/no master];")
	e.Wait = writeTimeout
	return e
}

func errShardUnavailable(table string, shard int) *Error {
	return errorOf("UnavailableShardsException", "XX000", 500, 5002, "[%s] shard %d is not available", table, shard)
}

// ErrLicenceViolated is what a cluster of 4.4 or older answers above its node limit.
func ErrLicenceViolated() *Error {
	return errorOf("LicenseViolationException", "XX000", 400, 4009,
		"License is violated - Statement not allowed. If expired or more cluster nodes are in need, please request a new license and use 'SET LICENSE' statement to register it. Alternatively, if the allocated number of nodes is exceeded, use the 'ALTER CLUSTER DECOMMISSION' statement to downscale your cluster")
}
