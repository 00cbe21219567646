package sql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// sysChecks has none of the node checks; the cluster's own always pass here.
func sysChecks(*Session) *virtualTable {
	return &virtualTable{
		columns: cat(defs(Integer, "id", "severity"), txt("description"), defs(Boolean, "passed")),
		rows: func(*Session, map[string]bool) ([][]any, *model.Error) {
			return [][]any{
				{int64(2), int64(2), "The total number of partitions of one or more partitioned tables should not be greater than 1000. A large amount of shards can significantly reduce performance.", true},
				{int64(3), int64(2), "The following tables need to be recreated for compatibility with future major versions of CrateDB: []", true},
			}, nil
		},
	}
}

func sysJobs(*Session) *virtualTable {
	return &virtualTable{columns: cat(txt("id", "username"), one(obj("node", txt("id", "name")...)), txt("stmt"), defs(Timestamp, "started")),
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			e := s.Engine
			// Nothing is kept of what runs then, not even of this statement (JobsLogs.logExecutionStart).
			if s.Node.EffectiveSetting("stats.enabled") == "false" {
				return nil, nil
			}
			own := running{job: job{id: jobID(e.jobN + 1), user: s.User.Name, stmt: s.stmt, node: s.Node, cluster: s.Node.Cluster(), started: e.Model.Now()}}
			var out [][]any
			for _, r := range append(e.works(), own) {
				if r.stmt == "" {
					continue // its client does not wait (JobLauncher.execute)
				}
				if r.node != s.Node && r.node.Cluster() != s.Node.Cluster() || !s.User.Superuser() && r.user != s.User.Name && !s.User.Has(model.AL, "CLUSTER", "") {
					continue
				}
				out = append(out, []any{r.id, r.user, map[string]any{"id": r.node.ID, "name": r.node.Name}, r.stmt, r.started.UnixMilli()})
			}
			return out, nil
		},
	}
}

// works are the statements that have not ended.
func (e *Engine) works() []running {
	e.running = slices.DeleteFunc(e.running, func(r running) bool { return r.ended() || !r.node.Alive() })
	return slices.Clone(e.running)
}

// copyFrom is the work of an import. Only data nodes read files.
const copyFrom = "copyFrom"

// sysOperations are the tasks of all nodes. The query itself is one of each node; where there are more, the node that
// was asked merges what they answer (TasksService.operations).
func sysOperations(*Session) *virtualTable {
	return &virtualTable{columns: cat(txt("id", "job_id", "name"), one(obj("node", txt("id", "name")...)), defs(Timestamp, "started"), defs(Bigint, "used_bytes")),
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			e := s.Engine
			// From 6.2 on they are not what is logged (JobsLogs.activeOperations before).
			if !s.Node.Version.AtLeast(6, 2) && s.Node.EffectiveSetting("stats.enabled") == "false" {
				return nil, nil
			}
			var out [][]any
			task := func(n *model.Node, id int, job, name string, started time.Time) {
				out = append(out, []any{strconv.Itoa(id), job, name, map[string]any{"id": n.ID, "name": n.Name}, started.UnixMilli(), int64(0)})
			}
			members := s.members()
			// tasks are the phases that run on all nodes, one after the other, and what brings them together.
			tasks := func(job string, handler *model.Node, started time.Time, phases ...string) {
				for id, phase := range phases {
					for _, n := range members {
						if phase != copyFrom || n.Data {
							task(n, id, job, phase, started)
						}
					}
				}
				if len(members) > 1 {
					task(handler, len(phases), job, "mergeOnHandler", started)
				}
			}
			for _, r := range e.works() {
				if r.operation != "" && slices.Contains(members, r.node) {
					tasks(r.id, r.node, r.started, r.operation)
				}
			}
			phases := []string{"collect"}
			if s.grouped && len(members) > 1 {
				phases = append(phases, "distributed merge")
			}
			tasks(jobID(e.jobN+1), s.Node, e.Model.Now(), phases...)
			return out, nil
		},
	}
}

func sysJobsLog(*Session) *virtualTable {
	return &virtualTable{
		columns: cat(txt("id", "username", "stmt"), defs(Timestamp, "started", "ended"), txt("error"),
			one(obj("classification", cat(txt("type"), defs(TextArray, "labels"))...), obj("node", txt("id", "name")...))),
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			var out [][]any
			for _, j := range s.Engine.jobs {
				// A node logs what it was asked; the log of a process that ended is gone.
				if !j.node.Alive() || j.node != s.Node && (j.cluster == nil || j.node.Cluster() != s.Node.Cluster()) {
					continue
				}
				if !s.User.Superuser() && j.user != s.User.Name && !s.User.Has(model.AL, "CLUSTER", "") {
					continue
				}
				var e any
				if j.err != "" {
					e = j.err
				}
				word, _, _ := strings.Cut(strings.TrimSpace(j.stmt), " ")
				out = append(out, []any{j.id, j.user, j.stmt, j.started.UnixMilli(), j.ended.UnixMilli(), e,
					map[string]any{"type": strings.ToUpper(word), "labels": []any{}}, map[string]any{"id": j.node.ID, "name": j.node.Name}})
			}
			return out, nil
		},
	}
}

