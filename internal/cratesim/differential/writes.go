package differential

import (
	"strings"

	"stevedore.dev/stevedore/ops/cratedb"
	"stevedore.dev/stevedore/ops/execute"
)

// writes are the statements with which this program changes something. What it binds
// stands in them, as a step has no arguments.
func writes() []string {
	var out []string
	for _, s := range append(cratedb.Statements(), execute.Statements()...) {
		if !s.Writes {
			continue
		}
		sql := s.SQL
		for i, a := range s.Arguments {
			if text, ok := a.(string); ok {
				sql = strings.ReplaceAll(sql, "$"+string(rune('1'+i)), "'"+text+"'")
			}
		}
		out = append(out, sql)
	}
	return out
}
