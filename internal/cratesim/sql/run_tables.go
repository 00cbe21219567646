package sql

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

func typeNamed(name string) *Type {
	if e, ok := strings.CutSuffix(name, "_array"); ok {
		return arrayOf(typeNamed(e))
	}
	if name == "double precision" {
		return Double
	}
	if strings.HasPrefix(name, "timestamp") {
		return Timestamp
	}
	if t := typeByName(name); t != nil {
		return t
	}
	return Text
}

// userTable is a user's table as a source of rows.
func (s *Session) userTable(t *model.Table) *virtualTable {
	vt := &virtualTable{name: tableName{t.Schema, t.Name}}
	for _, c := range t.Columns {
		vt.columns = append(vt.columns, colDef{name: c.Name, typ: typeNamed(c.Type), dynamic: typeNamed(c.Type) == Object})
	}
	vt.rows = func(*Session, map[string]bool) ([][]any, *model.Error) {
		if t.Closed() {
			return nil, supports(t, "READ")
		}
		var out [][]any
		for _, ix := range t.Indexes() {
			if ix.Closed() {
				continue
			}
			if err := ix.ReadGate(); err != nil {
				return nil, err
			}
			out = append(out, ix.Rows...)
		}
		return out, nil
	}
	return vt
}

// lookUp finds a user's table that the user may use for the operation, in CrateDB's word.
func (s *Session) lookUp(n tableName, p model.Privilege, operation string) (*model.Table, *model.Error) {
	schema := schemaOf(n)
	if isSystemSchema(schema) {
		return nil, model.ErrInaccessible(n.full(), "this operation")
	}
	t := s.Node.Table(schema, n.name)
	if t == nil {
		return nil, s.unknown(n)
	}
	if err := supports(t, operation); err != nil {
		return nil, err
	}
	if err := s.ensure(p, n); err != nil {
		return nil, err
	}
	return t, nil
}

// unknown is the error for a table that is not there: a schema is there with its tables.
func (s *Session) unknown(n tableName) *model.Error {
	known := n.schema == "" || n.schema == "doc" || n.schema == "blob"
	for _, t := range s.Node.Tables() {
		known = known || t.Schema == n.schema
	}
	if !known {
		return model.ErrSchemaUnknown(n.schema)
	}
	return model.ErrRelationUnknown(n.written())
}

// blocks are the operations that a table still does with a block. ALTER is ALTER TABLE of
// nothing but blocks, which is how one is taken off; with another setting it is ALTER SET
// (Operation.java, AlterTablePlan.maybeRaiseBlockedException).
var blocks = map[string]string{
	"blocks.read_only": ",READ,ALTER,",
	"blocks.read":      ",UPDATE,INSERT,DELETE,DROP,ALTER,ALTER SET,ALTER OPEN,ALTER CLOSE,ALTER REROUTE,REFRESH,",
	"blocks.write":     ",READ,ALTER,ALTER SET,ALTER OPEN,ALTER CLOSE,ALTER REROUTE,REFRESH,COPY TO,CREATE SNAPSHOT,",
	"blocks.metadata":  ",READ,UPDATE,INSERT,DELETE,ALTER,ALTER OPEN,ALTER CLOSE,ALTER REROUTE,REFRESH,",
}

// supports refuses what a closed table, one with a block, or one for blobs, does not do
// (Operation.java).
func supports(t *model.Table, operation string) *model.Error {
	refused, words := false, ""
	switch operation {
	case "ALTER SET", "ALTER":
	case "ALTER OPEN", "ALTER CLOSE", "ALTER RENAME":
		refused = t.Blob
	case "ALTER REROUTE", "DROP":
		refused = t.Closed()
	case "INSERT":
		refused = t.Closed() // that is how the simulator keeps blobs
	default:
		refused = t.Closed() || t.Blob
	}
	for name, left := range blocks {
		refused = refused || t.Settings[name] == "true" && !t.Closed() && !strings.Contains(left, ","+operation+",")
	}
	if !refused {
		return nil
	}
	if t.Closed() {
		words = ", as it is currently closed."
	}
	return model.ErrInaccessible(t.FullName(), operation+" operations"+words)
}

