package cratedb

import "strings"

// maxRows of one result: several times the shards of the largest cluster that
// CrateDB lets one make. What answers with more is no CrateDB that does well.
const maxRows = 1_000_000

// width counts the columns that a statement of ours selects, 0 when it is no
// SELECT of columns. What reads rows goes by their place, so a server that
// answers with fewer, a proxy or another product, must not be read at all.
func width(query string) int {
	rest, ok := strings.CutPrefix(strings.TrimSpace(query), "SELECT ")
	if !ok || strings.HasPrefix(rest, "*") {
		return 0
	}
	columns, depth := 1, 0
	var quote byte
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == ',' && depth == 0:
			columns++
		case depth == 0 && strings.HasPrefix(rest[i:], " FROM "):
			return columns
		}
	}
	return columns
}
