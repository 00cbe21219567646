package sql

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// colDef is a column of a table, or a child of an object.
type colDef struct {
	name      string
	typ       *Type
	children  []colDef
	dynamic   bool // any child is allowed
	childType *Type
	hidden    bool // not part of *
}

// virtualTable is something to select from. needs are the columns that are read, nil for
// all: the dear ones are made only then.
type virtualTable struct {
	name    tableName
	columns []colDef
	rows    func(s *Session, needs map[string]bool) ([][]any, *model.Error)
	// spoils names a column that, once read, leaves the other one NULL.
	spoils [2]string
}

func obj(name string, children ...colDef) colDef {
	return colDef{name: name, typ: Object, children: children}
}
func objs(name string, children ...colDef) colDef {
	return colDef{name: name, typ: ObjectArray, children: children}
}
func txt(names ...string) []colDef { return defs(Text, names...) }
func defs(t *Type, names ...string) []colDef {
	var out []colDef
	for _, n := range names {
		out = append(out, colDef{name: n, typ: t})
	}
	return out
}
func cat(groups ...[]colDef) []colDef { return slices.Concat(groups...) }
func one(c ...colDef) []colDef        { return c }

func isSystemSchema(s string) bool {
	return s == "sys" || s == "information_schema" || s == "pg_catalog"
}

// table finds what a name stands for on this node.
func (s *Session) table(n tableName) (*virtualTable, *model.Error) {
	schema := schemaOf(n)
	if isSystemSchema(schema) {
		if make, ok := systemTables[schema+"."+n.name]; ok {
			if t := make(s); t != nil {
				t.name = tableName{schema, n.name}
				return t, nil
			}
		}
		return nil, model.ErrRelationUnknown(schema + "." + n.name)
	}
	t := s.Node.Table(schema, n.name)
	if t == nil {
		return nil, s.unknown(n)
	}
	return s.userTable(t), nil
}

// systemTables make the tables as the node's version has them; nil is not there yet.
var systemTables map[string]func(*Session) *virtualTable

func init() {
	systemTables = map[string]func(*Session) *virtualTable{
		"sys.cluster":                         sysCluster,
		"sys.nodes":                           sysNodes,
		"sys.shards":                          sysShards,
		"sys.allocations":                     sysAllocations,
		"sys.health":                          sysHealth,
		"sys.cluster_health":                  sysClusterHealth,
		"sys.checks":                          sysChecks,
		"sys.node_checks":                     sysNodeChecks,
		"sys.jobs":                            sysJobs,
		"sys.jobs_log":                        sysJobsLog,
		"sys.operations":                      sysOperations,
		"sys.snapshots":                       sysSnapshots,
		"sys.snapshot_restore":                sysSnapshotRestore,
		"sys.repositories":                    sysRepositories,
		"sys.users":                           sysUsers,
		"sys.roles":                           sysRoles,
		"sys.privileges":                      sysPrivileges,
		"sys.summits":                         sysSummits,
		"information_schema.tables":           infoTables,
		"information_schema.table_partitions": infoPartitions,
		"information_schema.views":            infoViews,
		"information_schema.schemata":         infoSchemata,
		"information_schema.columns":          infoColumns,
		"pg_catalog.pg_publication":           pgPublication,
	}
}

// settingColumns is the tree of sys.cluster.settings.
func settingColumns() []colDef {
	var root []colDef
	for _, st := range model.Settings {
		parts := strings.Split(st.Name, ".")
		at := &root
		for _, p := range parts[:len(parts)-1] {
			i := slices.IndexFunc(*at, func(c colDef) bool { return c.name == p })
			if i < 0 {
				*at = append(*at, obj(p))
				i = len(*at) - 1
			}
			at = &(*at)[i].children
		}
		t := Text
		switch st.Type {
		case model.IntSetting:
			t = Integer
		case model.FloatSetting:
			t = Real
		case model.BoolSetting:
			t = Boolean
		case model.ListSetting:
			t = TextArray
		}
		*at = append(*at, colDef{name: parts[len(parts)-1], typ: t})
	}
	return append(root, objs("logger", txt("name", "level")...))
}

var settingTree = settingColumns()

// settingValues is sys.cluster.settings as the node has it in effect.
func settingValues(n *model.Node) map[string]any {
	root := map[string]any{"logger": []any{}}
	for _, st := range model.Settings {
		parts := strings.Split(st.Name, ".")
		at := root
		for _, p := range parts[:len(parts)-1] {
			next, ok := at[p].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[p] = next
			}
			at = next
		}
		at[parts[len(parts)-1]] = settingValue(st, n.EffectiveSetting(st.Name))
	}
	// A group is shown below an empty name, as the node was started.
	forced := map[string]any{}
	for attribute, values := range n.ForcedAttributes() {
		forced[attribute] = map[string]any{"values": values}
	}
	awareness := root["cluster"].(map[string]any)["routing"].(map[string]any)["allocation"].(map[string]any)["awareness"].(map[string]any)
	awareness["force"] = map[string]any{"": forced}
	return root
}

