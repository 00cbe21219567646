package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/loopback"
	"stevedore.dev/stevedore/internal/planprint"
	"stevedore.dev/stevedore/ops/plan"
)

// ended is how a command ended.
type ended struct {
	out, err string
	code     int
}

// stevedore runs a command as main does.
func stevedore(t *testing.T, args ...string) ended {
	t.Helper()
	return fed(t, "", args...)
}

// fed runs a command with something on standard input.
func fed(t *testing.T, stdin string, args ...string) ended {
	t.Helper()
	var out, stderr bytes.Buffer
	root := newRoot()
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	end := ended{out: out.String(), err: stderr.String()}
	var code exitCode
	switch {
	case errors.As(err, &code):
		end.code = int(code)
	case err != nil:
		end.code = exitError
		end.err += err.Error() + "\n"
	}
	return end
}

const requests = "../../examples/pull-requests/"

func TestDiffEndsWithTheCodeThatItsPlansAskFor(t *testing.T) {
	for _, c := range []struct {
		name, of string
		args     []string
		want     int
	}{
		{"the same", "before", []string{"--fail-on", "operation,restart,refused,deletion,unknown"}, 0},
		{"what nobody knows offline", "grow", []string{"--fail-on", "unknown"}, 3},
		{"changes", "grow", nil, 2},
		{"what is not to be", "grow", []string{"--fail-on", "operation"}, 3},
		{"what is not to be, named last", "grow", []string{"--fail-on", "deletion", "--fail-on", "operation"}, 3},
		{"what it does not do", "grow", []string{"--fail-on", "refused,deletion,restart"}, 2},
		{"refused", "upgrade", []string{"--fail-on", "refused"}, 3},
		{"a word that is not known", "grow", []string{"--fail-on", "refusal"}, 1},
		{"a format that is not known", "grow", []string{"-o", "html"}, 1},
		{"a colour that is not known", "grow", []string{"--color", "red"}, 1},
		{"a summary of JSON", "grow", []string{"-o", "json", "--summary"}, 1},
		{"a comment of ten bytes", "grow", []string{"-o", "markdown", "--limit", "10"}, 1},
		{"no such folder", "nowhere", nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			end := stevedore(t, append([]string{"diff", requests + c.of, "--against", requests + "before"}, c.args...)...)
			assert.Equal(t, c.want, end.code, "%s", end.err)
			assert.Equal(t, c.want == exitError, end.err != "", "%s", end.err)
		})
	}
}

func TestDiffPrintsEachFormat(t *testing.T) {
	diff := func(args ...string) string {
		end := stevedore(t, append([]string{"diff", requests + "upgrade", "--against", requests + "before"}, args...)...)
		require.Equal(t, exitChanges, end.code, "%s", end.err)
		return end.out
	}
	assert.True(t, strings.HasPrefix(diff(), "shop/orders (compared offline with "))
	assert.Equal(t, "shop/orders  1 refused, 2 objects differ\n1 cluster differs: 1 refused, 2 objects differ\n", diff("--summary"))
	assert.NotContains(t, diff(), "\x1b")
	assert.Contains(t, diff("--color", "always"), "\x1b[1;31mrefused\x1b[0m")
	assert.True(t, strings.HasPrefix(diff("-o", "markdown"), planprint.Marker+"\n"))
	assert.Equal(t, planprint.Marker, planMarker, "what is written is what is looked for")
	assert.Equal(t, diff("-o", "markdown"), diff("-o", "markdown"))
	var plans []plan.Plan
	require.NoError(t, json.Unmarshal([]byte(diff("-o", "json")), &plans))
	require.Len(t, plans, 1)
	var log struct {
		Runs []struct {
			Results []struct {
				RuleID    string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(diff("-o", "sarif")), &log))
	require.Len(t, log.Runs[0].Results, 1)
	result := log.Runs[0].Results[0]
	assert.Equal(t, "volume-cannot-shrink", result.RuleID)
	at := result.Locations[0].PhysicalLocation
	assert.Regexp(t, `^examples/pull-requests/upgrade/.*\.yaml$`, at.ArtifactLocation.URI, "by its path in the repository")
	assert.Positive(t, at.Region.StartLine)
}

// broken is a working tree with a definition that is wrong in its third line, and
// the folder that it is in.
func broken(t *testing.T) (tree string) {
	t.Helper()
	tree = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(tree, ".git"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(tree, "clusters"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(tree, "clusters", "a,b.yaml"), []byte("apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: a, namespace: b, x: y}\nspec: {}\n"), 0o644))
	t.Chdir(tree)
	return tree
}

func TestProblemsAreAnnotationsOnThePlatformThatItRunsOn(t *testing.T) {
	tree := broken(t)
	for _, args := range [][]string{{"validate", "clusters"}, {"diff", "clusters", "--against", "./clusters"}} {
		t.Setenv("GITHUB_ACTIONS", "")
		end := stevedore(t, args...)
		assert.Equal(t, exitError, end.code)
		assert.Contains(t, end.err, "clusters/a,b.yaml:")
		assert.NotContains(t, end.err, "::error")

		t.Setenv("GITHUB_ACTIONS", "true")
		report := filepath.Join(t.TempDir(), "report.json")
		end = stevedore(t, append(args, "--code-quality", report)...)
		assert.Equal(t, exitError, end.code)
		assert.Contains(t, end.err, "::error file=clusters/a%2Cb.yaml,line=")
		text, err := os.ReadFile(report)
		require.NoError(t, err)
		var issues []struct {
			Location struct {
				Path  string
				Lines struct{ Begin int }
			}
		}
		require.NoError(t, json.Unmarshal(text, &issues))
		require.NotEmpty(t, issues)
		assert.Equal(t, "clusters/a,b.yaml", issues[0].Location.Path)
		assert.Positive(t, issues[0].Location.Lines.Begin)
	}
	end := stevedore(t, "diff", filepath.Join(tree, "clusters"), "--against", "./clusters", "-o", "sarif")
	assert.Contains(t, end.out, `"uri": "clusters/a,b.yaml"`)
	assert.Contains(t, stevedore(t, "diff", "clusters", "--against", "./clusters", "-o", "markdown").out, "problem")
	assert.Contains(t, stevedore(t, "validate", "clusters", "--code-quality", "no/such/folder").err, "writing the report of code quality")
}

func TestNoErrorQuotesASecret(t *testing.T) {
	for name, text := range map[string]string{
		"data that is no base64":        "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: b}\ndata: {a: hunter2-hunter2}\n",
		"data that is a list":           "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: b}\ndata: [hunter2-hunter2]\n",
		"a value that is a list":        "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: b}\nstringData: {a: [hunter2-hunter2]}\n",
		"a quotation that does not end": "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: b}\nstringData:\n  a: \"hunter2-hunter2\n  b: c\n",
		"a key that stands twice":       "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: b}\nstringData: {a: hunter2-hunter2, a: hunter2-hunter2}\n",
		"a field that is not known":     "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: b}\nstrngData: {a: hunter2-hunter2}\n",
		"a tag":                         "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: b}\nstringData: {a: !!int hunter2-hunter2}\n",
		"an alias":                      "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: b}\nstringData: {a: *hunter2-hunter2}\n",
		"text for a map":                "apiVersion: v1\nkind: Secret\nmetadata: hunter2-hunter2\nstringData: hunter2-hunter2\n",
		"a password in a definition":    "apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: a, namespace: b}\nspec: {users: [{name: x, password: hunter2-hunter2}]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(text), 0o644))
			t.Setenv("GITHUB_ACTIONS", "true")
			for _, verb := range [][]string{{"validate", dir, "--code-quality", filepath.Join(dir, "report")}, {"render", dir}, {"diff", dir, "--against", dir, "-o", "sarif"}, {"diff", dir, "--against", dir, "-o", "markdown"}} {
				if name != "a password in a definition" {
					verb = append(verb, "--trusted") // a process for each would take minutes
				}
				end := stevedore(t, verb...)
				assert.NotContains(t, end.out+end.err, "hunter2", "%v", verb)
			}
			report, _ := os.ReadFile(filepath.Join(dir, "report"))
			assert.NotContains(t, string(report), "hunter2")
		})
	}
}

