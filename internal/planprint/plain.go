package planprint

import (
	"fmt"
	"strings"
	"unicode"

	"stevedore.dev/stevedore/internal/plaintext"
)

// plain keeps a text on one line and harmless, and shows what is drawn over its
// neighbours or as nothing, too.
func plain(text string) string {
	if ordinary(text) {
		return text
	}
	if strings.ContainsFunc(text, drawsOver) {
		var b strings.Builder
		for _, part := range strings.SplitAfter(text, "") {
			switch r := []rune(part); {
			case len(r) != 1 || !drawsOver(r[0]):
				b.WriteString(part)
			case r[0] <= 0xffff:
				fmt.Fprintf(&b, `\u%04x`, r[0])
			default:
				fmt.Fprintf(&b, `\U%08x`, r[0])
			}
		}
		text = b.String()
	}
	return plaintext.Line(text)
}

// ordinary says quickly of most texts that there is nothing to do.
func ordinary(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return !strings.Contains(text, "##") && !strings.Contains(text, "::")
}

// invisible are controls, marks of direction, unusual spaces, private and
// unassigned code points, and what draws over others.
func invisible(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return !unicode.IsPrint(r) || drawsOver(r)
}

// drawsOver is true of what is drawn over its neighbours, or as nothing.
func drawsOver(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0:
		return true
	}
	return r >= 0x300 && unicode.Is(unicode.M, r)
}
