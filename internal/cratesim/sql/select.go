package sql

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// outputName is a column's name in the answer: a function's has no arguments.
func outputName(e expr) string {
	if f, ok := e.(call); ok {
		return f.name
	}
	return render(e)
}

func render(e expr) string {
	switch e := e.(type) {
	case column:
		return columnName(e)
	case call:
		if e.star {
			return e.name + "(*)"
		}
		args := make([]string, len(e.args))
		for i, a := range e.args {
			args[i] = render(a)
		}
		switch e.name {
		case "current_user", "session_user", "current_schema", "current_timestamp":
			return e.name
		}
		return e.name + "(" + strings.Join(args, ", ") + ")"
	case literal:
		if s, ok := e.v.(string); ok {
			return "'" + s + "'"
		}
		return text(e.v)
	case cast:
		word := "CAST"
		if e.try {
			word = "TRY_CAST"
		}
		return word + "(" + render(e.e) + " AS " + e.typ.Name + ")"
	case param:
		return "$" + text(int64(e.index+1))
	case subscript:
		return render(e.e) + "[" + render(e.index) + "]"
	case binary:
		return "(" + render(e.l) + " " + strings.ToUpper(e.op) + " " + render(e.r) + ")"
	}
	return "?column?"
}

// columnsOf expands the items of a checked SELECT.
func (s *scope) columnsOf(q selectStmt) (items []selectItem, cols []Column, err *model.Error) {
	for _, it := range q.items {
		if !it.star {
			items = append(items, it)
			continue
		}
		if s.table == nil {
			return nil, nil, model.ErrIllegalArgument("\"SELECT *\" without FROM is invalid")
		}
		for _, c := range s.table.columns {
			if !c.hidden {
				items = append(items, selectItem{e: column{name: c.name}})
			}
		}
	}
	for _, it := range items {
		t, err := s.typeOf(it.e)
		if err != nil {
			return nil, nil, err
		}
		name := it.alias
		if name == "" {
			name = outputName(it.e)
		}
		cols = append(cols, Column{name, t})
	}
	for _, e := range append(slices.Clone(q.groupBy), q.where, q.having) {
		if e == nil {
			continue
		}
		if _, ok := aliasOf(e, items); ok {
			continue
		}
		if _, err := s.typeOf(e); err != nil {
			return nil, nil, err
		}
	}
	for _, o := range q.orderBy {
		if _, ok := aliasOf(o.e, items); ok {
			continue
		}
		if _, err := s.typeOf(o.e); err != nil {
			return nil, nil, err
		}
	}
	return items, cols, nil
}

// aliasOf resolves an output name or a number in GROUP BY and ORDER BY.
func aliasOf(e expr, items []selectItem) (expr, bool) {
	switch e := e.(type) {
	case column:
		if e.table == "" && len(e.path) == 0 {
			for _, it := range items {
				if it.alias == e.name && it.alias != "" {
					return it.e, true
				}
			}
		}
	case literal:
		if n, ok := e.v.(int64); ok && n >= 1 && int(n) <= len(items) {
			return items[n-1].e, true
		}
	}
	return e, false
}

// spoil blanks the column that another one, read before it, leaves NULL.
func (s *scope) spoil(q selectStmt, items []selectItem, rows [][]any) {
	first, then := s.table.spoils[0], s.table.spoils[1]
	if first == "" {
		return
	}
	order := []selectStmt{{items: []selectItem{{e: literal{}}}, where: q.where}}
	for _, it := range items {
		order = append(order, selectStmt{items: []selectItem{it}})
	}
	for _, part := range order {
		read := touches(part)
		if read[then] {
			return
		}
		if !read[first] {
			continue
		}
		i := slices.IndexFunc(s.table.columns, func(c colDef) bool { return c.name == then })
		for _, r := range rows {
			r[i] = nil
		}
		return
	}
}

