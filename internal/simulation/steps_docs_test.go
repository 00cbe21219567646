package simulation

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The manual has every operation and every step that a status shows.
func TestTheManualHasTheStepsOfEachOperation(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	steps, rows := map[string][]string{}, regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (.*) \\|$")
	_, table, found := strings.Cut(string(page), "\n## What a status shows of an operation\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	for _, row := range rows.FindAllStringSubmatch(table, -1) {
		steps[row[1]] = []string{}
		for _, step := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(row[2], -1) {
			steps[row[1]] = append(steps[row[1]], step[1])
		}
	}

	kinds, known := constantsOf(t, "../../ops/model/record.go", "Operation"), constantsOf(t, "../../ops/model/record.go", "Step")
	known = append(known, constantsOf(t, "../../ops/lifecycle/resume.go", "Step")...)
	var named, documented []string
	for kind, all := range steps {
		named, documented = append(named, kind), append(documented, all...)
	}
	assert.ElementsMatch(t, kinds, append(named, "update"), "an update has no step and is never under way")
	slices.Sort(documented)
	assert.ElementsMatch(t, known, slices.Compact(documented))

	// And each has those that it goes through.
	shown := regexp.MustCompile(`decides: [a-z]+, (` + strings.Join(kinds, "|") + `)(?: ([a-z-]+))?[ ;\n]`)
	for seed := range uint64(60) {
		var story strings.Builder
		Run(NewSchedule(2_900_500_000+seed), nil, &story)
		for _, at := range shown.FindAllStringSubmatch(story.String(), -1) {
			if at[2] != "" && !slices.Contains(steps[at[1]], at[2]) {
				t.Errorf("%s has the step %s, and the manual does not say so", at[1], at[2])
				steps[at[1]] = append(steps[at[1]], at[2])
			}
		}
	}
}

// constantsOf are the values of a file's constants of text whose names begin with a word.
func constantsOf(t *testing.T, file, begins string) (values []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, begins) || len(spec.Values) != 1 {
			return true
		}
		if text, ok := spec.Values[0].(*ast.BasicLit); ok {
			value, err := strconv.Unquote(text.Value)
			require.NoError(t, err)
			values = append(values, value)
		}
		return true
	})
	return values
}
