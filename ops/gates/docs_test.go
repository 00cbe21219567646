package gates

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table of rules into docs/safety.md")

const (
	document = "../../docs/safety.md"
	begin    = "<!-- rules: written by `go test ./ops/gates -update` -->\n"
	end      = "<!-- end of rules -->\n"
)

func TestTheDocumentationListsEveryRule(t *testing.T) {
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "%s has lost its mark %q", document, begin)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "%s has lost its mark %q", document, end)
	want := before + begin + table() + end + after
	if *update {
		require.NoError(t, os.WriteFile(document, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "run go test ./ops/gates -update")
}

func table() string {
	var b strings.Builder
	b.WriteString("| name | kind | when |\n|---|---|---|\n")
	for _, r := range All {
		fmt.Fprintf(&b, "| `%s` | %s | %s (%s) |\n", r.Name, r.Kind, r.Says, r.Source)
	}
	return b.String()
}
