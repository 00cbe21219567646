package render

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/guard"
)

// buildTimeout is for one run of kustomize; a large overlay takes 10 ms.
const buildTimeout = 30 * time.Second

// BuildTree builds a snapshot's tree into clusters. What is unsafe is refused
// before kustomize sees it, each raw text is checked where it stands, and every
// error is reported at once. It never fails as a whole for one broken cluster:
// that one is among the clusters, with its Problems. While Build.Problems is
// not empty, a cluster that is missing has not been removed: its build may be
// the one that failed.
func BuildTree(ctx context.Context, tree fs.FS, cfg Config) *Build {
	return BuildFolder(ctx, tree, ".", cfg)
}

// BuildFolder is BuildTree of one folder of the tree. Its kustomizations may
// use bases that stand beside it: what may not be left is the tree.
func BuildFolder(ctx context.Context, tree fs.FS, dir string, cfg Config) *Build {
	graph, problems := guard.Check(tree, dir)
	a := &attribution{cfg: cfg, tree: tree, problems: problems, read: map[string]int{}}
	if graph == nil {
		return a.result()
	}
	if slices.ContainsFunc(graph.Builds, func(b guard.Build) bool { return b.Kustomization }) {
		// Before there are several that need it; plain folders do without.
		if err := registerSchema(); err != nil {
			return &Build{Problems: []definition.Problem{{Message: err.Error()}}}
		}
	}
	raw := graph.Definitions()

	results := make([]built, len(graph.Builds))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, build := range graph.Builds {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, buildTimeout)
			defer cancel()
			results[i] = run(ctx, tree, build, cfg)
			return nil
		})
	}
	_ = group.Wait() // no function of it fails: errors are in the results

	a.builds = graph.Builds
	for i, build := range graph.Builds {
		a.problems = append(a.problems, build.Problems...)
		a.problems = append(a.problems, results[i].problems...)
		a.add(build, results[i].items)
		rememberedFiles.keep(results[i].fresh)
	}
	a.consequences(raw)
	a.raw(raw)
	for _, result := range results {
		a.raw(result.idle)
	}
	a.raw(missed(unresolved(graph.Builds, results)))
	a.problems = append(a.problems, unlisted(tree, path.Clean(dir), graph.Builds)...)
	a.own()
	a.duplicates()
	return a.result()
}

// result sorts and merges what was found.
func (a *attribution) result() *Build {
	b := &Build{}
	b.Problems, b.Warnings = definition.Warnings(definition.Merge(a.problems))
	for _, c := range a.clusters {
		for i := range c.Problems {
			c.Problems[i].Cluster = c.Namespace + "/" + c.Name
		}
		c.Problems, c.Warnings = definition.Warnings(definition.Merge(c.Problems))
		if len(c.Problems) > 0 {
			c.Definition = nil
		}
		sortObjects(c.Others)
		for _, o := range c.Others {
			c.OtherFiles = append(c.OtherFiles, c.others[keyOf(o)])
		}
		if c.build.Kustomization {
			c.BuiltBy = kustomizationFile(c.build)
		}
		b.Clusters = append(b.Clusters, c.Cluster)
	}
	slices.SortStableFunc(b.Clusters, func(x, y Cluster) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	// What stops a cluster is said there, once.
	said := func(p definition.Problem) bool {
		return slices.ContainsFunc(b.Clusters, func(c Cluster) bool {
			same := func(q definition.Problem) bool {
				q.Cluster, p.Cluster = "", ""
				return p == q
			}
			return slices.ContainsFunc(c.Problems, same) || slices.ContainsFunc(c.Warnings, same)
		})
	}
	b.Problems, b.Warnings = slices.DeleteFunc(b.Problems, said), slices.DeleteFunc(b.Warnings, said)
	return b
}

// built is one build's outcome.
type built struct {
	items    []item
	problems []definition.Problem
	verdicts []verdict
	// idle is what does nothing, in a kustomization.
	idle []definition.Problem
	// fresh are the files that were not remembered.
	fresh []freshFile
}

// unresolved are the verdicts of all builds. Of a patch of a folder that was not built
// nothing is known.
func unresolved(builds []guard.Build, results []built) []verdict {
	var all []verdict
	for i, build := range builds {
		all = append(all, results[i].verdicts...)
		if results[i].verdicts == nil {
			for _, patch := range build.Patches {
				all = append(all, verdict{patch: patch})
			}
		}
	}
	return all
}

func run(ctx context.Context, tree fs.FS, build guard.Build, cfg Config) built {
	if !build.Kustomization {
		return readFolder(ctx, tree, build, cfg)
	}
	if len(build.Problems) > 0 {
		return built{} // unsafe, or unreadable: kustomize must not see it
	}
	items, verdicts, err := buildOrRecall(ctx, tree, build)
	if err != nil {
		if ctx.Err() != nil {
			return built{problems: []definition.Problem{{File: kustomizationFile(build), Message: fmt.Sprintf("building it took longer than %s, and was ended", buildTimeout)}}}
		}
		return built{problems: explainKustomize(tree, build, err)}
	}
	followGenerated(items)
	return built{items: items, verdicts: verdicts, idle: idleImages(tree, build, items)}
}
