package render

import (
	"context"
	"fmt"
	"testing"

	"stevedore.dev/stevedore/render/definition"
)

func BenchmarkAssemble(b *testing.B) {
	for name, c := range map[string]Cluster{"single": single(), "tiers": tiers()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			m, problems := newModel(c, Config{CloudProvider: CloudAWS}, Pins{})
			if len(problems) > 0 {
				b.Fatal(problems)
			}
			for b.Loop() {
				if _, err := m.ownObjects(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRender(b *testing.B) {
	for name, c := range map[string]Cluster{"single": single(), "tiers": tiers()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, problems := Render(c, Config{CloudProvider: CloudAWS}, Pins{}); len(problems) > 0 {
					b.Fatal(problems)
				}
			}
		})
	}
}

func BenchmarkRenderPatched(b *testing.B) {
	c := changed(tiers(), func(d *definition.CrateDB) {
		d.Spec.Patches = []definition.Patch{{Patch: merge("{template: {spec: {priorityClassName: database}}}")}}
	})
	m, _ := newModel(c, Config{}, Pins{})
	objects, err := m.ownObjects()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, problems := m.userPatches(objects); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}

// BenchmarkBuildTree is a repository of a hundred clusters: plain files, and
// overlays of one base.
func BenchmarkBuildTree(b *testing.B) {
	plain, overlays := files{}, files{
		"base/a.yaml": cluster("", "a", "hot", "cold"), "base/kustomization.yaml": kustomization("resources: [a.yaml]"),
	}
	for i := range 100 {
		plain[fmt.Sprintf("%03d.yaml", i)] = cluster("x", fmt.Sprintf("c%d", i), "hot", "cold")
		overlays[fmt.Sprintf("o%03d/kustomization.yaml", i)] = kustomization(fmt.Sprintf("namespace: n%d", i), "resources: [../base]", "patches:", "- path: p.yaml")
		overlays[fmt.Sprintf("o%03d/p.yaml", i)] = "apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: a}\nspec: {nodes: {data: [{name: cold, replicas: 4}]}}\n"
	}
	for name, tree := range map[string]files{"100 files": plain, "100 overlays": overlays} {
		fsys := tree.fs()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				build := BuildTree(context.Background(), fsys, Config{})
				if len(build.Clusters) != 100 || len(build.Problems) > 0 || len(build.Clusters[0].Problems) > 0 {
					b.Fatal(len(build.Clusters), build.Problems)
				}
			}
		})
	}
}
