package gates

import (
	"slices"
	"strings"
)

// What sys.jobs shows of a statement is the whole message of its client: with the simple query protocol that are all
// statements of it, and a COPY beside an OPTIMIZE TABLE has the key of a bucket in its URI. So a message is taken apart, and of
// a statement only the names of tables are kept.

// token is a word of a statement. Of a text, which may hold a secret, only that it is there is kept.
type token struct {
	// text is a name or a keyword as it was written, or one character of anything else; "" for a text.
	text string
	name bool
}

// tablesOf are the tables that the statements of a message name which begin with these words, in small letters, and have
// the later ones; is says whether there is such a statement.
func tablesOf(message string, words []string, later ...string) (tables []string, is bool) {
	for _, statement := range statementsOf(message) {
		if len(statement) < len(words) || !slices.EqualFunc(statement[:len(words)], words, token.says) {
			continue
		}
		rest := statement[len(words):]
		if !slices.ContainsFunc(later, func(word string) bool { return !hasWord(rest, word) }) {
			is = true
			tables = append(tables, namesOf(rest)...)
		}
	}
	return tables, is
}

// says compares with a word in small letters.
func (t token) says(word string) bool { return strings.ToLower(t.text) == word }

// hasWord says whether a word is in a statement, and not in brackets: a condition may have any.
func hasWord(tokens []token, word string) bool {
	depth := 0
	for _, t := range tokens {
		switch {
		case t.text == "(":
			depth++
		case t.text == ")":
			depth--
		case depth == 0 && t.says(word):
			return true
		}
	}
	return false
}

// namesOf are the names that a list of tables begins with: "doc.a, b" of `doc.a, b PARTITION (p = 1)`.
func namesOf(tokens []token) (names []string) {
	for len(tokens) > 0 && tokens[0].name {
		name := tokens[0].text
		for tokens = tokens[1:]; len(tokens) > 1 && tokens[0].text == "." && tokens[1].name; tokens = tokens[2:] {
			name += "." + tokens[1].text
		}
		names = append(names, name)
		if len(tokens) == 0 || tokens[0].text != "," {
			break
		}
		tokens = tokens[1:]
	}
	return names
}

// statementsOf takes a message apart where CrateDB does (SqlBaseLexer.g4).
func statementsOf(message string) [][]token {
	all := [][]token{nil}
	for rest := message; rest != ""; {
		var t token
		size := skipped(rest)
		if size == 0 {
			t, size = tokenOf(rest)
			if t.text == ";" {
				all = append(all, nil)
			} else {
				all[len(all)-1] = append(all[len(all)-1], t)
			}
		}
		rest = rest[size:]
	}
	return all
}

// skipped is how long the space or comment is that a text begins with.
func skipped(text string) int {
	switch {
	case strings.HasPrefix(text, "--"):
		if end := strings.IndexAny(text, "\r\n"); end >= 0 {
			return end
		}
		return len(text)
	case strings.HasPrefix(text, "/*"):
		return through(text, 2, "*/")
	}
	return len(text) - len(strings.TrimLeft(text, " \t\r\n"))
}

// tokenOf is what a text begins with, and how long that is.
func tokenOf(text string) (t token, size int) {
	switch c := text[0]; {
	case c == '\'':
		return token{}, quoted(text, 1, false)
	case (c == 'e' || c == 'E') && strings.HasPrefix(text[1:], "'"):
		return token{}, quoted(text, 2, true)
	case c == '"' || c == '`':
		size = quoted(text, 1, false)
		return token{text: text[:size], name: true}, size
	case c == '$':
		if end := strings.IndexByte(text[1:], '$'); end >= 0 && strings.IndexFunc(text[1:1+end], notOfAName) < 0 {
			tag := text[:end+2]
			return token{}, through(text, len(tag), tag)
		}
		return token{text: "$"}, 1
	case notOfAName(rune(c)) && c < 0x80:
		return token{text: text[:1]}, 1
	}
	if size = strings.IndexFunc(text, notOfAName); size < 0 {
		size = len(text)
	}
	size = max(size, 1)
	return token{text: text[:size], name: true}, size
}

func notOfAName(r rune) bool {
	return r < 0x80 && !strings.ContainsRune("_@0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", r)
}

// through is how long a text is to the end of what ends it, or all of it.
func through(text string, from int, end string) int {
	if i := strings.Index(text[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(text)
}

// quoted is how long a text is to the quote that ends it: a quote that is doubled, or escaped, does not.
func quoted(text string, from int, escapes bool) int {
	quote := text[from-1]
	for i := from; i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\':
			i++
		case text[i] == quote && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return len(text)
}