func sysUsers(s *Session) *virtualTable {
	columns := cat(txt("name"), defs(Boolean, "superuser"), txt("password"))
	roles := s.Node.Version.AtLeast(5, 6)
	if roles {
		columns = append(columns, objs("granted_roles", txt("role", "grantor")...))
	}
	return &virtualTable{
		columns: columns,
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			var out [][]any
			for _, u := range s.Node.Users() {
				if u.Role() {
					continue
				}
				var pw any
				if u.HasPassword() {
					pw = "********"
				}
				row := []any{u.Name, u.Superuser(), pw}
				if roles {
					row = append(row, rolesOf(u))
				}
				out = append(out, row)
			}
			return out, nil
		},
	}
}

// rolesOf is granted_roles. None of the views of users, roles and privileges is filtered:
// everybody who may read sys sees them all.
func rolesOf(u *model.User) []any {
	out := []any{}
	names, grantors := u.GrantedRoles()
	for i, name := range names {
		out = append(out, map[string]any{"role": name, "grantor": grantors[i]})
	}
	return out
}

func sysRoles(s *Session) *virtualTable {
	if !s.Node.Version.AtLeast(5, 6) {
		return nil
	}
	return &virtualTable{
		columns: cat(txt("name"), one(objs("granted_roles", txt("role", "grantor")...))),
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			var out [][]any
			for _, u := range s.Node.Users() {
				if u.Role() {
					out = append(out, []any{u.Name, rolesOf(u)})
				}
			}
			return out, nil
		},
	}
}

func sysPrivileges(*Session) *virtualTable {
	return &virtualTable{
		columns: txt("class", "grantee", "grantor", "ident", "state", "type"),
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			var out [][]any
			for _, u := range s.Node.Users() {
				for _, g := range u.Grants() {
					var ident any
					if g.Ident != "" {
						ident = g.Ident
					}
					state := "GRANT"
					if g.Deny {
						state = "DENY"
					}
					out = append(out, []any{g.Class, u.Name, g.Grantor, ident, state, string(g.Privilege)})
				}
			}
			return out, nil
		},
	}
}

func sysSummits(*Session) *virtualTable {
	return &virtualTable{
		columns: cat(txt("mountain"), defs(Integer, "height")),
		rows: func(*Session, map[string]bool) ([][]any, *model.Error) {
			return [][]any{{"Mont Blanc", int64(4808)}, {"Monte Rosa", int64(4634)}, {"Dom", int64(4545)}}, nil
		},
	}
}

// pgPublication is empty: the simulator replicates nothing.
func pgPublication(s *Session) *virtualTable {
	if !s.Node.Version.AtLeast(4, 8) {
		return nil
	}
	return &virtualTable{
		columns: cat(defs(Integer, "oid"), defs(Boolean, "puballtables", "pubdelete", "pubinsert"), txt("pubname"), defs(Integer, "pubowner"), defs(Boolean, "pubupdate")),
		rows:    func(*Session, map[string]bool) ([][]any, *model.Error) { return nil, nil },
	}
}

// tableSettings is settings of information_schema.tables and table_partitions.
var tableSettingColumns = obj("settings",
	obj("blocks", defs(Boolean, "read_only", "read", "write", "metadata", "read_only_allow_delete")...),
	obj("routing", obj("allocation", colDef{name: "enable", typ: Text}, colDef{name: "total_shards_per_node", typ: Integer},
		colDef{name: "require", typ: Object, dynamic: true}, colDef{name: "include", typ: Object, dynamic: true}, colDef{name: "exclude", typ: Object, dynamic: true})),
	obj("unassigned", obj("node_left", defs(Bigint, "delayed_timeout")...)),
	obj("write", txt("wait_for_active_shards")...),
	colDef{name: "refresh_interval", typ: Bigint}, colDef{name: "codec", typ: Text},
)

func tableSettingValues(m map[string]string) map[string]any {
	get := func(name, def string) any {
		if v, ok := m[name]; ok {
			return v
		}
		return def
	}
	filters := func(kind string) map[string]any {
		out := map[string]any{}
		for k, v := range m {
			if key, ok := strings.CutPrefix(k, "routing.allocation."+kind+"."); ok {
				out[key] = v
			}
		}
		return out
	}
	delay := time.Minute
	if d, ok := model.ParseDuration(m["unassigned.node_left.delayed_timeout"]); ok {
		delay = d
	}
	flag := func(name string) bool { return m["blocks."+name] == "true" }
	total, err := convert(get("routing.allocation.total_shards_per_node", "-1"), Integer)
	if err != nil {
		total = int64(-1)
	}
	return map[string]any{
		"blocks": map[string]any{"read_only": flag("read_only"), "read": flag("read"), "write": flag("write"), "metadata": flag("metadata"), "read_only_allow_delete": flag("read_only_allow_delete")},
		"routing": map[string]any{"allocation": map[string]any{"enable": get("routing.allocation.enable", "all"), "total_shards_per_node": total,
			"require": filters("require"), "include": filters("include"), "exclude": filters("exclude")}},
		"unassigned":       map[string]any{"node_left": map[string]any{"delayed_timeout": delay.Milliseconds()}},
		"write":            map[string]any{"wait_for_active_shards": get("write.wait_for_active_shards", "1")},
		"refresh_interval": int64(1000), "codec": "default",
	}
}

