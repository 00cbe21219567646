package planprint

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain keeps a text on one line and harmless: what a terminal would act on,
// what turns the direction of writing or has no width at all is written as an
// escape that people can see. So is the mark of the command that a GitHub runner
// obeys anywhere in a line of a log.
func plain(text string) string {
	safe := true
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' || c > '~' {
			safe = false
			break
		}
	}
	if safe {
		return strings.ReplaceAll(text, "##[", `##\[`)
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case invisible(r):
			escape(&b, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return strings.ReplaceAll(b.String(), "##[", `##\[`)
}

func escape(b *strings.Builder, r rune) {
	switch {
	case r < 0x80:
		fmt.Fprintf(b, `\x%02x`, r)
	case r <= 0xffff:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// invisible are controls, marks of direction, unusual spaces, private and
// unassigned code points, and what is drawn over its neighbours or as nothing.
func invisible(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0:
		return true
	}
	return !unicode.IsPrint(r) || unicode.Is(unicode.M, r)
}