func (s *Session) runTables(free *scope, ast any) (*Result, *model.Error) {
	switch q := ast.(type) {
	case createTable:
		return s.createTable(free, q)
	case dropTable:
		t := s.Node.Table(schemaOf(q.name), q.name.name)
		if t == nil {
			if err := s.Node.ChangeGate(); err != nil {
				return nil, err
			}
			if q.ifExists {
				return done(0)
			}
			return nil, s.unknown(q.name)
		}
		if err := supports(t, "DROP"); err != nil {
			return nil, err
		}
		if err := s.ensure(model.DDL, q.name); err != nil {
			return nil, err
		}
		return doneIf(s.Node.DropTable(t))
	case alterTable:
		return s.alterTable(free, q)
	case swapTable:
		return s.swapTable(free, q)
	case refresh:
		for _, n := range q.names {
			t, err := s.lookUp(n, model.DQL, "REFRESH")
			if err != nil {
				return nil, err
			}
			_ = t
		}
		return done(len(q.names))
	case insert:
		return s.insert(free, q)
	case deleteFrom:
		return s.change(q.name, q.where, nil, free.args)
	}
	q := ast.(update)
	if q.name.schema == "sys" {
		return s.updateSys(q, free.args)
	}
	return s.change(q.name, q.where, q.set, free.args)
}

func (s *Session) createTable(free *scope, q createTable) (*Result, *model.Error) {
	schema := schemaOf(q.name)
	if isSystemSchema(schema) {
		return nil, &model.Error{Class: "InvalidSchemaNameException", SQLState: "3F000", HTTP: 400, Code: 4002, Message: "schema name \"" + schema + "\" is invalid."}
	}
	if err := s.ensureOn(model.DDL, "SCHEMA", schema); err != nil {
		return nil, err
	}
	if q.ifNotExists && s.Node.Table(schema, q.name.name) != nil {
		return done(0)
	}
	spec := model.TableSpec{Schema: schema, Name: q.name.name, Blob: q.blob, PartitionedBy: q.partitioned, Settings: map[string]string{}}
	if q.blob {
		spec.Columns = []model.Column{{Name: "digest", Type: "text", PrimaryKey: true}, {Name: "last_modified", Type: "timestamp with time zone"}}
	}
	for _, c := range q.columns {
		spec.Columns = append(spec.Columns, model.Column{Name: c.name, Type: c.typ.Name, PrimaryKey: c.pk})
	}
	for _, p := range q.partitioned {
		if !slices.ContainsFunc(spec.Columns, func(c model.Column) bool { return c.Name == p }) {
			return nil, model.ErrColumnUnknown(p)
		}
	}
	if q.shards != nil {
		v, err := free.compute(q.shards)
		if err != nil {
			return nil, err
		}
		n, err := convert(v, Integer)
		if err != nil {
			return nil, err
		}
		if k, ok := n.(int64); !ok || k < 1 {
			return nil, model.ErrIllegalArgument("num_shards in CLUSTERED clause must be greater than 0")
		} else {
			spec.Shards = int(k)
		}
	}
	as, err := free.assignments(q.with)
	if err != nil {
		return nil, err
	}
	for _, a := range as {
		switch {
		case !model.TableSetting(a.Name), q.blob && a.Name != "number_of_replicas" && a.Name != "blobs_path":
			return nil, model.ErrIllegalArgument("Invalid property \"%s\" passed to [ALTER | CREATE] TABLE statement", a.Name)
		case a.Value == nil:
		case a.Name == "number_of_replicas":
			spec.Replicas = *a.Value
		default:
			spec.Settings[a.Name] = *a.Value
		}
	}
	t, err := s.Node.CreateTable(spec)
	if err != nil {
		return nil, err
	}
	res := &Result{RowCount: 1}
	// CrateDB answers once the primaries are active, or after 30 s without them.
	res.Wait = 30 * time.Second
	res.Ready = func() bool {
		for _, ix := range t.Indexes() {
			if !ix.PrimariesActive() {
				return false
			}
		}
		return true
	}
	return res, nil
}

