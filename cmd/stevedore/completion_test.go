package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// completed is what a shell would offer.
func completed(t *testing.T, words ...string) []string {
	t.Helper()
	end := stevedore(t, append([]string{cobra.ShellCompNoDescRequestCmd}, words...)...)
	require.Zero(t, end.code, "%s", end.err)
	lines := strings.Split(strings.TrimSpace(end.out), "\n")
	require.NotEmpty(t, lines)
	require.True(t, strings.HasPrefix(lines[len(lines)-1], ":"), "%s", end.out)
	return lines[:len(lines)-1]
}

func TestAShellCompletesWhatIsThere(t *testing.T) {
	t.Setenv("CI", "") // whose pull requests are not trusted
	api := newAPIServer(t, "prod", "test")
	for _, cluster := range []record.Cluster{{Namespace: "prod", Name: "orders"}, {Namespace: "prod", Name: "metrics"}, {Namespace: "test", Name: "orders-next"}} {
		api.record(cluster, model.Record{})
	}
	for _, c := range []struct {
		name  string
		words []string
		want  []string
	}{
		{"clusters of the context's namespace", []string{"status", ""}, []string{"metrics", "orders"}},
		{"clusters of a namespace", []string{"pause", "-n", "test", ""}, []string{"orders-next"}},
		{"clusters of a context", []string{"release", "--context", "there", ""}, []string{"orders-next"}},
		{"clusters of a namespace that is typed", []string{"pause", "test/"}, []string{"prod/metrics", "prod/orders", "test/orders-next"}},
		{"only one", []string{"restart", "orders", ""}, nil},
		{"namespaces with clusters", []string{"abort", "-n", ""}, []string{"prod", "test"}},
		{"contexts", []string{"resume", "--context", ""}, []string{"here", "there"}},
		{"clusters of a folder", []string{"render", "../../examples/tiers", "--cluster", ""}, []string{"cratedb/orders"}},
		{"no clusters without a folder", []string{"diff", "--cluster", ""}, nil},
		{"formats of one verb", []string{"diff", "-o", ""}, []string{"text", "markdown", "json", "sarif"}},
		{"formats of another", []string{"render", "-o", ""}, []string{"yaml", "json"}},
		{"ways to a database", []string{"run", "--connect", ""}, []string{"pod", "port-forward"}},
	} {
		t.Run(c.name, func(t *testing.T) { assert.ElementsMatch(t, c.want, completed(t, c.words...)) })
	}
	t.Run("nothing where nobody answers", func(t *testing.T) {
		t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "not-there"))
		assert.Empty(t, completed(t, "status", ""))
	})
}

// What a flag of few words is completed with is what it takes.
func TestEachChoiceIsOfAFlagThatIsThere(t *testing.T) {
	flags := map[string]bool{}
	for _, cmd := range verbsOf(newRoot()) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			flags[f.Name], flags[cmd.Name()+" "+f.Name] = true, true
		})
	}
	for name := range choices {
		assert.True(t, flags[name], name)
	}
	for _, name := range folders {
		assert.True(t, flags[name], name)
	}
}

func TestEachShellTakesItsCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		t.Run(shell, func(t *testing.T) {
			end := stevedore(t, "completion", shell)
			require.Zero(t, end.code, "%s", end.err)
			require.Contains(t, end.out, "stevedore")
			if _, err := exec.LookPath(shell); err != nil || shell == "powershell" {
				return
			}
			script := filepath.Join(t.TempDir(), "completion")
			require.NoError(t, os.WriteFile(script, []byte(end.out), 0o600))
			out, err := exec.CommandContext(t.Context(), shell, "-n", script).CombinedOutput()
			assert.NoError(t, err, "%s", out)
		})
	}
}

// Each verb says what it does, how it ends, and gives examples that it takes
// itself; all of it fits a screen's width.
func TestTheHelpOfEachVerbIsWhole(t *testing.T) {
	root := newRoot()
	for _, cmd := range append(verbsOf(root), newBackup()) {
		if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		verb := verbOf(cmd)
		if !cmd.HasParent() {
			verb = cmd.Name()
		}
		t.Run(verb, func(t *testing.T) {
			end := stevedore(t, append(strings.Fields(verb), "--help")...)
			require.Zero(t, end.code)
			assert.True(t, strings.HasPrefix(end.out, cmd.Name()+" "), "it begins with what the verb does")
			assert.Equal(t, !cmd.HasSubCommands(), strings.Contains(end.out, "\n\nExit codes:\n  0  "))
			for line := range strings.Lines(end.out) {
				assert.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), helpWidth, line)
			}
			require.NotEmpty(t, cmd.Example)
			for line := range strings.Lines(cmd.Example) {
				_, words, found := strings.Cut(line, "stevedore ")
				require.True(t, found, line)
				words, _, _ = strings.Cut(words, " > ")
				root := newRoot()
				verb, rest, err := root.Find(strings.Fields(words))
				require.NoError(t, err, line)
				require.NoError(t, verb.ParseFlags(rest), line)
				assert.NoError(t, verb.ValidateArgs(verb.Flags().Args()), line)
			}
		})
	}
}

// The table that scripts are written by is the one that the help is made of.
func TestTheManualHasTheExitCodesOfEachVerb(t *testing.T) {
	page, err := os.ReadFile("../../docs/cli.md")
	require.NoError(t, err)
	verbs := map[string]bool{}
	for _, one := range endings {
		verbs[one.verb] = true
		cells := make([]string, 4)
		for _, end := range one.of {
			cells[end.code] = end.when
		}
		row := "| `" + one.verb + "` | " + strings.Join(cells, " | ") + " |\n"
		assert.Contains(t, string(page), strings.ReplaceAll(row, "  ", " "))
	}
	for _, cmd := range verbsOf(newRoot()) {
		assert.Equal(t, !cmd.Hidden && cmd.Name() != "help" && cmd.Name() != "completion", verbs[verbOf(cmd)], verbOf(cmd))
	}
}

func TestAnErrorFitsAScreen(t *testing.T) {
	assert.Equal(t, "stevedore: short", fitting("stevedore: short", 80))
	for name, text := range map[string]string{
		"one long line": "stevedore: " + strings.Repeat("a word and ", 500),
		"many lines":    strings.Repeat("file.yaml:1:1: something is wrong\n", 300),
	} {
		lines := strings.Split(fitting(text, 80), "\n")
		assert.Len(t, lines, maxErrorLines+1, name)
		assert.Contains(t, lines[maxErrorLines], "lines more", name)
		for _, line := range lines {
			assert.LessOrEqual(t, len([]rune(line)), 80, name)
		}
	}
	long := strings.Repeat("x", 200)
	assert.Equal(t, "reading\n  "+long+"\n  : gone", fitting("reading "+long+" : gone", 40), "what is one word, a path say, stays one")
	assert.Equal(t, []string{"SELECT  1", "  FROM t"}, wrapped("SELECT  1\n  FROM t", 0), "what is piped stays as it is")
}

func TestNothingIsColouredWhereNobodyLooks(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	colour, width := terminalOf(file, "auto")
	assert.False(t, colour)
	assert.Zero(t, width)
}
