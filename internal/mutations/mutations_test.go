package mutations

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/gates"
)

// mutation takes one guard out.
type mutation struct {
	// of is the bug that comes back, or the rule or the step that is silenced.
	of string
	// in is the function in which old stands exactly once. It is looked for by its
	// name, exported or not, in all Go files in and below the folder below: so it
	// may go from file to file and from package to package. Where several functions
	// of one name have old, it is qualified by its package or its receiver. A
	// constant or variable that stands in no function is named in the same way. What
	// is not Go is a path, from the root of the module.
	in, old, new string
	// below is a folder, from the root of the module. The test that has to fail is
	// looked for there by its name, too.
	below, test string
}

// name is one of a subtest's: several mutations may be of one thing.
func (m mutation) name(n int) string { return fmt.Sprintf("%02d %s", n, m.of) }

// unnoticed is a rule whose removal no test of a decision could notice, and why.
type unnoticed struct{ rule, why string }

func all() []mutation {
	return slices.Concat(bugs, rules, steps, replacements, fewerDisks, backups, drills, replacedTables, adopted)
}

const root = "../.."

// A list that has rotted is a list of nothing.
func TestEachMutationStillFindsItsGuardAndItsTest(t *testing.T) {
	g := newGuards(root)
	for _, m := range all() {
		_, err := g.find(m)
		assert.NoError(t, err)
		_, err = g.test(m)
		assert.NoError(t, err)
	}
}

func TestEachKnownBugHasATestThatNoticesIt(t *testing.T) {
	listed := map[string]bool{}
	for _, m := range bugs {
		listed[m.of] = true
		assert.Regexp(t, regexp.MustCompile(`^([1-9]|1[0-5]|[a-k])$`), m.of)
	}
	for _, bug := range strings.Fields("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 a b c d e f g h i j k") {
		assert.True(t, listed[bug], "bug %s has no mutation", bug)
	}
}

func TestEachRuleHasATestThatNoticesItsRemoval(t *testing.T) {
	known := map[string]bool{}
	for _, m := range rules {
		known[m.of] = true
	}
	for _, u := range unnoticeds {
		assert.False(t, known[u.rule], "%s has a mutation", u.rule)
		assert.NotEmpty(t, u.why, u.rule)
		known[u.rule] = true
	}
	for _, r := range gates.All {
		assert.True(t, known[r.Name], "rule %s: put the mutation that silences it into rules, with the test that goes red", r.Name)
		delete(known, r.Name)
	}
	assert.Empty(t, known, "these are no rules any more")
}

// environment of the go command: a soak within the soak would never end, and each
// kind of build compiles all dependencies once more.
func environment() []string {
	return append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "STEVEDORE_SOAK=") || strings.HasPrefix(v, "CGO_ENABLED=")
	}), "CGO_ENABLED=0")
}

// outcomes of tests by name: pass, fail or skip.
type outcomes map[string]string

// run runs tests of one package and says how each ended; built is false when
// they did not compile.
func run(ctx context.Context, dir, pkg string, tests []string, flags ...string) (ended outcomes, built bool, output string) {
	arguments := append([]string{"test", "-json", "-vet=off", "-count=1", "-timeout=4m", "-run", "^(" + strings.Join(tests, "|") + ")$"}, flags...)
	command := exec.CommandContext(ctx, "go", append(arguments, "./"+pkg)...)
	command.Dir = dir
	command.Env = environment()
	command.WaitDelay = 10 * time.Second
	raw, _ := command.CombinedOutput() // its exit code says less than the events
	ended, built = outcomes{}, true
	var text strings.Builder
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			text.Write(lines.Bytes())
			text.WriteByte('\n')
			continue
		}
		text.WriteString(event.Output)
		switch event.Action {
		case "build-fail":
			built = false
		case "pass", "fail", "skip":
			if event.Test != "" {
				ended[event.Test] = event.Action
			}
		}
	}
	return ended, built, text.String()
}

// last lines of an output.
func last(output string) string { return output[max(0, len(output)-4000):] }

func TestSoakEachGuardIsMissedWhenItIsTakenOut(t *testing.T) {
	if os.Getenv("STEVEDORE_SOAK") == "" {
		t.Skip("takes minutes: `make soak` runs it")
	}
	dir, err := filepath.Abs(root)
	require.NoError(t, err)
	began := time.Now()
	g := newGuards(root)
	tests := map[string][]string{}
	mutants := make([]mutant, len(all()))
	packages := make([]string, len(all()))
	for n, m := range all() {
		mutants[n], err = g.find(m)
		require.NoError(t, err)
		packages[n], err = g.test(m)
		require.NoError(t, err)
		if !slices.Contains(tests[packages[n]], m.test) {
			tests[packages[n]] = append(tests[packages[n]], m.test)
		}
	}
	// With their guards, the tests of a package are run once, when the first one is
	// needed: green ones only can go red.
	withGuards := map[string]func() outcomes{}
	for pkg, names := range tests {
		withGuards[pkg] = sync.OnceValue(func() outcomes {
			ended, built, output := run(t.Context(), dir, pkg, names)
			assert.True(t, built, "%s does not compile:\n%s", pkg, last(output))
			for _, name := range names {
				assert.Equal(t, "pass", ended[name], "%s in %s is green with its guard:\n%s", name, pkg, last(output))
			}
			return ended
		})
	}
	var missed atomic.Int64
	t.Run("without", func(t *testing.T) {
		for n, m := range all() {
			t.Run(m.name(n), func(t *testing.T) {
				t.Parallel()
				mutant, pkg := mutants[n], packages[n]
				if withGuards[pkg]()[m.test] != "pass" {
					t.Skip("its test is red all the same")
				}
				scratch := t.TempDir()
				copied := filepath.Join(scratch, filepath.Base(mutant.file))
				require.NoError(t, os.WriteFile(copied, mutant.text, 0o600))
				overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(dir, mutant.file): copied}})
				require.NoError(t, err)
				list := filepath.Join(scratch, "overlay.json")
				require.NoError(t, os.WriteFile(list, overlay, 0o600))
				ended, built, output := run(t.Context(), dir, pkg, []string{m.test}, "-overlay", list)
				require.True(t, built, "%s does not compile without its guard:\n%s", mutant.file, last(output))
				require.Equal(t, "fail", ended[m.test], "%s: %s stays green though %q is taken out of %s\n%s", m.of, m.test, m.old, mutant.file, last(output))
				missed.Add(1)
			})
		}
	})
	t.Logf("%d guards were taken out and missed, %s", missed.Load(), time.Since(began).Round(time.Second))
}
