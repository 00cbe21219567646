package planprint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"stevedore.dev/stevedore/ops/plan"
)

// JSON writes the plans that differ, say what moved or have a warning, as
// docs/plan.schema.json says.
func JSON(w io.Writer, plans []plan.Plan) error {
	return encode(w, slices.DeleteFunc(Fit(plans), func(p plan.Plan) bool {
		return p.Empty() && p.Moves() == 0 && len(p.Warnings) == 0
	}))
}

// A runner obeys what stands so anywhere in its log: ##[command], ##vso[…].
var runnersMark = regexp.MustCompile(`##([A-Za-z]*\[)`)

// encode writes JSON that may be looked at: what a terminal would act on, or what
// cannot be seen, is written as JSON's own escape, which reads back as it was.
func encode(w io.Writer, value any) error {
	var made bytes.Buffer
	encoder := json.NewEncoder(&made)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	text := runnersMark.ReplaceAll(made.Bytes(), []byte(`#\u0023$1`))
	var out bytes.Buffer
	out.Grow(len(text))
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == '\n' || !invisible(r):
			out.Write(text[i : i+size])
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		}
		i += size
	}
	_, err := w.Write(out.Bytes())
	return err
}