func settingValue(st model.Setting, v string) any {
	if st.Type == model.ListSetting {
		list := []any{}
		for _, part := range strings.Split(v, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		return list
	}
	t := Text
	switch st.Type {
	case model.IntSetting:
		t = Integer
	case model.FloatSetting:
		t = Double
	case model.BoolSetting:
		t = Boolean
	}
	out, err := convert(v, t)
	if err != nil {
		return v
	}
	return out
}

func sysCluster(*Session) *virtualTable {
	return &virtualTable{
		columns: cat(txt("id", "name", "master_node"), one(
			obj("license", colDef{name: "expiry_date", typ: Timestamp}, colDef{name: "issued_to", typ: Text}, colDef{name: "max_nodes", typ: Integer}),
			obj("settings", settingTree...))),
		rows: func(s *Session, needs map[string]bool) ([][]any, *model.Error) {
			n := s.Node
			var master, licence, settings any
			name := n.ClusterName
			if c := n.Cluster(); c != nil {
				if c.Master() != nil {
					master = c.Master().ID
				}
				if !n.Version.AtLeast(4, 5) && c.Licensed() {
					licence = map[string]any{"expiry_date": nil, "issued_to": "simulator", "max_nodes": int64(1000)}
				}
			}
			if needs == nil || needs["settings"] {
				settings = settingValues(n)
			}
			return [][]any{{n.ClusterID(), name, master, licence, settings}}, nil
		},
	}
}

// members are the nodes that this one has in its cluster state: itself alone before it has
// joined a cluster.
func (s *Session) members() []*model.Node {
	if c := s.Node.Cluster(); c != nil {
		return c.Members()
	}
	return []*model.Node{s.Node}
}

func sysNodes(s *Session) *virtualTable {
	v := s.Node.Version
	t := &virtualTable{columns: cat(txt("id", "name", "hostname", "rest_url"), one(
		obj("port", defs(Integer, "http", "transport", "psql")...),
		obj("load", cat(defs(Double, "1", "5", "15"), defs(Timestamp, "probe_timestamp"))...),
		obj("mem", cat(defs(Bigint, "free", "used"), defs(Short, "free_percent", "used_percent"), defs(Timestamp, "probe_timestamp"))...),
		obj("heap", cat(defs(Bigint, "free", "used", "max"), defs(Timestamp, "probe_timestamp"))...),
		obj("version", cat(txt("number", "build_hash"), defs(Boolean, "build_snapshot"), txt("minimum_index_compatibility_version", "minimum_wire_compatibility_version"))...),
		obj("os_info", cat(defs(Integer, "available_processors"), txt("name", "arch", "version"))...),
		obj("fs", obj("total", defs(Bigint, "size", "used", "available", "reads", "bytes_read", "writes", "bytes_written")...),
			objs("disks", cat(txt("dev"), defs(Bigint, "size", "used", "available"))...),
			objs("data", txt("dev", "path")...))), defs(Bigint, "cluster_state_version"))}
	attributes, roles := v.AtLeast(5, 2), v.AtLeast(6, 2)
	if attributes {
		t.columns = append(t.columns, colDef{name: "attributes", typ: Object, dynamic: true})
	}
	if roles {
		t.columns = append(t.columns, colDef{name: "is_master", typ: Boolean}, colDef{name: "roles", typ: TextArray})
	}
	t.rows = func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
		now := s.Engine.Model.Now().UnixMilli()
		var out [][]any
		stateVersion := int64(0)
		if c := s.Node.Cluster(); c != nil {
			stateVersion = c.StateVersion()
		}
		for _, n := range s.members() {
			size, used := n.Disk()
			heap := n.HeapBytes
			if heap == 0 {
				heap = 512 << 20
			}
			var disks, data []any
			for _, disk := range n.DiskUses() {
				disks = append(disks, map[string]any{"dev": disk.Dev, "size": disk.Size, "used": disk.Used, "available": disk.Size - disk.Used})
				data = append(data, map[string]any{"dev": disk.Dev, "path": disk.Path})
			}
			row := []any{n.ID, n.Name, n.Address, n.Address + ":" + text(int64(n.HTTPPort)),
				map[string]any{"http": int64(n.HTTPPort), "transport": int64(n.TransportPort), "psql": int64(n.PSQLPort)},
				map[string]any{"1": 0.1, "5": 0.1, "15": 0.1, "probe_timestamp": now},
				map[string]any{"free": heap * 2, "used": heap * 2, "free_percent": int64(50), "used_percent": int64(50), "probe_timestamp": now},
				map[string]any{"free": heap / 2, "used": heap - heap/2, "max": heap, "probe_timestamp": now},
				map[string]any{"number": n.Version.String(), "build_hash": strings.Repeat("0", 40), "build_snapshot": false,
					"minimum_index_compatibility_version": text(int64(n.Version.Major-1)) + ".0.0", "minimum_wire_compatibility_version": text(int64(n.Version.Major-1)) + ".0.0"},
				map[string]any{"available_processors": int64(2), "name": "Linux", "arch": "amd64", "version": "simulator"},
				map[string]any{
					"total": map[string]any{"size": size, "used": used, "available": size - used, "reads": int64(-1), "bytes_read": int64(-1), "writes": int64(-1), "bytes_written": int64(-1)},
					"disks": disks,
					"data":  data,
				}, stateVersion}
			if attributes {
				a := map[string]any{}
				for k, v := range n.Attributes {
					a[k] = v
				}
				row = append(row, a)
			}
			if roles {
				var r []any
				if n.Master {
					r = append(r, "master_eligible")
				}
				if n.Data {
					r = append(r, "data")
				}
				c := s.Node.Cluster()
				row = append(row, c != nil && c.Master() == n, r)
			}
			out = append(out, row)
		}
		return out, nil
	}
	return t
}

