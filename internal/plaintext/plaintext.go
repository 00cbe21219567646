// Package plaintext makes text that a stranger had a hand in harmless to print:
// a file's name in an error can carry what a terminal, or a CI runner that reads
// its job's log, would act on.
package plaintext

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line keeps a text on one line: what does not print, or turns the direction of
// writing, is written as an escape that a person can see.
func Line(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += size
	}
	return withoutCommands(b.String())
}

// Text is Line for each line of a text.
func Text(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Line(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Runners obey these marks in a log: "::command::" at a line's beginning (GitHub,
// Gitea), "##[command]" and "##vso[…]" anywhere (GitHub, Azure), "##teamcity[…]".
var (
	atBeginning = regexp.MustCompile(`^( *):(:)`)
	anywhere    = regexp.MustCompile(`##([A-Za-z]*\[)`)
)

func withoutCommands(line string) string {
	line = atBeginning.ReplaceAllString(line, `$1\x3a$2`)
	return anywhere.ReplaceAllString(line, `#\x23$1`)
}
