package sql

import (
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// sysSnapshots is what the repositories have (SysSnapshotsTableInfo); columns of 5.9 are
// the id and those about the whole.
func sysSnapshots(s *Session) *virtualTable {
	more := s.Node.Version.AtLeast(5, 9)
	relation := txt("table_schema", "table_name")
	columns := cat(defs(TextArray, "concrete_indices", "failures"), defs(Timestamp, "finished"))
	if more {
		columns = cat(columns, txt("id"), defs(Boolean, "include_global_state"))
	}
	columns = cat(columns, txt("name"))
	if more {
		columns = cat(columns, txt("reason"), one(objs("relations", relation...)))
	}
	columns = cat(columns, txt("repository"), defs(Timestamp, "started"), txt("state"),
		one(objs("table_partitions", cat(relation, defs(TextArray, "values"))...)), defs(TextArray, "tables"))
	if more {
		columns = cat(columns, defs(Integer, "total_shards"))
	}
	columns = cat(columns, txt("version"))
	return &virtualTable{columns: columns, rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
		var out [][]any
		for _, sn := range s.Node.Snapshots() {
			values := snapshotValues(&sn)
			row := make([]any, len(columns))
			for i, c := range columns {
				row[i] = values[c.name]
			}
			out = append(out, row)
		}
		return out, nil
	}}
}

func snapshotValues(sn *model.SnapshotRow) map[string]any {
	tables, relations, partitions := []any{}, []any{}, []any{}
	for _, r := range sn.Relations {
		tables = append(tables, r.Schema+"."+r.Name)
		relations = append(relations, map[string]any{"table_schema": r.Schema, "table_name": r.Name})
	}
	for _, p := range sn.Partitions {
		values := []any{}
		for _, v := range p.Values {
			if v != nil {
				v = text(v)
			}
			values = append(values, v)
		}
		partitions = append(partitions, map[string]any{"table_schema": p.Schema, "table_name": p.Name, "values": values})
	}
	values := map[string]any{"id": sn.ID, "name": sn.Name, "repository": sn.Repository, "concrete_indices": texts(sn.Indices), "tables": tables, "relations": relations,
		"table_partitions": partitions, "state": sn.State, "failures": texts(sn.Failures), "total_shards": int64(sn.TotalShards)}
	if sn.Reason != "" {
		values["reason"] = sn.Reason
	}
	if sn.Version != "" {
		values["version"], values["started"], values["finished"] = sn.Version, sn.Started.UnixMilli(), milliseconds(sn.Finished)
	}
	if sn.Global != nil {
		values["include_global_state"] = *sn.Global
	}
	return values
}

// milliseconds is 0 for a time that is not known.
func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func texts(list []string) []any {
	out := []any{}
	for _, each := range list {
		out = append(out, each)
	}
	return out
}

func sysSnapshotRestore(*Session) *virtualTable {
	return &virtualTable{
		columns: cat(txt("id", "name", "repository"), one(objs("shards", cat(txt("table_schema", "table_name", "partition_ident"), defs(Integer, "shard_id"), txt("state"))...)), txt("state")),
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			if err := s.Node.RestoresGate(); err != nil {
				return nil, err
			}
			var out [][]any
			for _, r := range s.Node.Restores() {
				shards := []any{}
				for _, sh := range r.Shards() {
					shards = append(shards, map[string]any{"table_schema": sh.Schema, "table_name": sh.Name, "partition_ident": sh.Ident, "shard_id": int64(sh.ID), "state": sh.State})
				}
				out = append(out, []any{r.UUID, r.Name, r.Repository, shards, r.State()})
			}
			return out, nil
		},
	}
}

func sysRepositories(*Session) *virtualTable {
	return &virtualTable{
		columns: cat(txt("name"), one(colDef{name: "settings", typ: Object, dynamic: true}), txt("type")),
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			var out [][]any
			for _, r := range s.Node.Repositories() {
				st := map[string]any{}
				for name, value := range r.Shown() {
					st[name] = value
				}
				out = append(out, []any{r.Name, st, r.Type})
			}
			return out, nil
		},
	}
}

// infoViews has each view as it was written; CrateDB words it anew.
func infoViews(*Session) *virtualTable {
	return &virtualTable{
		columns: cat(txt("check_option"), defs(Boolean, "is_updatable"), txt("owner", "table_catalog", "table_name", "table_schema", "view_definition")),
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			var out [][]any
			for _, v := range s.Node.Views() {
				if s.User.Listed(v.Schema + "." + v.Name) {
					out = append(out, []any{"NONE", false, v.Owner, "crate", v.Name, v.Schema, v.Definition})
				}
			}
			return out, nil
		},
	}
}
