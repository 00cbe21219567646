package differential

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/loopback"
	"stevedore.dev/stevedore/ops/cratedb"
	"stevedore.dev/stevedore/ops/execute"
)

// TestCases runs the committed cases on the simulator; with CRATEDB_CONFORMANCE=cases on
// the real CrateDB of CRATEDB_HOME.
func TestCases(t *testing.T) {
	prefix, err := loopback.Subnet()
	require.NoError(t, err)
	home := ""
	if os.Getenv("CRATEDB_CONFORMANCE") == "cases" {
		home = os.Getenv("CRATEDB_HOME")
		require.NotEmpty(t, home, "CRATEDB_HOME names the releases")
	}
	cases, err := Cases()
	require.NoError(t, err)
	// One release after the other: the clusters have the same addresses.
	releases := map[string][]Case{}
	for _, k := range cases {
		releases[k.Version] = append(releases[k.Version], k)
	}
	for _, release := range slices.Sorted(maps.Keys(releases)) {
		t.Run(release, func(t *testing.T) {
			a, err := NewAlone(context.Background(), home, release, prefix)
			require.NoError(t, err)
			t.Cleanup(a.Close)
			for _, k := range releases[release] {
				t.Run(k.Name, func(t *testing.T) {
					got, err := a.Answer(t.Context(), k)
					require.NoError(t, err)
					require.NoError(t, k.Check(got))
				})
			}
		})
	}
}

// A statement that is not in the list would not be compared.
func TestEveryStatementOfTheProgramIsCompared(t *testing.T) {
	var listed []string
	for _, s := range append(cratedb.Statements(), execute.Statements()...) {
		listed = append(listed, s.SQL)
	}
	begins := regexp.MustCompile(`^(SELECT|ALTER|SET|RESET|UPDATE|INSERT|DELETE|CREATE|DROP|GRANT|DENY|REVOKE|KILL|SHOW) `)
	found := 0
	for _, folder := range []string{"../../../ops/cratedb", "../../../ops/execute"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "inventory.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			require.NoError(t, err)
			ast.Inspect(parsed, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(literal.Value)
				if err != nil || !begins.MatchString(text) {
					return true
				}
				found++
				for _, sql := range listed {
					if strings.HasPrefix(sql, strings.TrimSpace(text)) {
						return true
					}
				}
				t.Errorf("%s: %q is not in Statements of %s", file, text, folder)
				return true
			})
		}
	}
	require.Greater(t, found, 30, "the statements are found in the code")
}

func TestASeedGivesTheSameSituationAndEachHasSteps(t *testing.T) {
	different := map[string]bool{}
	for seed := range uint64(200) {
		steps := Generate(seed)
		require.Equal(t, steps, Generate(seed))
		require.GreaterOrEqual(t, len(steps), 2)
		text := ""
		for _, s := range steps {
			parsed, err := ParseStep(s.String())
			require.NoError(t, err)
			require.Equal(t, s, parsed)
			text += s.String() + "\n"
		}
		different[text] = true
	}
	require.Greater(t, len(different), 190)
}

// A run is a function here: two of the steps make the difference, and only together.
func TestADifferenceIsShrunkToTheStepsThatMakeIt(t *testing.T) {
	step := func(text string) Step { return Step{"crate", text} }
	all := []Step{step("a"), step("x"), step("b"), step("y"), step("c"), step("z")}
	runs := 0
	run := func(_ context.Context, steps []Step) (*Difference, error) {
		runs++
		first := -1
		for i, s := range steps {
			if s.Text == "x" {
				first = i
			}
			if s.Text == "y" && first >= 0 {
				return &Difference{Step: i, Question: "deciders"}, nil
			}
			if s.Text == "a" && len(steps) == 1 {
				return &Difference{Step: i, Question: "another"}, nil
			}
		}
		return nil, nil
	}
	d, err := run(t.Context(), all)
	require.NoError(t, err)
	least, d, err := Shrink(t.Context(), all, d, run)
	require.NoError(t, err)
	require.Equal(t, []Step{step("x"), step("y")}, least)
	require.Equal(t, 1, d.Step)
	require.Less(t, runs, 20)
}

