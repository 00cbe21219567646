package sql

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

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
