package sql

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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
		v := s.row[s.columnIndex(e)]
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

// compare orders two values, converting text to the other side's type as CrateDB does.
func compare(l, r any) (int, *model.Error) {
	switch a := l.(type) {
	case string:
		if b, ok := r.(string); ok {
			return strings.Compare(a, b), nil
		}
		if t := typeOfValue(r); t.numeric() || t == Boolean {
			v, err := convert(a, t)
			if err != nil {
				return 0, err
			}
			return compare(v, r)
		}
	case int64:
		switch b := r.(type) {
		case int64:
			return cmp.Compare(a, b), nil
		case float64:
			return cmp.Compare(float64(a), b), nil
		}
	case float64:
		switch b := r.(type) {
		case int64:
			return cmp.Compare(a, float64(b)), nil
		case float64:
			return cmp.Compare(a, b), nil
		}
	case bool:
		if b, ok := r.(bool); ok {
			return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)), nil
		}
	case []any, map[string]any:
		return strings.Compare(text(l), text(r)), nil
	}
	if _, ok := r.(string); ok {
		c, err := compare(r, l)
		return -c, err
	}
	return 0, model.ErrIllegalArgument("Cannot compare `%s` with `%s`", text(l), text(r))
}

func likeMatch(v, pattern string, fold bool) bool {
	var b strings.Builder
	b.WriteString("(?s)^")
	if fold {
		b.Reset()
		b.WriteString("(?si)^")
	}
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			b.WriteString(regexp.QuoteMeta(string(r)))
			escaped = false
		case r == '\\':
			escaped = true
		case r == '%':
			b.WriteString(".*")
		case r == '_':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	b.WriteString("$")
	re, err := regexp.Compile(b.String())
	return err == nil && re.MatchString(v)
}

// text is a value as ::text gives it.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		out := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(out, ".") {
			out += ".0"
		}
		return out
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// Convert casts a value; it is also how bound parameters get their type.
func Convert(v any, t *Type) (any, *model.Error) { return convert(v, t) }

func convert(v any, t *Type) (any, *model.Error) {
	bad := func() (any, *model.Error) { return nil, model.ErrConversion(text(v), t.Name) }
	if v == nil || t == Undefined {
		return v, nil
	}
	if t.Elem != nil {
		switch a := v.(type) {
		case []any:
			out := make([]any, len(a))
			for i := range a {
				c, err := convert(a[i], t.Elem)
				if err != nil {
					return nil, err
				}
				out[i] = c
			}
			return out, nil
		case string:
			items, ok := ParseArray(a)
			if !ok {
				return bad()
			}
			return convert(items, t)
		}
		return bad()
	}
	switch t {
	case Text:
		return text(v), nil
	case Boolean:
		switch x := v.(type) {
		case bool:
			return x, nil
		case string:
			switch strings.ToLower(x) {
			case "t", "true":
				return true, nil
			case "f", "false":
				return false, nil
			}
		case int64:
			return x != 0, nil
		}
		return bad()
	case Short, Integer, Bigint:
		var n int64
		switch x := v.(type) {
		case int64:
			n = x
		case float64:
			n = int64(x)
		case bool:
			if x {
				n = 1
			}
		case string:
			p, err := strconv.ParseInt(strings.TrimSpace(x), 10, 64)
			if err != nil {
				return bad()
			}
			n = p
		default:
			return bad()
		}
		if t == Integer && int64(int32(n)) != n || t == Short && int64(int16(n)) != n {
			return bad()
		}
		return n, nil
	case Double, Real:
		switch x := v.(type) {
		case int64:
			return float64(x), nil
		case float64:
			return x, nil
		case string:
			f, err := strconv.ParseFloat(strings.TrimSpace(x), 64)
			if err != nil {
				return bad()
			}
			return f, nil
		}
		return bad()
	case Timestamp:
		switch x := v.(type) {
		case int64:
			return x, nil
		case float64:
			return int64(x), nil
		case string:
			if n, err := strconv.ParseInt(x, 10, 64); err == nil {
				return n, nil
			}
			for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999Z07:00", "2006-01-02 15:04:05.999999Z07", "2006-01-02T15:04:05.999999", "2006-01-02 15:04:05.999999", "2006-01-02"} {
				if ts, err := time.Parse(layout, x); err == nil {
					return ts.UnixMilli(), nil
				}
			}
		}
		return bad()
	case Object:
		switch x := v.(type) {
		case map[string]any:
			return x, nil
		case string:
			var m map[string]any
			if json.Unmarshal([]byte(x), &m) == nil {
				return m, nil
			}
		}
		return bad()
	}
	return v, nil
}

// ParseArray reads PostgreSQL's text form of an array of one dimension: {a,"b c",NULL}.
func ParseArray(s string) ([]any, bool) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "[") {
		var out []any
		return out, json.Unmarshal([]byte(s), &out) == nil
	}
	if !strings.HasPrefix(s, "{") || !strings.HasSuffix(s, "}") {
		return nil, false
	}
	s = s[1 : len(s)-1]
	out := []any{}
	for i := 0; i < len(s); {
		var b strings.Builder
		quoted := s[i] == '"'
		if quoted {
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' && i+1 < len(s) {
					i++
				}
				b.WriteByte(s[i])
			}
			if i >= len(s) {
				return nil, false
			}
			i++
		} else {
			for ; i < len(s) && s[i] != ','; i++ {
				b.WriteByte(s[i])
			}
		}
		if !quoted && strings.EqualFold(b.String(), "null") {
			out = append(out, nil)
		} else {
			out = append(out, b.String())
		}
		if i < len(s) {
			if s[i] != ',' {
				return nil, false
			}
			i++
		}
	}
	return out, true
}