func (s *scope) runSelect(q selectStmt) (*Result, *model.Error) {
	items, cols, err := s.columnsOf(q)
	if err != nil {
		return nil, err
	}
	rows := [][]any{nil}
	if s.table != nil {
		s.session.grouped = q.distinct || len(q.groupBy) > 0
		if rows, err = s.table.rows(s.session, touches(q)); err != nil {
			return nil, err
		}
		s.spoil(q, items, rows)
	}
	if q.where != nil {
		var kept [][]any
		for _, r := range rows {
			s.row = r
			v, err := s.eval(q.where)
			if err != nil {
				return nil, err
			}
			if v == nil {
				continue
			}
			ok, err := toBool(v)
			if err != nil {
				return nil, err
			}
			if ok {
				kept = append(kept, r)
			}
		}
		rows = kept
	}
	grouped := len(q.groupBy) > 0 || slices.ContainsFunc(items, func(it selectItem) bool { return isAggregate(it.e) })
	var groups [][][]any
	if grouped {
		groups, err = s.groups(q, items, rows)
		if err != nil {
			return nil, err
		}
	} else {
		for _, r := range rows {
			groups = append(groups, [][]any{r})
		}
	}
	type outRow struct{ out, keys []any }
	var out []outRow
	for _, g := range groups {
		s.group, s.row = nil, nil
		if grouped {
			s.group = g
			if s.group == nil {
				s.group = [][]any{}
			}
		}
		if len(g) > 0 {
			s.row = g[0]
		} else if s.table != nil {
			s.row = make([]any, len(s.table.columns))
		}
		if q.having != nil {
			v, err := s.eval(q.having)
			if err != nil {
				return nil, err
			}
			if v != true {
				continue
			}
		}
		r := outRow{}
		for _, it := range items {
			v, err := s.eval(it.e)
			if err != nil {
				return nil, err
			}
			r.out = append(r.out, v)
		}
		for _, o := range q.orderBy {
			e, _ := aliasOf(o.e, items)
			v, err := s.eval(e)
			if err != nil {
				return nil, err
			}
			r.keys = append(r.keys, v)
		}
		if q.distinct && slices.ContainsFunc(out, func(o outRow) bool { return text(o.out) == text(r.out) }) {
			continue
		}
		out = append(out, r)
	}
	s.group = nil
	if len(q.orderBy) > 0 {
		var sortErr *model.Error
		slices.SortStableFunc(out, func(a, b outRow) int {
			for i, o := range q.orderBy {
				x, y := a.keys[i], b.keys[i]
				nullsFirst := o.desc
				if o.nullsFirst != nil {
					nullsFirst = *o.nullsFirst
				}
				if x == nil || y == nil {
					if x == nil && y == nil {
						continue
					}
					if (x == nil) == nullsFirst {
						return -1
					}
					return 1
				}
				c, err := compare(x, y)
				if err != nil {
					sortErr = err
				}
				if c != 0 {
					if o.desc {
						return -c
					}
					return c
				}
			}
			return 0
		})
		if sortErr != nil {
			return nil, sortErr
		}
	}
	res := &Result{Columns: cols, Rows: [][]any{}}
	for _, r := range out {
		res.Rows = append(res.Rows, r.out)
	}
	for _, cut := range []struct {
		e      expr
		offset bool
	}{{q.offset, true}, {q.limit, false}} {
		if cut.e == nil {
			continue
		}
		v, err := s.compute(cut.e)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		n, err := convert(v, Bigint)
		if err != nil {
			return nil, err
		}
		k := min(max(int(n.(int64)), 0), len(res.Rows))
		if cut.offset {
			res.Rows = res.Rows[k:]
		} else {
			res.Rows = res.Rows[:k]
		}
	}
	res.RowCount = len(res.Rows)
	return res, nil
}

func (s *scope) groups(q selectStmt, items []selectItem, rows [][]any) ([][][]any, *model.Error) {
	if len(q.groupBy) == 0 {
		return [][][]any{rows}, nil
	}
	index := map[string]int{}
	var out [][][]any
	for _, r := range rows {
		s.row = r
		var key []any
		for _, e := range q.groupBy {
			e, _ := aliasOf(e, items)
			v, err := s.eval(e)
			if err != nil {
				return nil, err
			}
			key = append(key, v)
		}
		k := text(key)
		i, ok := index[k]
		if !ok {
			i = len(out)
			index[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], r)
	}
	return out, nil
}

// touches lists the columns that a SELECT reads, so that dear ones are made only when asked
// for; nil is all.
func touches(q selectStmt) map[string]bool {
	out := map[string]bool{}
	all := false
	var walk func(e expr)
	walk = func(e expr) {
		switch e := e.(type) {
		case column:
			out[e.name] = true
		case subscript:
			walk(e.e)
			walk(e.index)
		case binary:
			walk(e.l)
			walk(e.r)
		case unary:
			walk(e.e)
		case isNull:
			walk(e.e)
		case inList:
			walk(e.e)
		case quantified:
			walk(e.e)
		case like:
			walk(e.e)
		case between:
			walk(e.e)
		case cast:
			walk(e.e)
		case call:
			for _, a := range e.args {
				walk(a)
			}
			walk(e.filter)
		case caseWhen, array, object:
			all = true
		}
	}
	for _, it := range q.items {
		all = all || it.star
		walk(it.e)
	}
	for _, e := range q.groupBy {
		walk(e)
	}
	for _, o := range q.orderBy {
		walk(o.e)
	}
	walk(q.where)
	walk(q.having)
	if all {
		return nil
	}
	return out
}
