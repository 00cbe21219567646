package planprint_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/planprint"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render/definition"
)

var update = flag.Bool("update", false, "write the golden files and docs/plan.schema.json")

// formats are all that plans are printed as.
var formats = []struct {
	file  string
	print func(*testing.T, []plan.Plan) string
}{
	{"txt", text(planprint.TextOptions{})},
	{"narrow.txt", text(planprint.TextOptions{Width: 60})},
	{"colour.txt", text(planprint.TextOptions{Width: 100, Colour: true})},
	{"summary.txt", text(planprint.TextOptions{Summary: true})},
	{"md", func(t *testing.T, plans []plan.Plan) string {
		return made(t, func(b *bytes.Buffer) error { return planprint.Markdown(b, plans, planprint.MarkdownOptions{}) })
	}},
	{"json", func(t *testing.T, plans []plan.Plan) string {
		return made(t, func(b *bytes.Buffer) error { return planprint.JSON(b, plans) })
	}},
	{"sarif", func(t *testing.T, plans []plan.Plan) string {
		return made(t, func(b *bytes.Buffer) error {
			return planprint.SARIF(b, planprint.Findings(plans, located), "1.2.3")
		})
	}},
	{"codequality.json", func(t *testing.T, plans []plan.Plan) string {
		return made(t, func(b *bytes.Buffer) error {
			return planprint.CodeQuality(b, planprint.Findings(plans, located))
		})
	}},
	{"github.txt", func(t *testing.T, plans []plan.Plan) string {
		return made(t, func(b *bytes.Buffer) error { return planprint.GitHub(b, planprint.Findings(plans, located)) })
	}},
}

func text(o planprint.TextOptions) func(*testing.T, []plan.Plan) string {
	return func(t *testing.T, plans []plan.Plan) string {
		return made(t, func(b *bytes.Buffer) error { return planprint.Text(b, plans, o) })
	}
}

func made(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, write(&b))
	return b.String()
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "%s: if it is right, run go test ./internal/planprint -update", path)
}

func TestEachPlanReadsAsItsGoldenFileSays(t *testing.T) {
	for name, plans := range examples() {
		for _, format := range formats {
			t.Run(name+"."+format.file, func(t *testing.T) {
				got := format.print(t, plans)
				if format.file == "sarif" { // the rules are the gates'
					got = withoutRules(t, got)
				}
				golden(t, name+"."+format.file, got)
			})
		}
	}
}

func TestPrintingChangesNoPlanAndIsTheSameEachTime(t *testing.T) {
	for name, plans := range examples() {
		before := made(t, func(b *bytes.Buffer) error { return planprint.JSON(b, plans) })
		raw := examples()[name]
		for _, format := range formats {
			first := format.print(t, plans)
			assert.Equal(t, first, format.print(t, plans), "%s %s", name, format.file)
			assert.Equal(t, first, format.print(t, examples()[name]), "%s %s", name, format.file)
		}
		assert.Equal(t, raw, plans, "%s: printing changed the plan", name)
		assert.Equal(t, before, made(t, func(b *bytes.Buffer) error { return planprint.JSON(b, plans) }))
	}
}

func problems() []planprint.Finding {
	return planprint.Problems([]definition.Problem{
		{File: "clusters/a,b:c.yaml", Line: 7, Column: 3, Path: "spec.nodes.data[0].replicas", Message: "is 0, 100% wrong: write 1 or more\nor leave it out", Cluster: "prod/a"},
		{File: "clusters/kustomization.yaml", Message: "a base on the network is not allowed: " + evil},
		{Message: "there are two clusters prod/a"},
	})
}

func TestProblemsAreAnnotationsAtTheirLine(t *testing.T) {
	golden(t, "problems.github.txt", made(t, func(b *bytes.Buffer) error { return planprint.GitHub(b, problems()) }))
	golden(t, "problems.codequality.json", made(t, func(b *bytes.Buffer) error { return planprint.CodeQuality(b, problems()) }))
	golden(t, "problems.sarif", withoutRules(t, made(t, func(b *bytes.Buffer) error { return planprint.SARIF(b, problems(), "1.2.3") })))
	golden(t, "problems.md", made(t, func(b *bytes.Buffer) error {
		return planprint.Markdown(b, []plan.Plan{shrink()}, planprint.MarkdownOptions{Problems: problems()})
	}))
}

func TestAWorkflowCommandIsEscapedAsGitHubReadsIt(t *testing.T) {
	got := made(t, func(b *bytes.Buffer) error { return planprint.GitHub(b, problems()[:1]) })
	assert.Equal(t, "::error file=clusters/a%2Cb%3Ac.yaml,line=7,col=3,title=stevedore prod/a::spec.nodes.data[0].replicas: is 0, 100%25 wrong: write 1 or more%0Aor leave it out\n", got)
}

