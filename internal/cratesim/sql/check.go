package sql

import (
	"slices"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// typeOf checks an expression and gives its type.
func (s *scope) typeOf(e expr) (*Type, *model.Error) {
	each := func(es ...expr) *model.Error {
		for _, e := range es {
			if e == nil {
				continue
			}
			if _, err := s.typeOf(e); err != nil {
				return err
			}
		}
		return nil
	}
	switch e := e.(type) {
	case literal:
		return e.typ, nil
	case param:
		if e.index < len(s.args) {
			return typeOfValue(s.args[e.index]), nil
		}
		return Undefined, nil
	case column:
		i := s.columnIndex(e)
		if i < 0 {
			if s.table != nil && e.table != "" && e.table != s.table.name.name && e.table != s.alias {
				return nil, model.ErrRelationUnknown(e.table)
			}
			return nil, model.ErrColumnUnknown(columnName(e))
		}
		def := s.table.columns[i]
		typ := def.typ
		for k, p := range e.path {
			if def.dynamic {
				typ = Text
				if def.childType != nil {
					typ = def.childType
				}
				break
			}
			if typ.Elem == Object { // object_array['x'] gives an array of the children
				j := slices.IndexFunc(def.children, func(d colDef) bool { return d.name == p })
				if j < 0 {
					return nil, model.ErrColumnUnknown(columnName(column{name: e.name, path: e.path[:k+1]}))
				}
				def = def.children[j]
				typ = arrayOf(def.typ)
				continue
			}
			j := slices.IndexFunc(def.children, func(d colDef) bool { return d.name == p })
			if j < 0 {
				return nil, model.ErrColumnUnknown(columnName(column{name: e.name, path: e.path[:k+1]}))
			}
			def = def.children[j]
			typ = def.typ
		}
		return typ, nil
	case subscript:
		t, err := s.typeOf(e.e)
		if err != nil {
			return nil, err
		}
		if err := each(e.index); err != nil {
			return nil, err
		}
		if t.Elem != nil {
			return t.Elem, nil
		}
		return Undefined, nil
	case binary:
		if err := each(e.l, e.r); err != nil {
			return nil, err
		}
		l, _ := s.typeOf(e.l)
		r, _ := s.typeOf(e.r)
		switch e.op {
		case "+", "-", "*", "/", "%":
			if l == Double || r == Double || l == Real || r == Real {
				return Double, nil
			}
			if l == Timestamp || r == Timestamp {
				return Timestamp, nil
			}
			if l == Bigint || r == Bigint {
				return Bigint, nil
			}
			return Integer, nil
		case "||":
			return Text, nil
		}
		return Boolean, nil
	case unary:
		t, err := s.typeOf(e.e)
		if e.op == "not" {
			t = Boolean
		}
		return t, err
	case isNull:
		return Boolean, each(e.e)
	case inList:
		if err := each(e.e); err != nil {
			return nil, err
		}
		return Boolean, each(e.list...)
	case quantified:
		return Boolean, each(e.e, e.arr)
	case like:
		return Boolean, each(e.e, e.pattern)
	case between:
		return Boolean, each(e.e, e.lo, e.hi)
	case cast:
		return e.typ, each(e.e)
	case array:
		if err := each(e.items...); err != nil {
			return nil, err
		}
		if len(e.items) == 0 {
			return arrayOf(Undefined), nil
		}
		t, err := s.typeOf(e.items[0])
		return arrayOf(t), err
	case object:
		return Object, each(e.values...)
	case caseWhen:
		if err := each(append(append(slices.Clone(e.whens), e.operand, e.otherwise), e.ans...)...); err != nil {
			return nil, err
		}
		return s.typeOf(e.ans[0])
	case call:
		return s.typeOfCall(e)
	}
	return nil, model.ErrUnsupported("unknown expression %T", e)
}