// eachCopy walks the copies that the user may see.
func (s *Session) eachCopy(f func(t *model.Table, ix *model.Index, sh *model.Shard, cp *model.Copy)) {
	for _, t := range s.Node.Tables() {
		if !s.User.HasAny(t.FullName()) {
			continue
		}
		for _, ix := range t.Indexes() {
			for _, sh := range ix.Shards() {
				for _, cp := range sh.Copies() {
					f(t, ix, sh, cp)
				}
			}
		}
	}
}

func sysShards(s *Session) *virtualTable {
	t := &virtualTable{
		columns: cat(txt("schema_name", "table_name"), defs(Integer, "id"), txt("partition_ident"), defs(Bigint, "num_docs"),
			defs(Boolean, "primary"), txt("relocating_node"), defs(Bigint, "size"), txt("state"), defs(Boolean, "closed"), txt("routing_state"),
			defs(Boolean, "orphan_partition"), one(obj("recovery", cat(txt("stage", "type"), defs(Bigint, "total_time"), one(
				obj("size", cat(defs(Bigint, "used", "reused", "recovered"), defs(Real, "percent"))...),
				obj("files", cat(defs(Integer, "used", "reused", "recovered"), defs(Real, "percent"))...)))...)),
			txt("path", "blob_path", "min_lucene_version"), one(obj("node", txt("id", "name")...),
				obj("seq_no_stats", defs(Bigint, "max_seq_no", "local_checkpoint", "global_checkpoint")...))),
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			if err := s.Node.StaleGate(); err != nil {
				return nil, err
			}
			var out [][]any
			s.eachCopy(func(t *model.Table, ix *model.Index, sh *model.Shard, cp *model.Copy) {
				state := cp.State()
				if state == model.Unassigned {
					// An unassigned row has no node and is never primary, even if it is one.
					ident, orphan := any(ix.Ident), false
					if s.Node.Version.AtLeast(6, 4) {
						if !t.Partitioned() {
							ident = nil // 6.4 encodes the values (UnassignedShard): none come to NULL
						}
					} else {
						orphan = t.Partitioned() // 6.0 to 6.3 look for the table where none is any more
					}
					out = append(out, []any{t.Schema, t.Name, int64(sh.ID), ident, int64(0), false, nil, int64(0), "UNASSIGNED", nil, string(state), orphan, nil, nil, nil, nil, nil, nil})
					return
				}
				var to any
				if cp.Target() != nil {
					to = cp.Target().ID
				}
				shard, stage, percent, number := "STARTED", "DONE", 100.0, sh.MaxSeqNo()
				if state == model.Initializing {
					// Without an engine there are no numbers yet (ShardRowContext.maxSeqNo).
					shard, stage, percent, number = "RECOVERING", "INDEX", 50.0, 0
				}
				size, docs := sh.Bytes(), sh.Docs()
				if ix.Closed() {
					docs = 0 // NoOpEngine reads nothing
				}
				var blob any
				if t.Blob {
					blob = cp.Node().BlobPath(ix, sh.ID)
				}
				out = append(out, []any{t.Schema, t.Name, int64(sh.ID), ix.Ident, docs, cp.Primary, to, size, shard, ix.Closed(), string(state), false,
					map[string]any{"stage": stage, "type": cp.Origin(), "total_time": int64(0),
						"size":  map[string]any{"used": size, "reused": int64(0), "recovered": size, "percent": percent},
						"files": map[string]any{"used": int64(1), "reused": int64(0), "recovered": int64(1), "percent": percent}},
					cp.Node().ShardPath(ix, sh.ID), blob, "10.3.2", map[string]any{"id": cp.Node().ID, "name": cp.Node().Name},
					map[string]any{"max_seq_no": number, "local_checkpoint": number, "global_checkpoint": number}})
			})
			return out, nil
		},
	}
	if !s.Node.Version.AtLeast(4, 1) {
		t.columns = t.columns[:len(t.columns)-1] // it has no seq_no_stats
	}
	return t
}