func infoTables(*Session) *virtualTable {
	return &virtualTable{
		columns: cat(txt("table_schema", "table_name", "table_catalog", "table_type"), defs(Integer, "number_of_shards"), txt("number_of_replicas", "clustered_by"),
			defs(TextArray, "partitioned_by"), txt("blobs_path", "column_policy"), one(obj("version", txt("created", "upgraded")...)), defs(Boolean, "closed"), one(tableSettingColumns)),
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			var out [][]any
			for _, name := range sortedKeys(systemTables) {
				schema, table, _ := strings.Cut(name, ".")
				if systemTables[name](s) == nil || schema == "sys" && !s.User.Listed(name) {
					continue
				}
				out = append(out, []any{schema, table, "crate", "BASE TABLE", nil, nil, nil, nil, nil, "strict", nil, nil, nil})
			}
			for _, v := range s.Node.Views() {
				if s.User.Listed(v.Schema + "." + v.Name) {
					out = append(out, []any{v.Schema, v.Name, "crate", "VIEW", nil, nil, nil, nil, nil, "strict", nil, nil, nil})
				}
			}
			for _, t := range s.Node.Tables() {
				if !s.User.Listed(t.FullName()) {
					continue
				}
				var parts any
				if t.Partitioned() {
					list := []any{}
					for _, p := range t.PartitionedBy {
						list = append(list, p)
					}
					parts = list
				}
				replicas := t.Replicas
				settings := t.Settings
				if ixs := t.Indexes(); !t.Partitioned() && len(ixs) == 1 {
					replicas, settings = ixs[0].Replicas, ixs[0].Settings
				}
				out = append(out, []any{t.Schema, t.Name, "crate", "BASE TABLE", int64(t.Shards), replicas, clusteredBy(t), parts, nil, "strict",
					map[string]any{"created": t.Version.String(), "upgraded": nil}, t.Closed(), tableSettingValues(settings)})
			}
			return out, nil
		},
	}
}

func clusteredBy(t *model.Table) string {
	for _, c := range t.Columns {
		if c.PrimaryKey {
			return c.Name
		}
	}
	return "_id"
}

func infoPartitions(*Session) *virtualTable {
	return &virtualTable{
		columns: cat(txt("table_schema", "table_name", "partition_ident"), one(colDef{name: "values", typ: Object, dynamic: true}), defs(Integer, "number_of_shards"),
			txt("number_of_replicas"), defs(Boolean, "closed"), one(obj("version", txt("created", "upgraded")...), tableSettingColumns)),
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			var out [][]any
			for _, t := range s.Node.Tables() {
				if !t.Partitioned() || !s.User.HasAny(t.FullName()) {
					continue
				}
				for _, ix := range t.Indexes() {
					values := map[string]any{}
					for i, p := range t.PartitionedBy {
						values[p] = ix.Values[i]
					}
					out = append(out, []any{t.Schema, t.Name, ix.Ident, values, int64(t.Shards), ix.Replicas, ix.Closed(),
						map[string]any{"created": ix.Created().String(), "upgraded": nil}, tableSettingValues(ix.Settings)})
				}
			}
			return out, nil
		},
	}
}

func infoSchemata(*Session) *virtualTable {
	return &virtualTable{columns: txt("schema_name"), rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
		names := []string{"blob", "doc", "information_schema", "pg_catalog", "sys"}
		for _, t := range s.Node.Tables() {
			if !slices.Contains(names, t.Schema) {
				names = append(names, t.Schema)
			}
		}
		var out [][]any
		for _, n := range names {
			out = append(out, []any{n})
		}
		return out, nil
	}}
}

func infoColumns(*Session) *virtualTable {
	return &virtualTable{
		columns: cat(txt("table_schema", "table_name", "column_name"), defs(Integer, "ordinal_position"), txt("data_type"), defs(Boolean, "is_nullable")),
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			var out [][]any
			add := func(schema, table string, cols []colDef) {
				for i, c := range cols {
					out = append(out, []any{schema, table, c.name, int64(i + 1), c.typ.Name, true})
				}
			}
			for _, name := range sortedKeys(systemTables) {
				schema, table, _ := strings.Cut(name, ".")
				if t := systemTables[name](s); t != nil {
					add(schema, table, t.columns)
				}
			}
			for _, t := range s.Node.Tables() {
				if s.User.Listed(t.FullName()) {
					add(t.Schema, t.Name, s.userTable(t).columns)
				}
			}
			return out, nil
		},
	}
}

// String names a table for messages.
func (t tableName) String() string { return fmt.Sprintf("%s.%s", schemaOf(t), t.name) }
