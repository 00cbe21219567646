package cratedb

import (
	"context"
	"strings"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/execute"
)

// readSettings reads cluster settings as they have effect. One that this version
// does not know fails the statement: then each is asked for by itself.
func (p *asked) readSettings(ctx context.Context, names []string, db *ops.Database) {
	if len(names) == 0 {
		return
	}
	db.SettingsAsked, db.Effective = names, make(map[string]string, len(names))
	ask := func(names []string) bool {
		var columns []string
		for _, name := range names {
			columns = append(columns, execute.SettingColumn(name))
		}
		rows, err := p.session.Strings(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM sys.cluster")
		if err != nil || len(rows) != 1 || len(rows[0]) != len(names) {
			return false
		}
		for i, name := range names {
			db.Effective[name] = rows[0][i]
		}
		return true
	}
	if ask(names) || len(names) == 1 {
		return
	}
	for _, name := range names {
		ask([]string{name})
	}
}
