package cratesim

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
	"stevedore.dev/stevedore/internal/cratesim/sql"
)

// pgEpoch is what binary timestamps count from.
var pgEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// encodeValue writes a value in text (0) or binary (1); nil is NULL.
func encodeValue(oid uint32, format int16, v any) []byte {
	if v == nil {
		return nil
	}
	t := sql.TypeByOID(oid)
	if t == nil {
		t = sql.Text
	}
	if format == 1 {
		return encodeBinary(t, v)
	}
	return []byte(encodeText(t, v))
}

func asInt(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	}
	return 0
}

func asFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

func encodeText(t *sql.Type, v any) string {
	if t.Elem != nil {
		items, _ := v.([]any)
		parts := make([]string, len(items))
		for i, it := range items {
			if it == nil {
				parts[i] = "NULL"
				continue
			}
			s := encodeText(t.Elem, it)
			if t.Elem.Elem == nil && !plainWord(s) {
				s = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
			}
			parts[i] = s
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	switch t {
	case sql.Boolean:
		if v == true {
			return "t"
		}
		return "f"
	case sql.Timestamp:
		return time.UnixMilli(asInt(v)).UTC().Format("2006-01-02 15:04:05.999999-07")
	case sql.Double, sql.Real:
		return strconv.FormatFloat(asFloat(v), 'f', -1, 64)
	}
	return textOf(v)
}

// plainWord needs no quotes inside an array.
func plainWord(s string) bool {
	return s != "" && !strings.ContainsAny(s, "{},\"\\ \t\n") && !strings.EqualFold(s, "null")
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func encodeBinary(t *sql.Type, v any) []byte {
	be := binary.BigEndian
	if t.Elem != nil {
		items, _ := v.([]any)
		hasNull := uint32(0)
		for _, it := range items {
			if it == nil {
				hasNull = 1
			}
		}
		dims := uint32(1)
		if len(items) == 0 {
			dims = 0
		}
		out := be.AppendUint32(nil, dims)
		out = be.AppendUint32(out, hasNull)
		out = be.AppendUint32(out, t.Elem.OID)
		if dims == 0 {
			return out
		}
		out = be.AppendUint32(out, uint32(len(items)))
		out = be.AppendUint32(out, 1)
		for _, it := range items {
			if it == nil {
				out = be.AppendUint32(out, math.MaxUint32)
				continue
			}
			b := encodeBinary(t.Elem, it)
			out = be.AppendUint32(out, uint32(len(b)))
			out = append(out, b...)
		}
		return out
	}
	switch t {
	case sql.Boolean:
		if v == true {
			return []byte{1}
		}
		return []byte{0}
	case sql.Short:
		return be.AppendUint16(nil, uint16(asInt(v)))
	case sql.Integer:
		return be.AppendUint32(nil, uint32(asInt(v)))
	case sql.Bigint:
		return be.AppendUint64(nil, uint64(asInt(v)))
	case sql.Real:
		return be.AppendUint32(nil, math.Float32bits(float32(asFloat(v))))
	case sql.Double:
		return be.AppendUint64(nil, math.Float64bits(asFloat(v)))
	case sql.Timestamp:
		return be.AppendUint64(nil, uint64(time.UnixMilli(asInt(v)).Sub(pgEpoch).Microseconds()))
	}
	return []byte(textOf(v))
}

// decodeParam reads a bound parameter.
func decodeParam(oid uint32, format int16, raw []byte) (any, *model.Error) {
	if raw == nil {
		return nil, nil
	}
	t := sql.TypeByOID(oid)
	if t == nil {
		t = sql.Text
	}
	if format == 0 {
		return sql.Convert(string(raw), t)
	}
	v, ok := decodeBinary(t, raw)
	if !ok {
		return nil, model.ErrIllegalArgument("cannot read a binary parameter of type %s", t.Name)
	}
	return v, nil
}

func decodeBinary(t *sql.Type, raw []byte) (any, bool) {
	be := binary.BigEndian
	if t.Elem != nil {
		if len(raw) < 12 {
			return nil, false
		}
		dims, elem := be.Uint32(raw), sql.TypeByOID(be.Uint32(raw[8:]))
		out := []any{}
		if dims == 0 {
			return out, true
		}
		if dims != 1 || len(raw) < 20 || elem == nil {
			return nil, false
		}
		n := int(be.Uint32(raw[12:]))
		raw = raw[20:]
		for i := 0; i < n; i++ {
			if len(raw) < 4 {
				return nil, false
			}
			size := int32(be.Uint32(raw))
			raw = raw[4:]
			if size < 0 {
				out = append(out, nil)
				continue
			}
			if len(raw) < int(size) {
				return nil, false
			}
			v, ok := decodeBinary(elem, raw[:size])
			if !ok {
				return nil, false
			}
			out = append(out, v)
			raw = raw[size:]
		}
		return out, true
	}
	switch {
	case t == sql.Boolean && len(raw) == 1:
		return raw[0] != 0, true
	case t == sql.Short && len(raw) == 2:
		return int64(int16(be.Uint16(raw))), true
	case t == sql.Integer && len(raw) == 4:
		return int64(int32(be.Uint32(raw))), true
	case t == sql.Bigint && len(raw) == 8:
		return int64(be.Uint64(raw)), true
	case t == sql.Real && len(raw) == 4:
		return float64(math.Float32frombits(be.Uint32(raw))), true
	case t == sql.Double && len(raw) == 8:
		return math.Float64frombits(be.Uint64(raw)), true
	case t == sql.Timestamp && len(raw) == 8:
		return pgEpoch.Add(time.Duration(int64(be.Uint64(raw))) * time.Microsecond).UnixMilli(), true
	case t == sql.Text:
		return string(raw), true
	case t == sql.Object:
		v, err := sql.Convert(string(raw), sql.Object)
		return v, err == nil
	}
	return nil, false
}