func TestTheExitCodeSaysTheGravest(t *testing.T) {
	all := []planprint.FailOn{planprint.FailOnOperation, planprint.FailOnRestart, planprint.FailOnRefused, planprint.FailOnDeletion, planprint.FailOnUnknown}
	object := func(o plan.Object) []plan.Plan { return []plan.Plan{{Objects: []plan.Object{o}}} }
	for _, c := range []struct {
		name   string
		plans  []plan.Plan
		failOn []planprint.FailOn
		broken bool
		want   int
	}{
		{"no cluster", nil, all, false, 0},
		{"nothing", examples()["nothing"], all, false, 0},
		{"only what is not known", []plan.Plan{{Unknown: []string{"x"}}}, all, false, 0},
		{"something changes, and not all of it is known", []plan.Plan{{Notes: []string{"x"}, Unknown: []string{"y"}}}, all[4:], false, 3},
		{"something changes, and all of it is known", []plan.Plan{{Notes: []string{"x"}}}, all[4:], false, 2},
		{"a problem alone", nil, nil, true, 1},
		{"a problem beats all", []plan.Plan{shrink(), upgradeRefused()}, all, true, 1},
		{"changes", []plan.Plan{shrink()}, nil, false, 2},
		{"an operation, asked for", []plan.Plan{shrink()}, all[:1], false, 3},
		{"an operation, others asked for", []plan.Plan{shrink()}, all[1:4], false, 2},
		{"an operation by class alone", object(plan.Object{Class: plan.ByOperation}), all[:1], false, 3},
		{"a restart, asked for", []plan.Plan{rolling()}, all[1:2], false, 3},
		{"a restart by class alone", object(plan.Object{Fields: []plan.Field{{Class: plan.Restart}}}), all[1:2], false, 3},
		{"a restart when next due", object(plan.Object{Class: plan.RestartWhenDue}), all, false, 2},
		{"refused", []plan.Plan{upgradeRefused()}, all[2:3], false, 3},
		{"a field that is refused", object(plan.Object{Fields: []plan.Field{{Gate: "volumes"}}}), all[2:3], false, 3},
		{"refused, others asked for", object(plan.Object{Class: plan.Refused}), []planprint.FailOn{planprint.FailOnOperation, planprint.FailOnDeletion}, false, 2},
		{"what only waits", []plan.Plan{{Waits: []plan.Gate{{Name: "secret-missing"}}}}, all, false, 2},
		{"a field that waits", object(plan.Object{Class: plan.Waiting, Fields: []plan.Field{{Class: plan.Waiting, Gate: "paused"}}}), all, false, 2},
		{"a pause that ends", []plan.Plan{{Notes: []string{"x"}}}, all, false, 2},
		{"a deletion", object(plan.Object{Change: plan.Removed}), all[3:], false, 3},
		{"a set that is deleted", []plan.Plan{{Operations: []plan.Operation{{Steps: []plan.Step{{Action: "delete-set"}}}}}}, all[3:], false, 3},
		{"an orphan is not deleted", object(plan.Object{Change: plan.Orphaned}), all, false, 2},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, planprint.ExitCode(c.plans, c.failOn, c.broken)) })
	}
}

func TestFailOnIsReadByItsWords(t *testing.T) {
	got, err := planprint.ParseFailOn([]string{"operation", " deletion"})
	require.NoError(t, err)
	assert.Equal(t, []planprint.FailOn{planprint.FailOnOperation, planprint.FailOnDeletion}, got)
	_, err = planprint.ParseFailOn([]string{"refusal"})
	assert.ErrorContains(t, err, `--fail-on "refusal" is not known: write operation, restart, refused, deletion or unknown`)
}

