package model

import "strings"

// Identifier quotes a name as CrateDB's SQL has it.
func Identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// TableIdentifier quotes "schema.table".
func TableIdentifier(name string) string {
	schema, table, _ := strings.Cut(name, ".")
	return Identifier(schema) + "." + Identifier(table)
}
