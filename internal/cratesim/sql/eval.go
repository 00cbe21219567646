package sql

import (
	"math"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// scope is what an expression can refer to.
type scope struct {
	table   *virtualTable
	alias   string
	session *Session
	args    []any
	row     []any
	group   [][]any // the rows of the group; nil outside aggregation
	version model.Version
}

func (s *scope) columnIndex(c column) int {
	if s.table == nil {
		return -1
	}
	if c.table != "" && c.table != s.table.name.name && c.table != s.alias {
		return -1
	}
	return slices.IndexFunc(s.table.columns, func(d colDef) bool { return d.name == c.name })
}

func columnName(c column) string {
	name := c.name
	for _, p := range c.path {
		name += "['" + p + "']"
	}
	return name
}

func typeOfValue(v any) *Type {
	switch v := v.(type) {
	case bool:
		return Boolean
	case int64:
		return Bigint
	case float64:
		return Double
	case string:
		return Text
	case []any:
		if len(v) > 0 {
			return arrayOf(typeOfValue(v[0]))
		}
		return TextArray
	case map[string]any:
		return Object
	}
	return Undefined
}

// compute checks an expression and then computes it.
func (s *scope) compute(e expr) (any, *model.Error) {
	if _, err := s.typeOf(e); err != nil {
		return nil, err
	}
	return s.eval(e)
}

// eval computes a checked expression.
func (s *scope) eval(e expr) (any, *model.Error) {
	switch e := e.(type) {
	case literal:
		return e.v, nil
	case param:
		if e.index >= len(s.args) {
			return nil, model.ErrIllegalArgument("The query contains a parameter placeholder $%d, but there are only %d parameter values", e.index+1, len(s.args))
		}
		return s.args[e.index], nil
	case column:
		i := s.columnIndex(e)
		if i < 0 || i >= len(s.row) {
			return nil, model.ErrColumnUnknown(columnName(e))
		}
		v := s.row[i]
		for _, p := range e.path {
			v = child(v, p)
		}
		return v, nil
	case subscript:
		v, err := s.eval(e.e)
		if err != nil {
			return nil, err
		}
		i, err := s.eval(e.index)
		if err != nil {
			return nil, err
		}
		switch i := i.(type) {
		case string:
			return child(v, i), nil
		case int64:
			if a, ok := v.([]any); ok && i >= 1 && int(i) <= len(a) {
				return a[i-1], nil
			}
		}
		return nil, nil
	case binary:
		return s.evalBinary(e)
	case unary:
		v, err := s.eval(e.e)
		if err != nil || v == nil {
			return nil, err
		}
		if e.op == "not" {
			b, err := toBool(v)
			return !b, err
		}
		switch v := v.(type) {
		case int64:
			return -v, nil
		case float64:
			return -v, nil
		}
		return nil, model.ErrFunctionUnknown("_negate(" + text(v) + ")")
	case isNull:
		v, err := s.eval(e.e)
		return (v == nil) != e.not, err
	case inList:
		v, err := s.eval(e.e)
		if err != nil || v == nil {
			return nil, err
		}
		sawNull := false
		for _, item := range e.list {
			w, err := s.eval(item)
			if err != nil {
				return nil, err
			}
			if w == nil {
				sawNull = true
				continue
			}
			c, err := compare(v, w)
			if err != nil {
				return nil, err
			}
			if c == 0 {
				return !e.not, nil
			}
		}
		if sawNull {
			return nil, nil
		}
		return e.not, nil
	case quantified:
		return s.evalQuantified(e)
	case like:
		v, err := s.eval(e.e)
		if err != nil || v == nil {
			return nil, err
		}
		pat, err := s.eval(e.pattern)
		if err != nil || pat == nil {
			return nil, err
		}
		return likeMatch(text(v), text(pat), e.fold) != e.not, nil
	case between:
		v, err := s.evalBinary(binary{"and", binary{">=", e.e, e.lo}, binary{"<=", e.e, e.hi}})
		if b, ok := v.(bool); ok && e.not {
			return !b, nil
		}
		return v, err
	case cast:
		v, err := s.eval(e.e)
		if err != nil {
			return nil, err
		}
		out, err := convert(v, e.typ)
		if err != nil && e.try {
			return nil, nil
		}
		return out, err
	case array:
		out := make([]any, len(e.items))
		for i, item := range e.items {
			v, err := s.eval(item)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	case object:
		out := map[string]any{}
		for i, k := range e.keys {
			v, err := s.eval(e.values[i])
			if err != nil {
				return nil, err
			}
			out[k] = v
		}
		return out, nil
	case caseWhen:
		for i, w := range e.whens {
			cond := w
			if e.operand != nil {
				cond = binary{"=", e.operand, w}
			}
			v, err := s.eval(cond)
			if err != nil {
				return nil, err
			}
			if v == true {
				return s.eval(e.ans[i])
			}
		}
		if e.otherwise == nil {
			return nil, nil
		}
		return s.eval(e.otherwise)
	case call:
		return s.evalCall(e)
	}
	return nil, model.ErrUnsupported("unknown expression %T", e)
}

// child is v[name]; on an array of objects it is the array of the children.
func child(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[name]
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = child(v[i], name)
		}
		return out
	}
	return nil
}