func sysAllocations(*Session) *virtualTable {
	return &virtualTable{
		spoils: [2]string{"explanation", "decisions"},
		columns: cat(txt("table_schema", "table_name", "partition_ident"), defs(Integer, "shard_id"), txt("node_id"), defs(Boolean, "primary"),
			txt("current_state", "explanation"), one(objs("decisions", cat(txt("node_id", "node_name"), defs(TextArray, "explanations"))...))),
		rows: func(s *Session, needs map[string]bool) ([][]any, *model.Error) {
			if err := s.Node.MasterGate(); err != nil {
				return nil, err
			}
			dear := needs == nil || needs["explanation"] || needs["decisions"]
			var out [][]any
			s.eachCopy(func(t *model.Table, ix *model.Index, sh *model.Shard, cp *model.Copy) {
				var ident, node, explanation, decisions any
				if t.Partitioned() {
					ident = ix.Ident
				}
				if cp.Node() != nil {
					node = cp.Node().ID
				}
				if dear {
					words, ds := s.Node.Cluster().Explain(cp)
					if words != "" {
						explanation = words
					}
					if ds != nil {
						var list []any
						for _, d := range ds {
							var why any
							if d.Explanations != nil {
								ex := []any{}
								for _, e := range d.Explanations {
									ex = append(ex, e)
								}
								why = ex
							}
							list = append(list, map[string]any{"node_id": d.NodeID, "node_name": d.NodeName, "explanations": why})
						}
						decisions = list
					}
				}
				out = append(out, []any{t.Schema, t.Name, ident, int64(sh.ID), node, cp.Primary, string(cp.State()), explanation, decisions})
			})
			return out, nil
		},
	}
}

func sysHealth(*Session) *virtualTable {
	return &virtualTable{
		columns: cat(txt("health"), defs(Bigint, "missing_shards"), txt("partition_ident"), defs(Short, "severity"), txt("table_name", "table_schema"), defs(Bigint, "underreplicated_shards")),
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			var out [][]any
			for _, t := range s.Node.Tables() {
				if !s.User.HasAny(t.FullName()) {
					continue
				}
				for _, ix := range t.Indexes() {
					var ident any
					if t.Partitioned() {
						ident = ix.Ident
					}
					h, missing, under := ix.Health()
					out = append(out, []any{h.String(), int64(missing), ident, int64(h), t.Name, t.Schema, int64(under)})
				}
			}
			return out, nil
		},
	}
}

func sysClusterHealth(s *Session) *virtualTable {
	if !s.Node.Version.AtLeast(6, 0) {
		return nil
	}
	return &virtualTable{
		columns: cat(txt("health"), defs(Short, "severity"), txt("description"), defs(Bigint, "missing_shards", "underreplicated_shards", "pending_tasks")),
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			if err := s.Node.MasterGate(); err != nil {
				return nil, err
			}
			h, words := s.Node.Health()
			missing, under := 0, 0
			if c := s.Node.Cluster(); c == nil || !c.Recovered() {
				missing, under = -1, -1
			}
			for _, t := range s.Node.Tables() {
				for _, ix := range t.Indexes() {
					_, m, u := ix.Health()
					missing, under = missing+m, under+u
				}
			}
			return [][]any{{h.String(), int64(h), words, int64(missing), int64(under), int64(0)}}, nil
		},
	}
}

func sysNodeChecks(*Session) *virtualTable {
	return &virtualTable{
		columns: cat(defs(Integer, "id"), txt("node_id"), defs(Integer, "severity"), txt("description"), defs(Boolean, "passed", "acknowledged")),
		rows: func(s *Session, _ map[string]bool) ([][]any, *model.Error) {
			if err := s.Node.StaleGate(); err != nil {
				return nil, err
			}
			c := s.Node.Cluster()
			if c == nil {
				return nil, nil
			}
			var out [][]any
			for _, n := range c.Members() {
				for _, k := range c.NodeChecks(n) {
					out = append(out, []any{int64(k.ID), n.ID, int64(k.Severity), k.Description, k.Passed, k.Acknowledged})
				}
			}
			return out, nil
		},
	}
}