func TestWhatTwoClustersCannotHaveInCommonIsLeftOut(t *testing.T) {
	c := newCluster("one", "127.0.35.")
	c.ids = map[string]string{"n1": "LlSvfunLTSO94xVWFp1C_w"}
	for _, row := range [][2]string{
		{"node[LlSvfunLTSO94xVWFp1C_w], [P], s[STARTED], a[id=x9dqqfPGQ36otnjPcY7VQA]]", "node[{n1.id}], [P], s[STARTED]]"},
		{"{n1}{v7dqqfPGQ36otnjPcY7VQA}{127.0.35.2}", "{n1}{{uuid}}{{n1.ip}}"},
		{"{n1}{-RJl-LTuQtilFHJmIcusSA}{x}", "{n1}{{uuid}}{x}"},
		{"[[t0/x9dqqfPGQ36otnjPcY7VQ-]]", "[[t0/{uuid}]]"},
		{"actual free: [23.5gb], watermark.low=85%", "actual free: [{amount}], watermark.low=85%"},
		{"{dm}{zone=a, hall=x, http_address=127.0.35.1:4200}, to", "{dm}{hall=x, http_address={n0.ip}:4200, zone=a}, to"},
		{"cannot allocate because the cluster is still waiting 4.9m for", "cannot allocate because the cluster is still waiting {time} for"},
	} {
		require.Equal(t, row[1], c.normal(row[0]))
	}
	require.Equal(t, []bool{false, true, true}, masks("SELECT node['id'], count(size), fs['total']['used'] FROM sys.shards"))
	require.Equal(t, []bool{true, true, false}, masks("SELECT fs['disks']['dev'], fs['disks']['size'], fs['data'] FROM sys.nodes"))
	require.Equal(t, []any{"{measured}", "{measured}"}, unmeasured([]any{1, 2}), "a disk for each path")
	a := answer{columns: []string{"a"}, rows: [][]any{{"b"}, {"a"}}}
	b := answer{columns: []string{"a"}, rows: [][]any{{"a"}, {"b"}}}
	require.Equal(t, c.text(a), c.text(b), "no statement asks for an order")
	require.NotEqual(t, c.text(a), c.text(answer{columns: []string{"a"}, rows: [][]any{{"a"}}}))
	list := func(names ...any) string { return c.text(answer{columns: []string{"a"}, rows: [][]any{{names}}}) }
	require.Equal(t, list("doc.a", "doc.b"), list("doc.b", "doc.a"), "the tables of a snapshot")
	require.NotEqual(t, list("a", "b"), list("b", "a"), "the columns that a table is partitioned by")
}

func TestTheListOfAllowedDifferencesIsShortAndSaysWhereEachComesFrom(t *testing.T) {
	list := AllowedDifferences()
	require.LessOrEqual(t, len(list), 20)
	names := map[string]bool{}
	for _, a := range list {
		require.NotEmpty(t, a.Reason, a.Name)
		require.Regexp(t, `^[\w/.-]+\.java:\d+ of \d+\.\d+\.\d+$`, a.Source, a.Name)
		require.False(t, names[a.Name], a.Name)
		names[a.Name] = true
	}
	p := &Pair{version: "6.4.3", Counts: Counts{Used: map[string]int{}}, allowed: []Allowed{
		{Name: "x", Question: "deciders", Pattern: regexp.MustCompile(`x+`), With: "x"},
		{Name: "other release", Version: "6.3", Pattern: regexp.MustCompile(`y+`), With: "y"},
	}}
	require.Nil(t, p.differ(0, "deciders", "axx", "ax"))
	require.NotNil(t, p.differ(0, "health", "axx", "ax"), "another question")
	require.NotNil(t, p.differ(0, "deciders", "ayy", "ay"), "another release")
	require.NotNil(t, p.differ(0, "deciders", "axx", "bx"), "something else differs too")
	require.Equal(t, map[string]int{"x": 1}, p.Used, "it is used where it makes the two equal")
}
