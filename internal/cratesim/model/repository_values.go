package model

// null stands for a value that is NULL: gob encodes no nil.
type null bool

// packed is a list of values without nil in it, unpacked the list again. Neither shares
// anything with what it was made of.
func packed(list []any) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = pack(v)
	}
	return out
}

func pack(v any) any {
	switch v := v.(type) {
	case nil:
		return null(true)
	case []any:
		return packed(v)
	case map[string]any:
		out := map[string]any{}
		for k, each := range v {
			out[k] = pack(each)
		}
		return out
	}
	return v
}

func unpacked(list []any) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = unpack(v)
	}
	return out
}

func unpack(v any) any {
	switch v := v.(type) {
	case null:
		return nil
	case []any:
		return unpacked(v)
	case map[string]any:
		out := map[string]any{}
		for k, each := range v {
			out[k] = unpack(each)
		}
		return out
	}
	return v
}

// packRows and unpackRows are the same of rows.
func packRows(rows [][]any) [][]any {
	out := make([][]any, len(rows))
	for i, r := range rows {
		out[i] = packed(r)
	}
	return out
}

func unpackRows(rows [][]any) [][]any {
	out := make([][]any, len(rows))
	for i, r := range rows {
		out[i] = unpacked(r)
	}
	return out
}
