package sql

import (
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

var aggregates = []string{"count", "sum", "min", "max", "avg", "array_agg", "arbitrary", "any_value"}

func isAggregate(e expr) bool {
	switch e := e.(type) {
	case call:
		if slices.Contains(aggregates, e.name) {
			return true
		}
		return slices.ContainsFunc(e.args, isAggregate)
	case binary:
		return isAggregate(e.l) || isAggregate(e.r)
	case cast:
		return isAggregate(e.e)
	case unary:
		return isAggregate(e.e)
	case subscript:
		return isAggregate(e.e)
	case isNull:
		return isAggregate(e.e)
	}
	return false
}

func (s *scope) typeOfCall(c call) (*Type, *model.Error) {
	if c.filter != nil {
		if _, err := s.typeOf(c.filter); err != nil {
			return nil, err
		}
	}
	types := make([]*Type, len(c.args))
	names := make([]string, len(c.args))
	for i, a := range c.args {
		t, err := s.typeOf(a)
		if err != nil {
			return nil, err
		}
		types[i], names[i] = t, t.Name
	}
	unknown := func() (*Type, *model.Error) {
		return nil, model.ErrFunctionUnknown(c.name + "(" + strings.Join(names, ", ") + ")")
	}
	want := func(n int, t *Type) (*Type, *model.Error) {
		if len(types) != n || c.star {
			return unknown()
		}
		return t, nil
	}
	switch c.name {
	case "count":
		if c.star || len(types) == 1 {
			return Bigint, nil
		}
		return unknown()
	case "sum":
		if len(types) == 1 && (types[0] == Double || types[0] == Real) {
			return types[0], nil
		}
		return want(1, Bigint)
	case "avg":
		return want(1, Double)
	case "min", "max", "arbitrary", "any_value":
		if len(types) != 1 {
			return unknown()
		}
		return types[0], nil
	case "array_agg":
		if len(types) != 1 {
			return unknown()
		}
		return arrayOf(types[0]), nil
	case "current_user", "session_user", "user", "current_schema":
		return want(0, Text)
	case "version", "pg_catalog.version", "current_database":
		return want(0, Text)
	case "current_timestamp", "now":
		return want(0, Timestamp)
	case "coalesce", "greatest", "least":
		if len(types) == 0 {
			return unknown()
		}
		for _, t := range types {
			if t != Undefined {
				return t, nil
			}
		}
		return Undefined, nil
	case "lower", "upper", "trim":
		return want(1, Text)
	case "concat":
		return Text, nil
	case "nullif":
		if len(types) != 2 {
			return unknown()
		}
		return types[0], nil
	case "length", "char_length":
		return want(1, Integer)
	case "array_length":
		return want(2, Integer)
	case "abs":
		if len(types) != 1 {
			return unknown()
		}
		return types[0], nil
	case "round", "floor", "ceil":
		return want(1, Bigint)
	case "pg_backend_pid":
		return want(0, Integer)
	case "split_part":
		return want(3, Text)
	}
	return unknown()
}

func (s *scope) evalCall(c call) (any, *model.Error) {
	if slices.Contains(aggregates, c.name) {
		return s.aggregate(c)
	}
	args := make([]any, len(c.args))
	for i, a := range c.args {
		v, err := s.eval(a)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	switch c.name {
	case "current_user", "session_user", "user":
		return s.session.User.Name, nil
	case "current_schema":
		return "doc", nil
	case "current_database":
		return "crate", nil
	case "version":
		return fmt.Sprintf("CrateDB %s (built 0000000/NA, Linux, simulator)", s.version), nil
	case "current_timestamp", "now":
		return s.session.Engine.Model.Now().UnixMilli(), nil
	case "pg_backend_pid":
		return int64(-1), nil
	case "coalesce":
		for _, a := range args {
			if a != nil {
				return a, nil
			}
		}
		return nil, nil
	case "greatest", "least":
		var best any
		for _, a := range args {
			if a == nil {
				continue
			}
			if best == nil {
				best = a
				continue
			}
			k, err := compare(a, best)
			if err != nil {
				return nil, err
			}
			if k > 0 == (c.name == "greatest") && k != 0 {
				best = a
			}
		}
		return best, nil
	case "concat":
		var b strings.Builder
		for _, a := range args {
			if a != nil {
				b.WriteString(text(a))
			}
		}
		return b.String(), nil
	case "nullif":
		if args[0] == nil || args[1] == nil {
			return args[0], nil
		}
		k, err := compare(args[0], args[1])
		if k == 0 {
			return nil, err
		}
		return args[0], err
	}
	for _, a := range args {
		if a == nil {
			return nil, nil
		}
	}
	switch c.name {
	case "lower":
		return strings.ToLower(text(args[0])), nil
	case "upper":
		return strings.ToUpper(text(args[0])), nil
	case "trim":
		return strings.TrimSpace(text(args[0])), nil
	case "length", "char_length":
		return int64(len([]rune(text(args[0])))), nil
	case "split_part":
		parts := strings.Split(text(args[0]), text(args[1]))
		if i, ok := args[2].(int64); ok && i >= 1 && int(i) <= len(parts) {
			return parts[i-1], nil
		}
		return "", nil
	case "array_length":
		if a, ok := args[0].([]any); ok && len(a) > 0 {
			return int64(len(a)), nil
		}
		return nil, nil
	case "abs":
		switch v := args[0].(type) {
		case int64:
			return max(v, -v), nil
		case float64:
			return max(v, -v), nil
		}
	case "round", "floor", "ceil":
		f, err := convert(args[0], Double)
		if err != nil {
			return nil, err
		}
		v := f.(float64)
		n := int64(v)
		switch {
		case c.name == "round":
			n = int64(v + 0.5)
		case c.name == "floor" && v < float64(n):
			n--
		case c.name == "ceil" && v > float64(n):
			n++
		}
		return n, nil
	}
	return nil, model.ErrFunctionUnknown(c.name)
}

func (s *scope) aggregate(c call) (any, *model.Error) {
	if s.group == nil {
		return nil, model.ErrIllegalArgument("Aggregate functions are not allowed in WHERE")
	}
	saved, group := s.row, s.group
	defer func() { s.row, s.group = saved, group }()
	var values []any
	for _, r := range group {
		s.row, s.group = r, nil
		if c.filter != nil {
			if ok, err := s.eval(c.filter); err != nil || ok != true {
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		if c.star {
			values = append(values, int64(1))
			continue
		}
		v, err := s.eval(c.args[0])
		if err != nil {
			return nil, err
		}
		if v == nil && c.name != "array_agg" {
			continue
		}
		if c.distinct && slices.ContainsFunc(values, func(w any) bool { k, err := compare(v, w); return err == nil && k == 0 }) {
			continue
		}
		values = append(values, v)
	}
	switch c.name {
	case "count":
		return int64(len(values)), nil
	case "array_agg":
		return append([]any{}, values...), nil
	}
	if len(values) == 0 {
		return nil, nil
	}
	acc := values[0]
	for _, v := range values[1:] {
		switch c.name {
		case "sum", "avg":
			sum, err := arithmetic("+", acc, v)
			if err != nil {
				return nil, err
			}
			acc = sum
		case "min", "max":
			k, err := compare(v, acc)
			if err != nil {
				return nil, err
			}
			if k != 0 && (k > 0) == (c.name == "max") {
				acc = v
			}
		}
	}
	if c.name == "avg" {
		return arithmetic("/", acc, float64(len(values)))
	}
	return acc, nil
}
