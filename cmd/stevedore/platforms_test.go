package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// platforms are those that docs/install.md says it is built for.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/arm64"}

func forPlatform(t *testing.T, platform string, args ...string) string {
	t.Helper()
	system, architecture, _ := strings.Cut(platform, "/")
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+architecture, "CGO_ENABLED=0")
	out, err := command.CombinedOutput()
	require.NoError(t, err, "go %s for %s: %s", strings.Join(args, " "), platform, out)
	return string(out)
}

// A package of which build tags leave nothing is found without compiling any.
func TestEachPackageHasFilesForEachPlatform(t *testing.T) {
	for _, platform := range platforms {
		t.Run(platform, func(t *testing.T) {
			assert.Empty(t, strings.TrimSpace(forPlatform(t, platform, "list", "-e", "-deps", "-f", "{{with .Error}}{{.}}\n{{end}}", ".")))
		})
	}
}

// Compiling all for another platform takes minutes at first.
func TestSoakTheBinaryIsBuiltForEachPlatform(t *testing.T) {
	if os.Getenv("STEVEDORE_SOAK") == "" {
		t.Skip("compiles everything for other platforms: STEVEDORE_SOAK=1 runs it")
	}
	for _, platform := range platforms {
		t.Run(platform, func(t *testing.T) {
			binary := filepath.Join(t.TempDir(), "stevedore")
			forPlatform(t, platform, "build", "-o", binary, ".")
			info, err := os.Stat(binary)
			require.NoError(t, err)
			assert.Positive(t, info.Size())
		})
	}
}

func TestThePageNamesThePlatforms(t *testing.T) {
	page, err := os.ReadFile("../../docs/install.md")
	require.NoError(t, err)
	for _, platform := range platforms {
		assert.Contains(t, string(page), "`"+platform+"`")
	}
}
