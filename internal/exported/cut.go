package exported

import (
	"bytes"
	"crypto/rand"
	"strconv"

	"stevedore.dev/stevedore/internal/names"
)

// cutFrom is how long content has to be to be cut out.
const cutFrom = 4 << 10

// withoutContent cuts the content of records out of a text, and leaves a mark of it.
// Nearly all of a file is content, a quoted text for each record: the rest is small enough
// to be parsed, which takes a hundred times the memory of the text. Lines keep their
// numbers.
//
// What is cut out is one quoted text, and all that follows it stays. If it stands where YAML
// sees something else, its mark is what YAML sees, and no record has it as its content.
func withoutContent(text []byte) (rest []byte, cut map[string]string) {
	cut = map[string]string{}
	// Nobody who writes a file knows it: a mark in it would stand for another's content.
	mark := rand.Text() + "-"
	for len(text) > 0 {
		before, quoted, after := contentOf(text)
		rest = append(rest, before...)
		if quoted != nil {
			name := mark + strconv.Itoa(len(cut))
			cut[name] = string(quoted)
			rest = append(rest, name...)
			rest = append(rest, bytes.Repeat([]byte("\n"), bytes.Count(quoted, []byte("\n")))...)
		}
		text = after
	}
	return rest, cut
}

// contentOf splits a text behind its first line, or around the content that the line
// begins. A content that does not end is the end of what can be cut.
func contentOf(text []byte) (before, quoted, after []byte) {
	end := bytes.IndexByte(text, '\n') + 1
	if end == 0 {
		end = len(text)
	}
	line := text[:end]
	colon := bytes.Index(line[:min(end, cutFrom)], []byte(": "))
	if colon < 0 || !isContent(line[:colon]) {
		return line, nil, text[end:]
	}
	start := colon + len(": ")
	length, ends := quotedLength(text[start:])
	switch {
	case !ends:
		return text, nil, nil
	case length < cutFrom:
		return line, nil, text[end:]
	}
	return text[:start], text[start : start+length], text[start+length:]
}

// isContent says whether a key names the content of a record, as YAML or JSON writes it.
func isContent(key []byte) bool {
	return string(bytes.Trim(bytes.TrimLeft(key, " "), `"'`)) == names.DataKey
}

// quotedLength is how long the quoted text is that a text begins with; 0 where it begins
// with none.
func quotedLength(text []byte) (length int, ends bool) {
	if len(text) == 0 || text[0] != '\'' && text[0] != '"' {
		return 0, true
	}
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case text[i] != quote:
		case quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++ // a quote of its own, written twice
		default:
			return i + 1, true
		}
	}
	return 0, false
}
