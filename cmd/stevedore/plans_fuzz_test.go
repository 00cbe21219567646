package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"stevedore.dev/stevedore/internal/planprint"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render"
)

// FuzzPlanOffline makes the plan of one text after another, of definitions and of
// what travels with them, and prints it in each format: whatever is written there,
// it is no error of ours. The work is bounded by the texts' size and by no clock: a
// busy machine finds nothing that an idle one does not.
func FuzzPlanOffline(f *testing.F) {
	var texts [][]byte
	_ = filepath.WalkDir("../../examples", func(name string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".yaml" {
			if text, err := os.ReadFile(name); err == nil {
				texts = append(texts, text)
			}
		}
		return err
	})
	texts = append(texts, []byte(orders("orders", "3")), []byte(orders("orders", "5")+"---\n"+configMap("m", "1")))
	for i, text := range texts {
		f.Add(text, texts[(i+1)%len(texts)])
		f.Add(text, text)
	}
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, before, after []byte) {
		if len(before)+len(after) > 8<<10 {
			return
		}
		ctx := t.Context()
		renderer := render.InProcess{}
		planner := &offlinePlans{against: "before", renderer: renderer, now: now}
		build := func(text []byte) *render.Build {
			made, err := renderer.Build(ctx, fstest.MapFS{"a.yaml": {Data: text}}, ".")
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		planner.take(build(before))
		var plans []plan.Plan
		var here []render.Cluster
		for _, cluster := range build(after).Clusters {
			if len(cluster.Problems) > 0 {
				continue
			}
			here = append(here, cluster)
			one := renderedCluster{cluster: cluster, dir: "."}
			if planner.touches(cluster) {
				rendered, problems, err := renderer.Render(ctx, cluster, render.Pins{})
				if err != nil {
					t.Fatal(err)
				}
				if len(problems) > 0 {
					continue
				}
				one.rendered = rendered
			}
			made, problems, err := planner.of(ctx, one)
			if err != nil {
				t.Fatal(err)
			}
			if len(problems) == 0 {
				plans = append(plans, made)
			}
		}
		gone, _, err := planner.gone(ctx, here, "")
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, gone...)
		if planprint.ExitCode(plans, nil, false) == planprint.ExitError {
			t.Fatal("plans are no error")
		}
		for _, err := range []error{
			planprint.Text(io.Discard, plans, planprint.TextOptions{Width: 80}),
			planprint.Markdown(io.Discard, plans, planprint.MarkdownOptions{}),
			planprint.JSON(io.Discard, plans),
			planprint.SARIF(io.Discard, planprint.Findings(plans, nil), "1"),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
