package shell

import (
	"errors"
	"fmt"
	"strings"
)

// scan reads the next token at p.at.
func (p *parser) scan() (*token, error) {
	for p.at < len(p.source) {
		switch c := p.source[p.at]; {
		case c == ' ' || c == '\t' || c == '\r':
			p.at++
		case c == '\\' && strings.HasPrefix(p.source[p.at:], "\\\n"):
			p.at += 2
		case c == '#':
			for p.at < len(p.source) && p.source[p.at] != '\n' {
				p.at++
			}
		case c == '\n':
			p.at++
			return &token{operator: ";"}, nil
		default:
			for _, operator := range []string{
				"2>>", "1>>", "2>&", "1>&", "2>", "1>", ">>", ">&", "&&", "||", ">", "<", ";", "|", "&", "(", ")",
			} {
				if strings.HasPrefix(p.source[p.at:], operator) {
					p.at += len(operator)
					return &token{operator: operator}, nil
				}
			}
			scanned, err := p.scanWord(false)
			return &token{word: scanned, isWord: true}, err
		}
	}
	return &token{operator: "end"}, nil
}

// scanWord reads one word; with whole, everything that is left is one word
// read as if it stood between double quotes.
func (p *parser) scanWord(whole bool) (word, error) {
	var (
		parts   word
		current strings.Builder
		began   bool
		quoted  bool
	)
	flush := func() {
		if current.Len() > 0 || began {
			parts = append(parts, part{kind: literal, text: current.String(), quoted: quoted})
		}
		current.Reset()
		began = false
	}
	inDouble := whole
	quoted = whole
	for p.at < len(p.source) {
		c := p.source[p.at]
		switch {
		case c == '\\':
			p.at++
			if p.at >= len(p.source) {
				current.WriteByte('\\')
				break
			}
			escaped := p.source[p.at]
			if inDouble && !strings.ContainsRune("$`\"\\\n", rune(escaped)) {
				current.WriteByte('\\')
			}
			if escaped != '\n' {
				current.WriteByte(escaped)
			}
			p.at++
		case c == '\'' && !inDouble:
			end := strings.IndexByte(p.source[p.at+1:], '\'')
			if end < 0 {
				return nil, errors.New("a single quote is not closed")
			}
			flush()
			parts = append(parts, part{kind: literal, text: p.source[p.at+1 : p.at+1+end], quoted: true})
			p.at += end + 2
		case c == '"' && !whole:
			flush()
			inDouble = !inDouble
			quoted = inDouble
			began = inDouble
			p.at++
		case c == '$':
			expanded, ok, err := p.scanDollar(inDouble)
			if err != nil {
				return nil, err
			}
			if !ok {
				current.WriteByte('$')
				p.at++
				continue
			}
			flush()
			parts = append(parts, expanded)
		case c == '`':
			end := strings.IndexByte(p.source[p.at+1:], '`')
			if end < 0 {
				return nil, errors.New("a backquote is not closed")
			}
			flush()
			parts = append(parts, part{kind: substitution, text: p.source[p.at+1 : p.at+1+end], quoted: inDouble})
			p.at += end + 2
		case !inDouble && strings.ContainsRune(" \t\r\n;&|<>()", rune(c)):
			flush()
			return parts, nil
		default:
			current.WriteByte(c)
			p.at++
		}
	}
	if inDouble && !whole {
		return nil, errors.New("a double quote is not closed")
	}
	flush()
	return parts, nil
}

// scanDollar reads $NAME, ${NAME}, ${NAME:-default} and $(script); ok is false
// when the dollar stands for itself.
func (p *parser) scanDollar(quoted bool) (part, bool, error) {
	rest := p.source[p.at+1:]
	switch {
	case strings.HasPrefix(rest, "(("):
		return part{}, false, errors.New("arithmetic is not supported here")
	case strings.HasPrefix(rest, "("):
		end, err := closing(rest)
		if err != nil {
			return part{}, false, err
		}
		p.at += end + 2
		return part{kind: substitution, text: rest[1:end], quoted: quoted}, true, nil
	case strings.HasPrefix(rest, "{"):
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			return part{}, false, errors.New("${ is not closed")
		}
		name, fallback, _ := strings.Cut(rest[1:end], ":-")
		if !isName(name) {
			return part{}, false, fmt.Errorf("${%s} is not supported here", rest[1:end])
		}
		p.at += end + 2
		return part{kind: variable, text: name, other: fallback, quoted: quoted}, true, nil
	case strings.HasPrefix(rest, "?"):
		p.at += 2
		return part{kind: variable, text: "?", quoted: quoted}, true, nil
	}
	length := 0
	for length < len(rest) && isName(rest[:length+1]) {
		length++
	}
	if length == 0 {
		return part{}, false, nil
	}
	p.at += length + 1
	return part{kind: variable, text: rest[:length], quoted: quoted}, true, nil
}

// closing is the index of the parenthesis that closes text[0].
func closing(text string) (int, error) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\'', '"':
			end := strings.IndexByte(text[i+1:], text[i])
			if end < 0 {
				return 0, errors.New("a quote is not closed")
			}
			i += end + 1
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i, nil
			}
		}
	}
	return 0, errors.New("$( is not closed")
}
