package cratedb

import (
	"context"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// readSettings reads cluster settings as they have effect on this node: the value
// in the cluster's state, and while there is none the node's own. One that this
// version does not know fails the statement: then each is asked for by itself.
func (p *asked) readSettings(ctx context.Context, names []string) {
	if len(names) == 0 {
		return
	}
	p.settings = make(map[string]string, len(names))
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
			p.settings[name] = rows[0][i]
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

func settingList(settings map[string]string) model.SettingList {
	if len(settings) == 0 {
		return ""
	}
	all := make([]model.Setting, 0, len(settings))
	for name, value := range settings {
		all = append(all, model.Setting{Name: name, Value: value})
	}
	return manifest.NewSettingList(all)
}

// Statements for tables that have no replicas by choice.
const (
	unreplicatedTables     = `SELECT table_schema, table_name FROM information_schema.tables WHERE number_of_replicas = '0' AND table_schema NOT IN ('sys', 'information_schema', 'pg_catalog') LIMIT 20`
	unreplicatedPartitions = `SELECT table_schema, table_name FROM information_schema.table_partitions WHERE number_of_replicas = '0' LIMIT 20`
)

// readUnreplicated names tables of which each shard has one copy and no other.
func (p *asked) readUnreplicated(ctx context.Context, db *model.Database) {
	tables, ok := p.ask(ctx, db, model.PartTables, unreplicatedTables)
	if !ok {
		return
	}
	partitions, ok := p.ask(ctx, db, model.PartPartitions, unreplicatedPartitions)
	if !ok {
		return
	}
	db.UnreplicatedKnown = true
	for _, r := range slices.Concat(tables, partitions) {
		if name := r[0] + "." + r[1]; len(db.Unreplicated) < maxTables && !slices.Contains(db.Unreplicated, name) {
			db.Unreplicated = append(db.Unreplicated, name)
		}
	}
	slices.Sort(db.Unreplicated)
}
