package reports

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the chats into docs/reports.md and deploy/daemon/deployment.yaml")

func TestEachChatIsWhereItIsConfigured(t *testing.T) {
	var section, environment strings.Builder
	for _, f := range chats() {
		variable := f.variables[0] + "_URL"
		fmt.Fprintf(&section, "### %s\n\n%s\n\n```sh\n# %s\nkubectl -n stevedore-system create secret generic stevedore-%s --from-literal=url=https://…\n```\n\n", f.title, f.says, variable, f.name)
		fmt.Fprintf(&environment, "        - name: %s\n          valueFrom: {secretKeyRef: {name: stevedore-%s, key: url, optional: true}}\n", variable, f.name)
	}
	for _, page := range []struct{ path, begin, made, end string }{
		{"../../docs/reports.md", "<!-- written by `go test ./internal/reports -update` -->\n", section.String(), "<!-- end of what is written -->\n"},
		{"../../deploy/daemon/deployment.yaml", "        # The chats: written by `go test ./internal/reports -update`.\n", environment.String(), "        # The end of the chats.\n"},
	} {
		text, err := os.ReadFile(page.path)
		require.NoError(t, err)
		before, rest, ok := strings.Cut(string(text), page.begin)
		require.True(t, ok, "%s has lost its mark %q", page.path, page.begin)
		_, after, ok := strings.Cut(rest, page.end)
		require.True(t, ok, "%s has lost its mark %q", page.path, page.end)
		want := before + page.begin + page.made + page.end + after
		if *update {
			require.NoError(t, os.WriteFile(page.path, []byte(want), 0o644))
			continue
		}
		require.Equal(t, want, string(text), "run go test ./internal/reports -update")
	}
}
