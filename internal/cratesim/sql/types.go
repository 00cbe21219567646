// Package sql runs the statements that operators of CrateDB send over the model: a small
// parser and evaluator. What it does not know is an error, never an empty answer.
//
// Values are nil, bool, int64, float64, string, []any and map[string]any; timestamps are
// int64 milliseconds since the epoch.
package sql

// Type is a column's type. ID is CrateDB's number in HTTP's ?types, OID the PostgreSQL
// protocol's.
type Type struct {
	Name string
	OID  uint32
	Size int16
	ID   any
	Elem *Type // of an array
}

// The types that the simulator knows.
var (
	Undefined = &Type{Name: "undefined", OID: 1043, Size: -1, ID: 0}
	Boolean   = &Type{Name: "boolean", OID: 16, Size: 1, ID: 3}
	Text      = &Type{Name: "text", OID: 1043, Size: -1, ID: 4}
	Double    = &Type{Name: "double precision", OID: 701, Size: 8, ID: 6}
	Real      = &Type{Name: "real", OID: 700, Size: 4, ID: 7}
	Short     = &Type{Name: "smallint", OID: 21, Size: 2, ID: 8}
	Integer   = &Type{Name: "integer", OID: 23, Size: 4, ID: 9}
	Bigint    = &Type{Name: "bigint", OID: 20, Size: 8, ID: 10}
	Timestamp = &Type{Name: "timestamp with time zone", OID: 1184, Size: 8, ID: 11}
	Object    = &Type{Name: "object", OID: 114, Size: -1, ID: 12}

	TextArray   = arrayOf(Text)
	ObjectArray = arrayOf(Object)
)

// arrayOIDs by element OID.
var arrayOIDs = map[uint32]uint32{16: 1000, 1043: 1015, 701: 1022, 700: 1021, 21: 1005, 23: 1007, 20: 1016, 1184: 1185, 114: 199}

func arrayOf(e *Type) *Type {
	return &Type{Name: e.Name + "_array", OID: arrayOIDs[e.OID], Size: -1, ID: []any{100, e.ID}, Elem: e}
}

// TypeByOID is the type a client names for a parameter, or nil.
func TypeByOID(oid uint32) *Type {
	for _, t := range []*Type{Boolean, Text, Double, Real, Short, Integer, Bigint, Timestamp, Object} {
		if t.OID == oid {
			return t
		}
		if arrayOIDs[t.OID] == oid {
			return arrayOf(t)
		}
	}
	switch oid {
	case 25, 19, 18, 1042, 705:
		return Text
	case 1009:
		return TextArray
	case 3802:
		return Object
	}
	return nil
}

func typeByName(name string) *Type {
	switch name {
	case "text", "string", "varchar", "character", "char", "name", "regclass", "uuid", "ip":
		return Text
	case "boolean", "bool":
		return Boolean
	case "integer", "int", "int4":
		return Integer
	case "bigint", "long", "int8":
		return Bigint
	case "smallint", "short", "int2":
		return Short
	case "double", "float8", "numeric":
		return Double
	case "real", "float", "float4":
		return Real
	case "timestamp", "timestamptz", "date":
		return Timestamp
	case "object", "json":
		return Object
	}
	return nil
}

func (t *Type) numeric() bool {
	switch t {
	case Short, Integer, Bigint, Double, Real, Timestamp:
		return true
	}
	return false
}
