package sql

import (
	"fmt"
	"strings"
	"unicode"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

type tokenKind int

const (
	tokEnd tokenKind = iota
	tokIdent
	tokQuoted
	tokString
	tokNumber
	tokParam
	tokOp
)

type token struct {
	kind tokenKind
	text string // identifiers in lower case unless quoted
	raw  string
	pos  int
}

// errSyntax words a parse error as CrateDB's ANTLR parser begins it.
func errSyntax(v model.Version, src string, pos int, near string) *model.Error {
	if near == "" {
		near = "<EOF>"
	}
	return errAt(v, src, pos, "mismatched input '%s'", near)
}

func errAt(v model.Version, src string, pos int, format string, arguments ...any) *model.Error {
	line, col := 1, pos+1
	for i, r := range src[:min(pos, len(src))] {
		if r == '\n' {
			line++
			col = pos - i
		}
	}
	return model.ErrSyntax(v, fmt.Sprintf("line %d:%d: %s", line, col, fmt.Sprintf(format, arguments...)))
}

func lex(v model.Version, src string) ([]token, *model.Error) {
	var out []token
	for i := 0; i < len(src); {
		c := src[i]
		start := i
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case strings.HasPrefix(src[i:], "--"):
			for i < len(src) && src[i] != '\n' {
				i++
			}
		case strings.HasPrefix(src[i:], "/*"):
			end := strings.Index(src[i+2:], "*/")
			if end < 0 {
				return nil, errSyntax(v, src, i, "/*")
			}
			i += end + 4
		case c == '\'' || c == '"':
			var b strings.Builder
			i++
			for {
				if i >= len(src) {
					return nil, errSyntax(v, src, start, string(c))
				}
				if src[i] == c {
					if i+1 < len(src) && src[i+1] == c {
						b.WriteByte(c)
						i += 2
						continue
					}
					i++
					break
				}
				b.WriteByte(src[i])
				i++
			}
			kind := tokString
			if c == '"' {
				kind = tokQuoted
			}
			out = append(out, token{kind, b.String(), src[start:i], start})
		case c >= '0' && c <= '9' || c == '.' && i+1 < len(src) && src[i+1] >= '0' && src[i+1] <= '9':
			for i < len(src) && (src[i] >= '0' && src[i] <= '9' || src[i] == '.' || src[i] == 'e' || src[i] == 'E') {
				i++
			}
			out = append(out, token{tokNumber, src[start:i], src[start:i], start})
		case c == '$' && i+1 < len(src) && src[i+1] >= '0' && src[i+1] <= '9':
			i++
			for i < len(src) && src[i] >= '0' && src[i] <= '9' {
				i++
			}
			out = append(out, token{tokParam, src[start+1 : i], src[start:i], start})
		case c == '?':
			i++
			out = append(out, token{tokParam, "", "?", start})
		case c == '_' || c >= 0x80 || unicode.IsLetter(rune(c)):
			for i < len(src) && (src[i] == '_' || src[i] == '$' || src[i] == '@' || src[i] >= 0x80 || src[i] >= '0' && src[i] <= '9' || unicode.IsLetter(rune(src[i]))) {
				i++
			}
			out = append(out, token{tokIdent, strings.ToLower(src[start:i]), src[start:i], start})
		default:
			op := string(c)
			for _, two := range []string{"::", "<=", ">=", "<>", "!=", "||", "=>"} {
				if strings.HasPrefix(src[i:], two) {
					op = two
				}
			}
			if !strings.Contains("()[]{},;.=<>+-*/%:|~", op[:1]) && op != "!=" {
				return nil, errSyntax(v, src, i, op)
			}
			i += len(op)
			out = append(out, token{tokOp, op, op, start})
		}
	}
	return append(out, token{kind: tokEnd, pos: len(src)}), nil
}
