package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const movingIn = "../../docs/moving-in.md"

// Whoever is refused looks the name up: each is a row, and no row is of a name that there is not.
func TestEachRefusalOfAnAdoptionIsInTheManual(t *testing.T) {
	var names []string
	files, err := filepath.Glob("../../ops/adopt/*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range regexp.MustCompile(`\bsay\("([a-z-]+)",`).FindAllStringSubmatch(string(text), -1) {
			names = append(names, match[1])
		}
	}
	require.Greater(t, len(names), 20)
	slices.Sort(names)
	page, err := os.ReadFile(movingIn)
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Reasons against it\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var rows []string
	for _, match := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(section, -1) {
		rows = append(rows, match[1])
	}
	slices.Sort(rows)
	assert.Equal(t, slices.Compact(names), rows)
}

// movingInCommands are those of stevedore's in the blocks of shell of the page, as arguments.
func movingInCommands(t *testing.T) (all [][]string) {
	t.Helper()
	page, err := os.ReadFile(movingIn)
	require.NoError(t, err)
	command := regexp.MustCompile(`(?:^|do )stevedore ([^;|&]+)`)
	for _, block := range regexp.MustCompile("(?s)\n```sh\n(.*?)```\n").FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			for _, match := range command.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
				all = append(all, strings.Fields(strings.NewReplacer(`"`, "", "$c", "orders").Replace(match[1])))
			}
		}
	}
	require.Greater(t, len(all), 12)
	return all
}

func TestEachCommandForMovingInIsOneThatThereIs(t *testing.T) {
	for _, args := range movingInCommands(t) {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			cmd, rest, err := newRoot().Find(args)
			require.NoError(t, err)
			require.NoError(t, cmd.ParseFlags(rest))
			assert.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()))
			assert.True(t, cmd.Runnable())
		})
	}
}

// What writes nothing runs on the recorded cluster, one after the other.
func TestTheCommandsForMovingInThatWriteNothingRun(t *testing.T) {
	commands := movingInCommands(t)
	adoptable(t)
	t.Chdir(t.TempDir())
	imported, planned := false, false
	for _, args := range commands {
		for i := range args {
			args[i] = strings.Replace(args[i], "prod/", "shop/", 1)
		}
		switch {
		case args[0] == "import" && !imported:
			end := stevedore(t, args...)
			require.Zero(t, end.code, "%s", end.err)
			imported = true
		case args[0] == "validate":
			end := stevedore(t, append(args, "--trusted")...)
			assert.Zero(t, end.code, "%s", end.err)
		case args[0] == "adopt" && slices.Contains(args, "--dry-run"):
			end := stevedore(t, append(args, "--trusted")...)
			assert.Equal(t, exitProblem, end.code, "nobody has pushed it: %s", end.err)
			assert.Contains(t, end.out, "refused   no-definition: ")
			assert.Contains(t, end.out, "afterwards, with clusters/orders: no pod restarts now")
			planned = true
		}
	}
	assert.True(t, imported && planned)
}
