package model

import (
	"regexp"
	"strconv"
	"strings"
)

// rename gives a relation its new name.
func (s *RestoreSpec) rename(r Relation) (Relation, *Error) {
	if s.SchemaPattern == "" && s.SchemaReplacement == "" && s.TablePattern == "" && s.TableReplacement == "" {
		return r, nil
	}
	schema, err := replaceAll(r.Schema, orDefault(s.SchemaPattern, "(.+)"), orDefault(s.SchemaReplacement, "$1"))
	if err != nil {
		return r, err
	}
	name, err := replaceAll(r.Name, orDefault(s.TablePattern, "(.+)"), orDefault(s.TableReplacement, "$1"))
	return Relation{schema, name}, err
}

func orDefault(v, def string) string {
	if v == "" {
		return def
	}
	return v
}

// replaceAll is Java's String.replaceAll: unlike Go, it matches the nothing that is left
// after a match, so that ".*" is replaced twice.
func replaceAll(text, pattern, replacement string) (string, *Error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", ErrIllegalArgument("%s", err.Error())
	}
	var out strings.Builder
	at, last := 0, 0
	for at <= len(text) {
		m := re.FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		out.WriteString(text[last : at+m[0]])
		if err := expandReplacement(&out, text[at:], replacement, m); err != nil {
			return "", err
		}
		last = at + m[1]
		if at = last; m[0] == m[1] {
			at++
			if last < len(text) {
				out.WriteByte(text[last])
				last++
			}
		}
	}
	if last < len(text) {
		out.WriteString(text[last:])
	}
	return out.String(), nil
}

// expandReplacement writes a replacement with its groups: $1, and a backslash before what
// is meant as it is.
func expandReplacement(out *strings.Builder, text, replacement string, m []int) *Error {
	for i := 0; i < len(replacement); i++ {
		switch ch := replacement[i]; {
		case ch == '\\' && i+1 < len(replacement):
			i++
			out.WriteByte(replacement[i])
		case ch == '$':
			end := i + 1
			for end < len(replacement) && replacement[end] >= '0' && replacement[end] <= '9' {
				if group, _ := strconv.Atoi(replacement[i+1 : end+1]); end > i+1 && group >= len(m)/2 {
					break
				}
				end++
			}
			group, err := strconv.Atoi(replacement[i+1 : end])
			if err != nil {
				return ErrIllegalArgument("Illegal group reference")
			}
			if group >= len(m)/2 {
				return errorOf("IndexOutOfBoundsException", "XX000", 500, 5000, "No group %d", group)
			}
			if m[2*group] >= 0 {
				out.WriteString(text[m[2*group]:m[2*group+1]])
			}
			i = end - 1
		default:
			out.WriteByte(ch)
		}
	}
	return nil
}
