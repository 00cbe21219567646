package sql

import (
	"encoding/base32"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

func (s *Session) partitionValues(free *scope, t *model.Table, as []assignment) ([]any, *model.Error) {
	if !t.Partitioned() {
		return nil, model.ErrIllegalArgument("table '%s' is not partitioned", t.FullName())
	}
	values := make([]any, len(t.PartitionedBy))
	for _, a := range as {
		i := slices.Index(t.PartitionedBy, a.name)
		if i < 0 {
			return nil, model.ErrIllegalArgument("\"%s\" is no known partition column", a.name)
		}
		v, err := free.compute(a.e)
		if err != nil {
			return nil, err
		}
		for _, c := range t.Columns {
			if c.Name == a.name {
				if v, err = convert(v, typeNamed(c.Type)); err != nil {
					return nil, err
				}
			}
		}
		values[i] = v
	}
	return values, nil
}

var identEncoding = base32.HexEncoding.WithPadding(base32.NoPadding)

// partitionIdent names a partition after its values, as CrateDB does: base32 in lower case.
func partitionIdent(values []any) string {
	var b []byte
	b = append(b, byte(len(values)))
	for _, v := range values {
		if v == nil {
			b = append(b, 0)
			continue
		}
		t := text(v)
		b = append(b, byte(len(t)+1))
		b = append(b, t...)
	}
	return strings.ToLower(identEncoding.EncodeToString(b))
}

func (s *Session) insert(free *scope, q insert) (*Result, *model.Error) {
	t, err := s.lookUp(q.name, model.DML, "INSERT")
	if err != nil {
		return nil, err
	}
	cols := make([]int, 0, len(t.Columns))
	if len(q.columns) == 0 {
		for i := range t.Columns {
			cols = append(cols, i)
		}
	}
	for _, name := range q.columns {
		i := slices.IndexFunc(t.Columns, func(c model.Column) bool { return c.Name == name })
		if i < 0 {
			return nil, model.ErrColumnUnknown(name)
		}
		cols = append(cols, i)
	}
	rows, err := s.given(free, t, q, cols)
	if err != nil {
		return nil, err
	}
	// All are asked before any is written: a statement that waits is run once more.
	var into []*model.Index
	var written [][]any
	for _, row := range rows {
		ix, err := s.indexFor(t, row)
		if err != nil {
			return nil, err
		}
		if ix.Closed() {
			continue // without a word
		}
		if err, away := s.Node.InsertGate(ix, keyOf(t, row)); err != nil {
			if q.query != nil && away {
				continue // CrateDB answers with the rows that it could write
			}
			return nil, err
		}
		into, written = append(into, ix), append(written, row)
	}
	count := 0
	for i, row := range written {
		ix := into[i]
		if duplicate(t, ix, row) {
			if q.ignore || len(rows) > 1 {
				continue
			}
			return nil, model.ErrDuplicateKey()
		}
		s.Node.Insert(ix, [][]any{row})
		count++
	}
	return done(count)
}

// given are the rows that an INSERT has: its VALUES, or what its SELECT finds.
func (s *Session) given(free *scope, t *model.Table, q insert, cols []int) ([][]any, *model.Error) {
	var all [][]any
	add := func(width int, value func(int) (any, *model.Error)) *model.Error {
		if width > len(cols) {
			return model.ErrIllegalArgument("INSERT statement contains a VALUES clause with too many elements (expected: %d)", len(cols))
		}
		row := make([]any, len(t.Columns))
		for i := range width {
			v, err := value(i)
			if err != nil {
				return err
			}
			if row[cols[i]], err = convert(v, typeNamed(t.Columns[cols[i]].Type)); err != nil {
				return err
			}
		}
		all = append(all, row)
		return nil
	}
	if q.query == nil {
		for _, r := range q.rows {
			if err := add(len(r), func(i int) (any, *model.Error) { return free.compute(r[i]) }); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	found, err := s.run(*q.query, free.args)
	if err != nil {
		return nil, err
	}
	for _, r := range found.Rows {
		if err := add(len(r), func(i int) (any, *model.Error) { return r[i], nil }); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (s *Session) indexFor(t *model.Table, row []any) (*model.Index, *model.Error) {
	if !t.Partitioned() {
		return t.Indexes()[0], nil
	}
	var values []any
	for _, p := range t.PartitionedBy {
		for i, c := range t.Columns {
			if c.Name == p {
				values = append(values, row[i])
			}
		}
	}
	return s.Node.AddPartition(t, partitionIdent(values), values)
}

// keyOf is what decides on a row's shard: its primary key, or all of it without one.
func keyOf(t *model.Table, row []any) string {
	var key strings.Builder
	keyed := slices.ContainsFunc(t.Columns, func(c model.Column) bool { return c.PrimaryKey })
	for i, c := range t.Columns {
		if c.PrimaryKey || !keyed {
			key.WriteString(text(row[i]))
			key.WriteByte(0)
		}
	}
	return key.String()
}

func duplicate(t *model.Table, ix *model.Index, row []any) bool {
	var keys []int
	for i, c := range t.Columns {
		if c.PrimaryKey {
			keys = append(keys, i)
		}
	}
	return len(keys) > 0 && slices.ContainsFunc(ix.Rows, func(r []any) bool {
		for _, k := range keys {
			if text(r[k]) != text(row[k]) {
				return false
			}
		}
		return true
	})
}

// change is DELETE (set nil) and UPDATE of a user's table.
func (s *Session) change(name tableName, where expr, set []assignment, args []any) (*Result, *model.Error) {
	operation := "DELETE"
	if set != nil {
		operation = "UPDATE"
	}
	t, err := s.lookUp(name, model.DML, operation)
	if err != nil {
		return nil, err
	}
	sc := &scope{session: s, args: args, version: s.Node.Version, table: s.userTable(t)}
	if where != nil {
		if _, err := sc.typeOf(where); err != nil {
			return nil, err
		}
	}
	count := 0
	whole := set == nil && ofPartitions(t, where)
	for _, ix := range slices.Clone(t.Indexes()) {
		if ix.Closed() {
			continue
		}
		if err := s.Node.WriteGate(ix); err != nil {
			return nil, err
		}
		var kept [][]any
		changed, had := 0, len(ix.Rows)
		for _, r := range ix.Rows {
			sc.row = r
			hit := true
			if where != nil {
				v, err := sc.eval(where)
				if err != nil {
					return nil, err
				}
				hit = v == true
			}
			if !hit {
				kept = append(kept, r)
				continue
			}
			count++
			if set == nil {
				continue
			}
			next := slices.Clone(r)
			for _, a := range set {
				i := slices.IndexFunc(t.Columns, func(c model.Column) bool { return c.Name == a.name })
				if i < 0 {
					return nil, model.ErrColumnUnknown(a.name)
				}
				v, err := sc.compute(a.e)
				if err != nil {
					return nil, err
				}
				if next[i], err = convert(v, typeNamed(t.Columns[i].Type)); err != nil {
					return nil, err
				}
			}
			kept = append(kept, next)
			changed++
		}
		if whole && had > 0 && len(kept) == 0 {
			if err := s.Node.DropPartition(ix); err != nil {
				return nil, err
			}
			continue
		}
		s.Node.Replace(ix, kept, changed)
	}
	if whole {
		return done(-1) // nobody has counted them
	}
	return done(count)
}

// updateSys is UPDATE sys.node_checks SET acknowledged = …, the only system column that
// may be written.
func (s *Session) updateSys(q update, args []any) (*Result, *model.Error) {
	vt, err := s.table(q.name)
	if err != nil {
		return nil, err
	}
	if q.name.name != "node_checks" {
		return nil, model.ErrInaccessible(q.name.full(), "UPDATE operations")
	}
	if err := s.ensure(model.DML, q.name); err != nil {
		return nil, err
	}
	for _, a := range q.set {
		if a.name != "acknowledged" {
			return nil, model.ErrIllegalArgument("Updating a system column \"%s\" is not supported", a.name)
		}
	}
	sc := &scope{session: s, args: args, version: s.Node.Version, table: vt}
	if q.where != nil {
		if _, err := sc.typeOf(q.where); err != nil {
			return nil, err
		}
	}
	rows, err := vt.rows(s, nil)
	if err != nil {
		return nil, err
	}
	count := 0
	for _, r := range rows {
		sc.row = r
		if q.where != nil {
			v, err := sc.eval(q.where)
			if err != nil {
				return nil, err
			}
			if v != true {
				continue
			}
		}
		for _, a := range q.set {
			v, err := sc.compute(a.e)
			if err != nil {
				return nil, err
			}
			b, err := convert(v, Boolean)
			if err != nil {
				return nil, err
			}
			for _, n := range s.Node.Cluster().Members() {
				if n.ID == r[sc.columnIndex(column{name: "node_id"})] {
					s.Engine.Model.Acknowledge(n, int(r[sc.columnIndex(column{name: "id"})].(int64)), b == true)
				}
			}
		}
		count++
	}
	return done(count)
}
