// Package docs holds the manual; its tests hold the manual against the code.
package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachDirectDependencyHasAReason(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	var direct []string
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(line)
		if len(fields) == 2 && strings.HasPrefix(fields[1], "v") && strings.HasPrefix(line, "\t") {
			direct = append(direct, fields[0])
		}
	}
	require.NotEmpty(t, direct)
	page, err := os.ReadFile("dependencies.md")
	require.NoError(t, err)
	var rows []string
	for _, match := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, match[1])
	}
	slices.Sort(direct)
	slices.Sort(rows)
	assert.Equal(t, direct, rows)
}

func TestEachLinkBetweenPagesLeadsSomewhere(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), match[1]))
			assert.NoError(t, err, "%s links to %s", page, match[1])
		}
	}
}

// Data flows one way: a package knows those to its left by their results only.
func TestPackagesKnowOnlyWhatStandsBeforeThem(t *testing.T) {
	const module = "stevedore.dev/stevedore/"
	for _, c := range []struct{ of, never string }{
		{"sources/...", `^k8s\.io/|^stevedore\.dev/stevedore/(render|apply|ops|internal/(daemon|record|reports))`},
		{"render/...", `^k8s\.io/client-go|^stevedore\.dev/stevedore/(apply|ops|internal/(daemon|record|reports))`},
		{"apply/...", `^stevedore\.dev/stevedore/(sources|render|ops|internal/(daemon|reports))`},
		{"ops", `^k8s\.io/client-go|^github\.com/jackc|^stevedore\.dev/stevedore/(sources|internal/(daemon|reports))`},
		{"ops/gates", `^k8s\.io/client-go|^github\.com/jackc`},
		{"ops/execute", `^k8s\.io/client-go|^github\.com/jackc`},
		{"internal/cratesim/model", `^net$|^net/http$|^os/exec$|^github\.com/jackc|^k8s\.io`},
	} {
		out, err := exec.Command("go", "list", "-deps", module+c.of).Output()
		require.NoError(t, err, c.of)
		for _, dependency := range strings.Fields(string(out)) {
			assert.NotRegexp(t, c.never, dependency, "%s must not reach %s", c.of, dependency)
		}
	}
}