func (s *Session) swapTable(free *scope, q swapTable) (*Result, *model.Error) {
	var tables [2]*model.Table
	for i, name := range []tableName{q.source, q.target} {
		if tables[i] = s.Node.Table(schemaOf(name), name.name); tables[i] == nil {
			return nil, s.unknown(name)
		}
		if err := supports(tables[i], "ALTER RENAME"); err != nil {
			return nil, err
		}
	}
	if !s.User.Has(model.AL, "CLUSTER", "") {
		for _, name := range []tableName{q.target, q.source} {
			if err := s.ensure(model.DDL, name); err != nil {
				return nil, err
			}
		}
	}
	with, err := free.settingsOf(q.with)
	if err != nil {
		return nil, err
	}
	if err := s.Node.SwapTables(tables[0], tables[1], with["drop_source"] == "true"); err != nil {
		return nil, err
	}
	// It waits for the shards of what is left (TransportSwapRelations).
	return &Result{RowCount: 1, Wait: 30 * time.Second, Ready: func() bool {
		return tables[0].Active() && (with["drop_source"] == "true" || tables[1].Active())
	}}, nil
}

func (s *Session) alterTable(free *scope, q alterTable) (*Result, *model.Error) {
	p, operation := model.DDL, "ALTER"
	switch {
	case q.move != nil:
		operation = "ALTER REROUTE" // it takes DDL on the table
	case q.open != nil && *q.open:
		operation = "ALTER OPEN"
	case q.open != nil:
		operation = "ALTER CLOSE"
	}
	t, err := s.lookUp(q.name, p, operation)
	if err != nil {
		return nil, err
	}
	var only *model.Index
	if len(q.partition) > 0 {
		values, err := s.partitionValues(free, t, q.partition)
		if err != nil {
			return nil, err
		}
		ident := partitionIdent(values)
		for _, ix := range t.Indexes() {
			if ix.Ident == ident {
				only = ix
			}
		}
		if only == nil {
			return nil, model.ErrPartitionUnknown(t.FullName(), ident)
		}
	}
	switch {
	case q.open != nil:
		closes := !*q.open && !t.Closed() && (only == nil || !only.Closed())
		if err := s.Node.SetClosed(t, only, !*q.open); err != nil {
			return nil, err
		}
		res := &Result{RowCount: -1}
		if closes {
			// It is closed, and waits for its shards all the same (TransportCloseTable, as long
			// as AcknowledgedRequest.DEFAULT_ACK_TIMEOUT).
			res.Ready, res.Wait = t.Active, 30*time.Second
		}
		return res, nil
	case q.move != nil:
		ix := only
		if ix == nil {
			if len(t.Indexes()) != 1 {
				return nil, model.ErrIllegalArgument("table is partitioned however no partition clause has been specified")
			}
			ix = t.Indexes()[0]
		}
		var v [3]any
		for i, e := range []expr{q.move.shard, q.move.from, q.move.to} {
			if v[i], err = free.compute(e); err != nil {
				return nil, err
			}
		}
		n, err := convert(v[0], Integer)
		if err != nil {
			return nil, err
		}
		return doneIf(s.Node.MoveShard(ix, int(n.(int64)), text(v[1]), text(v[2])))
	}
	changes, err := free.assignments(q.set)
	if err != nil {
		return nil, err
	}
	for _, a := range changes {
		if a.Value == nil {
			return nil, model.ErrIllegalArgument("Cannot set NULL to property %s.", a.Name)
		}
	}
	for _, name := range q.reset {
		changes = append(changes, model.Assignment{Name: name})
	}
	other := func(a model.Assignment) bool { return blocks[a.Name] == "" }
	if slices.ContainsFunc(changes, other) {
		if err := supports(t, "ALTER SET"); err != nil {
			return nil, err
		}
	}
	if q.only && only == nil {
		err = s.Node.AlterOnly(t, changes)
	} else {
		err = s.Node.AlterTable(t, only, changes)
	}
	if err != nil {
		return nil, err
	}
	return done(-1) // CrateDB does not know how many
}
