package sql

import (
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// Split cuts a simple query into its statements; what does not lex is one statement, for
// the parser to refuse.
func Split(src string) []string {
	toks, err := lex(model.Version{}, src)
	if err != nil {
		return []string{src}
	}
	var out []string
	from := 0
	for _, t := range toks {
		if t.kind == tokOp && t.text == ";" {
			out = append(out, src[from:t.pos])
			from = t.pos + 1
		}
	}
	if rest := src[from:]; strings.TrimSpace(rest) != "" || len(out) == 0 {
		out = append(out, rest)
	}
	return out
}
