package located

import (
	"strconv"
	"strings"
)

// Format writes a path of keys (string) and indexes (int) as a person would:
// spec.nodes.data[0].replicas, metadata.labels["a.b/c"].
func Format(path []any) string {
	var b strings.Builder
	for _, part := range path {
		switch p := part.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(p) + "]")
		case string:
			switch {
			case p == "-":
				b.WriteString("[-]") // the end of a list, in a JSON pointer
			case !plain(p):
				b.WriteString("[" + strconv.Quote(p) + "]")
			case b.Len() > 0:
				b.WriteString("." + p)
			default:
				b.WriteString(p)
			}
		}
	}
	return b.String()
}

// generic writes a path with every index as [], as Index has it.
func generic(path []any) string {
	var b strings.Builder
	for _, part := range path {
		switch p := part.(type) {
		case int:
			b.WriteString("[]")
		case string:
			if b.Len() > 0 {
				b.WriteString(".")
			}
			b.WriteString(p)
		}
	}
	return b.String()
}

func plain(key string) bool {
	if key == "" {
		return false
	}
	for _, r := range key {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '$' {
			return false
		}
	}
	return true
}

// join copies, since paths are kept by what was reported.
func join(path []any, part any) []any {
	next := make([]any, len(path)+1)
	copy(next, path)
	next[len(path)] = part
	return next
}
