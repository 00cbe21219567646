package cratedb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// readCluster reads what this node says of its cluster, and cluster settings as they have
// effect on it: the value in the cluster's state, and while there is none the node's own. A
// setting that this version does not know fails the statement: then each is asked for by
// itself.
func (p *asked) readCluster(ctx context.Context, settings []string) error {
	columns := make([]string, 0, len(settings))
	for _, name := range settings {
		columns = append(columns, execute.SettingColumn(name))
	}
	row, err := p.clusterRow(ctx, columns)
	if err != nil && len(settings) > 0 && !slow(err) && !p.session.conn.IsClosed() {
		row, err = p.clusterRow(ctx, nil)
	}
	if err != nil {
		return err
	}
	p.answer.ClusterID, p.name, p.master = row[0], row[1], row[2]
	if len(settings) == 0 {
		return nil
	}
	p.settings = make(map[string]string, len(settings))
	whole := len(row) > 3
	for i, name := range settings {
		if whole {
			p.settings[name] = row[3+i]
		} else if one, err := p.clusterRow(ctx, columns[i:i+1]); err == nil {
			p.settings[name] = one[3]
		}
	}
	return nil
}

// clusterRow is the row of sys.cluster: what clusterQuery selects, and these columns.
func (p *asked) clusterRow(ctx context.Context, columns []string) ([]string, error) {
	selected := strings.Join(append([]string{clusterColumns}, columns...), ", ")
	rows, err := p.session.Strings(ctx, "SELECT "+selected+" FROM sys.cluster")
	if err == nil && (len(rows) != 1 || len(rows[0]) != 3+len(columns)) {
		err = fmt.Errorf("in pod %s: sys.cluster has %d rows, not one", p.session.pod, len(rows))
	}
	if err != nil {
		return nil, err
	}
	return rows[0], nil
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
	noteUnreplicated(db, slices.Concat(tables, partitions))
}

// noteUnreplicated notes the tables of these rows, which begin with schema and name.
func noteUnreplicated(db *model.Database, rows [][]string) {
	db.UnreplicatedKnown = true
	for _, r := range rows {
		if name := r[0] + "." + r[1]; len(db.Unreplicated) < maxTables && !slices.Contains(db.Unreplicated, name) {
			db.Unreplicated = append(db.Unreplicated, name)
		}
	}
	slices.Sort(db.Unreplicated)
}
