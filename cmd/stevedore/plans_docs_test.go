package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/exported"
	"stevedore.dev/stevedore/internal/planprint"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render"
)

var update = flag.Bool("update", false, "write what is made into the manual")

// planOf is the plan of one of the example's pull requests; with the published readings of a
// file, or without.
func planOf(t *testing.T, name, observations string) plan.Plan {
	t.Helper()
	const folder = "../../examples/pull-requests"
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetErr(t.Output())
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	planner := &offlinePlans{against: filepath.Join(folder, "before"), renderer: render.InProcess{}, now: now}
	if observations != "" {
		file, err := os.Open(filepath.Join(folder, observations))
		require.NoError(t, err)
		defer func() { _ = file.Close() }()
		read, err := exported.Read(observations, file)
		require.NoError(t, err)
		planner.readings = &readings{file: read}
	}
	problems, _, err := planner.older(cmd, filepath.Join(folder, name))
	require.NoError(t, err)
	require.Empty(t, problems)
	clusters, good, err := renderPath(cmd, render.InProcess{}, filepath.Join(folder, name), "", noPins)
	require.NoError(t, err)
	require.True(t, good)
	require.Len(t, clusters, 1)
	one, problems, err := planner.of(t.Context(), clusters[0])
	require.NoError(t, err)
	require.Empty(t, problems)
	one.Basis.Against = "before"
	return one
}

func TestThePlansInTheManualAreThoseThatAreMade(t *testing.T) {
	const page = "../../docs/plan.md"
	was, err := os.ReadFile(page)
	require.NoError(t, err)
	next := string(was)
	for name, observations := range map[string]string{"grow": "", "shrink": "observations.yaml", "upgrade": ""} {
		var out strings.Builder
		require.NoError(t, planprint.Text(&out, []plan.Plan{planOf(t, name, observations)}, planprint.TextOptions{Width: 110}))
		before, rest, ok := strings.Cut(next, "<!-- plan: "+name+" -->\n")
		require.True(t, ok, name)
		_, after, ok := strings.Cut(rest, "<!-- end of plan -->")
		require.True(t, ok, name)
		next = before + "<!-- plan: " + name + " -->\n```\n" + out.String() + "```\n<!-- end of plan -->" + after
	}
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(next), 0o644))
		return
	}
	assert.Equal(t, next, string(was), "go test ./cmd/stevedore -run InTheManual -update")
}

func TestAPullRequestsPlanSaysWhatAReviewerNeeds(t *testing.T) {
	grow := planOf(t, "grow", "")
	assert.Equal(t, []string{"grow"}, operationKinds(grow))
	assert.Zero(t, grow.Restarts)
	assert.Empty(t, grow.Refused)

	upgrade := planOf(t, "upgrade", "")
	assert.Empty(t, upgrade.Operations)
	require.NotEmpty(t, upgrade.Refused)
	assert.Equal(t, "volume-cannot-shrink", upgrade.Refused[0].Name)
	for _, object := range upgrade.Objects {
		if object.Kind == "StatefulSet" {
			assert.Equal(t, plan.Refused, object.Class, object.Key)
		}
	}
}

func operationKinds(p plan.Plan) []string {
	var all []string
	for _, op := range p.Operations {
		all = append(all, op.Kind)
	}
	return all
}