func TestColourIsForTerminalsWhoseOwnersWantIt(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminal can be made here: " + err.Error())
	}
	t.Cleanup(func() { _ = terminal.Close() })
	if _, ok := columns(terminal); !ok {
		t.Skip("terminals are not asked for their width here")
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	for _, c := range []struct {
		name         string
		out          io.Writer
		wish         string
		noColour, is string
		columns      string
		colour       bool
		width        int
	}{
		{"a terminal", terminal, "auto", "", "xterm", "77", true, 77},
		{"a terminal whose owner wants none", terminal, "auto", "1", "xterm", "", false, 0},
		{"a dumb terminal", terminal, "auto", "", "dumb", "", false, 0},
		{"none wanted", terminal, "never", "", "xterm", "", false, 0},
		{"a file", file, "auto", "", "xterm", "77", false, 0},
		{"a file, wanted", file, "always", "1", "dumb", "", true, 0},
		{"no file", &bytes.Buffer{}, "auto", "", "xterm", "77", false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", c.noColour)
			t.Setenv("TERM", c.is)
			t.Setenv("COLUMNS", c.columns)
			colour, width := terminalOf(c.out, c.wish)
			assert.Equal(t, c.colour, colour)
			assert.Equal(t, c.width, width)
		})
	}
}

// Nothing was compared, so nothing can be said to be the same.
func TestDiffOfAMistakeDoesNotSayThatNothingDiffers(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: a, namespace: b}\nspec: {nodse: {}}\n"), 0o644))
	end := stevedore(t, "diff", dir, "--against", dir, "--trusted")
	assert.Equal(t, exitError, end.code)
	assert.Contains(t, end.err, "unknown field")
	assert.NotContains(t, end.out, "\nnothing differs")
	assert.Contains(t, end.out, "nothing else differs: what has a problem was not compared")
}

func TestALivePlanWithoutAnAPIServerSaysWhatElseThereIs(t *testing.T) {
	own, err := loopback.Subnet() // no other process listens on its addresses
	require.NoError(t, err)
	address := own + "1:1"
	config := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(config, []byte(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
  users: [{name: a, user: {token: hunter2}}], clusters: [{name: a, cluster: {server: "https://`+address+`"}}]}`), 0o600))
	end := stevedore(t, "diff", requests+"before", "--kubeconfig", config, "--trusted")
	assert.Equal(t, exitError, end.code)
	assert.Empty(t, end.out)
	assert.Contains(t, end.err, "connection refused")
	assert.Contains(t, end.err, "check --kubeconfig and --context, or compare without a cluster: --against REVISION")
	assert.NotContains(t, end.err, "hunter2")
}

// Without a cluster it spoke of the API server.
func TestADiffOfAFolderThatIsNotThereSaysSoWithoutACluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	end := stevedore(t, "diff", "../nosuch")
	assert.Equal(t, exitError, end.code)
	assert.Contains(t, end.err, "reading ../nosuch: there is no such folder")
}