func TestStepsThatRepeatAreOneLine(t *testing.T) {
	restart := func(pods ...string) (steps []plan.Step) {
		for _, pod := range pods {
			steps = append(steps, plan.Step{Action: "hold-allocation", Target: pod}, plan.Step{Action: "restart-pod", Target: pod}, plan.Step{Action: "release-allocation", Target: pod})
		}
		return steps
	}
	claims := func(steps []plan.Step, pods ...string) []plan.Step {
		var all []plan.Step
		for i, pod := range pods {
			all = append(append(all, steps[3*i:3*i+3]...), plan.Step{Action: "annotate-claim", Target: "data0-" + pod, Detail: "written"}, plan.Step{Action: "annotate-claim", Target: "debug-" + pod, Detail: "written"})
		}
		return all
	}
	for _, c := range []struct {
		name  string
		steps []plan.Step
		want  []string
	}{
		{"one", restart("a-0"), []string{"take the allocation lock for a-0", "restart pod a-0", "give the allocation lock back for a-0"}},
		{"one pod after the other", restart("a-0", "a-1", "a-2"), []string{"one after the other a-0, a-1, a-2: take the allocation lock, restart the pod, give the allocation lock back"}},
		{"with what is written of each", claims(restart("a-0", "a-1"), "a-0", "a-1"), []string{"one after the other a-0, a-1: take the allocation lock, restart the pod, give the allocation lock back, write the cluster id on volume claim data0-…, debug-… (written)"}},
		{"something between", append(append(restart("a-0", "a-1"), plan.Step{Action: "apply", Target: "a"}), restart("b-0", "b-1")...),
			[]string{"one after the other a-0, a-1: take the allocation lock, restart the pod, give the allocation lock back", "apply StatefulSet a", "one after the other b-0, b-1: take the allocation lock, restart the pod, give the allocation lock back"}},
		{"something at the end", append(restart("a-0", "a-1"), plan.Step{Action: "hold-allocation", Target: "a-2"}), []string{"one after the other a-0, a-1: take the allocation lock, restart the pod, give the allocation lock back", "take the allocation lock for a-2"}},
		{"zones say their pods", []plan.Step{{Action: "hold-allocation", Target: "zone a"}, {Action: "restart-zone", Target: "zone a", Detail: "a-0, a-1"}, {Action: "hold-allocation", Target: "zone b"}, {Action: "restart-zone", Target: "zone b", Detail: "a-2"}},
			[]string{"take the allocation lock for zone a", "restart the pods of zone a (a-0, a-1)", "take the allocation lock for zone b", "restart the pods of zone b (a-2)"}},
		{"the same to several", []plan.Step{{Action: "set-user", Target: "a"}, {Action: "set-user", Target: "b"}, {Action: "set-user", Target: "c", Detail: "x"}}, []string{"make user a, b", "make user c (x)"}},
		{"nothing to name", []plan.Step{{Action: "a"}, {Action: "b"}, {Action: "a"}, {Action: "b"}}, []string{"a", "b", "a", "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := plan.Plan{Namespace: "n", Name: "n", Basis: live(0), Operations: []plan.Operation{{Kind: "restart", Summary: "restart", Steps: c.steps}}}
			got := text(planprint.TextOptions{})(t, []plan.Plan{p})
			_, got, _ = strings.Cut(got, "1. restart\n")
			got, _, _ = strings.Cut(got, "\n\n")
			var lines []string
			for line := range strings.Lines(got + "\n") {
				lines = append(lines, strings.TrimSpace(line))
			}
			assert.Equal(t, c.want, lines)
			wellFormed(t, []plan.Plan{p})
		})
	}
}

func TestAnOperationsKindIsSaidOnce(t *testing.T) {
	for _, c := range []struct{ kind, summary, text, markdown string }{
		{"grow", "grow group hot from 3 to 5 nodes", "1. grow group hot from 3 to 5 nodes", "1. **grow** group hot from 3 to 5 nodes"},
		{"restart", "restart: 4 pods, one after the other", "1. restart: 4 pods, one after the other", "1. **restart**: 4 pods, one after the other"},
		{"settings", "set x in the database", "1. settings: set x in the database", "1. **settings**: set x in the database"},
		{"users", "usersomething", "1. users: usersomething", "1. **users**: usersomething"},
	} {
		p := []plan.Plan{{Namespace: "n", Name: "n", Basis: live(0), Operations: []plan.Operation{{Kind: c.kind, Summary: c.summary}}}}
		assert.Contains(t, text(planprint.TextOptions{})(t, p), "\n    "+c.text+"\n")
		assert.Contains(t, formats[4].print(t, p), "\n"+c.markdown+"\n")
	}
}

func TestLinesAreAsWideAsTheTerminal(t *testing.T) {
	p := shrink()
	p.Objects = nil // values are not wrapped
	for _, width := range []int{40, 60, 80, 120} {
		for line := range strings.Lines(text(planprint.TextOptions{Width: width})(t, []plan.Plan{p})) {
			assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), width, line)
		}
	}
}

func TestACommentKeepsItsLimitAndWhatMattersMost(t *testing.T) {
	for _, c := range []struct {
		name                string
		plans               []plan.Plan
		limit               int
		has, lacks, leftOut string
	}{
		{"all fits", many(3, 2), 60_000, "data.text", "Left out", ""},
		{"fields go first", many(40, 10), 40_000, "ConfigMap m9", "", "the fields of changed objects of"},
		{"then objects", many(300, 10), 60_000, "3 to 5 nodes", "data.text", "changed objects of"},
		{"clusters by their line", many(800, 3), 60_000, "it would be an empty database", "", "operations and refusals of"},
		{"and at last clusters", many(3000, 1), 60_000, "`fleet/c0009`: 1 operation, 1 object differs: grow\n", "", "clusters altogether"},
		{"hardly any room", many(1500, 1), planprint.LeastLimit, "1,500 clusters differ", "", "clusters altogether"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := made(t, func(b *bytes.Buffer) error {
				return planprint.Markdown(b, c.plans, planprint.MarkdownOptions{Limit: c.limit})
			})
			assert.LessOrEqual(t, len(got), c.limit)
			assert.True(t, strings.Contains(got, c.has), c.has)
			assert.False(t, c.lacks != "" && strings.Contains(got, c.lacks), c.lacks)
			assert.True(t, strings.Contains(got, c.leftOut), c.leftOut)
			assert.Equal(t, c.leftOut != "", strings.Contains(got, "**Left out"), "that something was left out is said")
			wellFormedMarkdown(t, got, c.limit)
		})
	}
	assert.ErrorContains(t, planprint.Markdown(&bytes.Buffer{}, nil, planprint.MarkdownOptions{Limit: 10}), "too small")
}