func toBool(v any) (bool, *model.Error) {
	if b, ok := v.(bool); ok {
		return b, nil
	}
	c, err := convert(v, Boolean)
	if err != nil {
		return false, err
	}
	return c.(bool), nil
}

func (s *scope) evalBinary(e binary) (any, *model.Error) {
	l, err := s.eval(e.l)
	if err != nil {
		return nil, err
	}
	switch e.op {
	case "and", "or":
		// Three-valued logic: one side may decide alone.
		decides := e.op == "or"
		if l != nil {
			b, err := toBool(l)
			if err != nil {
				return nil, err
			}
			if l = b; b == decides {
				return decides, nil
			}
		}
		r, err := s.eval(e.r)
		if err != nil || r == nil {
			return nil, err
		}
		b, err := toBool(r)
		if err != nil {
			return nil, err
		}
		if b == decides || l != nil {
			return b, nil
		}
		return nil, nil
	}
	r, err := s.eval(e.r)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(e.op, "distinct") {
		same := l == nil && r == nil
		if l != nil && r != nil {
			c, err := compare(l, r)
			if err != nil {
				return nil, err
			}
			same = c == 0
		}
		return same == (e.op == "is not distinct"), nil
	}
	if l == nil || r == nil {
		return nil, nil
	}
	switch e.op {
	case "=", "<>", "<", ">", "<=", ">=":
		c, err := compare(l, r)
		if err != nil {
			return nil, err
		}
		return holds(e.op, c), nil
	case "||":
		return text(l) + text(r), nil
	}
	return arithmetic(e.op, l, r)
}

func holds(op string, c int) bool {
	switch op {
	case "=":
		return c == 0
	case "<>":
		return c != 0
	case "<":
		return c < 0
	case ">":
		return c > 0
	case "<=":
		return c <= 0
	}
	return c >= 0
}

func arithmetic(op string, l, r any) (any, *model.Error) {
	a, aok := l.(int64)
	b, bok := r.(int64)
	if aok && bok {
		switch op {
		case "+":
			return a + b, nil
		case "-":
			return a - b, nil
		case "*":
			return a * b, nil
		}
		if b == 0 {
			return nil, &model.Error{Class: "ArithmeticException", Message: "/ by zero", SQLState: "XX000", HTTP: 500, Code: 5000}
		}
		if op == "/" {
			return a / b, nil
		}
		return a % b, nil
	}
	x, err := convert(l, Double)
	if err != nil {
		return nil, err
	}
	y, err := convert(r, Double)
	if err != nil {
		return nil, err
	}
	f, g := x.(float64), y.(float64)
	switch op {
	case "+":
		return f + g, nil
	case "-":
		return f - g, nil
	case "*":
		return f * g, nil
	case "/":
		return f / g, nil
	}
	return math.Mod(f, g), nil
}

func (s *scope) evalQuantified(e quantified) (any, *model.Error) {
	v, err := s.eval(e.e)
	if err != nil || v == nil {
		return nil, err
	}
	av, err := s.eval(e.arr)
	if err != nil || av == nil {
		return nil, err
	}
	if t, ok := av.(string); ok {
		if av, err = convert(t, TextArray); err != nil {
			return nil, err
		}
	}
	arr, ok := av.([]any)
	if !ok {
		return nil, model.ErrFunctionUnknown("any_" + e.op)
	}
	for _, w := range arr {
		if w == nil {
			continue
		}
		c, err := compare(v, w)
		if err != nil {
			return nil, err
		}
		if holds(e.op, c) != e.all {
			return !e.all, nil
		}
	}
	return e.all, nil
}
