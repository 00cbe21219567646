package gates

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what is made from the rules into docs/gates.md and docs/troubleshooting.md")

const (
	begin = "<!-- written by `go test ./ops/gates -update` -->\n"
	end   = "<!-- end of what is written -->\n"
)

func TestTheDocumentationListsEveryRule(t *testing.T) {
	for _, page := range []struct {
		path string
		made func() string
	}{
		{"../../docs/gates.md", table},
		{"../../docs/troubleshooting.md", messages},
	} {
		text, err := os.ReadFile(page.path)
		require.NoError(t, err)
		before, rest, ok := strings.Cut(string(text), begin)
		require.True(t, ok, "%s has lost its mark %q", page.path, begin)
		_, after, ok := strings.Cut(rest, end)
		require.True(t, ok, "%s has lost its mark %q", page.path, end)
		want := before + begin + page.made() + end + after
		if *update {
			require.NoError(t, os.WriteFile(page.path, []byte(want), 0o644))
			continue
		}
		require.Equal(t, want, string(text), "run go test ./ops/gates -update")
	}
}

// What a person reads at night says what to do.
func TestEachRuleSaysWhatToDoAndHasAMessage(t *testing.T) {
	examples := examples()
	for _, r := range All {
		assert.NotEmpty(t, examples[r.Name], "%s has no situation in the table of tests in which it speaks", r.Name)
		assert.True(t, strings.HasSuffix(r.Do, "."), "%s: Do is a sentence", r.Name)
	}
}

func examples() map[string]string {
	first := map[string]string{}
	for _, s := range situations() {
		if s.want && first[s.rule.Name] == "" {
			first[s.rule.Name] = s.got.reason.Message
		}
	}
	return first
}

func table() string {
	var b strings.Builder
	b.WriteString("| name | kind | when | from |\n|---|---|---|---|\n")
	for _, r := range All {
		fmt.Fprintf(&b, "| [`%s`](troubleshooting.md#%s) | %s | %s | %s |\n", r.Name, r.Name, kind(r), r.Says, r.Source)
	}
	return b.String()
}

func messages() string {
	var b strings.Builder
	examples := examples()
	for _, r := range All {
		fmt.Fprintf(&b, "### %s\n\n> %s\n\n%s %s\n\n**What to do.** %s\n\n", r.Name, examples[r.Name], meaning[kind(r)], r.Says, r.Do)
	}
	return b.String()
}

var meaning = map[string]string{
	"waits":   "*Waits.*",
	"refuses": "*Refuses.*",
	"informs": "*Informs.*",
}

func kind(r Rule) string {
	if r.Informs && r.Kind == Waits {
		return "informs"
	}
	return r.Kind.String()
}
