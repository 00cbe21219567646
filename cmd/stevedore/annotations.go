package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"stevedore.dev/stevedore/internal/planprint"
	"stevedore.dev/stevedore/render/definition"
)

// annotations keep what a CI platform shows at its line: what sayProblems said,
// and what a plan refuses.
type annotations struct {
	codeQuality string
	problems    []planprint.Finding
	// warnings stop nothing.
	warnings []planprint.Finding
}

type annotationsKey struct{}

func (a *annotations) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.codeQuality, "code-quality", "", "file to write GitLab's report of code quality to")
}

// begin has problems kept that are said from now on.
func (a *annotations) begin(cmd *cobra.Command) {
	cmd.SetContext(context.WithValue(cmd.Context(), annotationsKey{}, a))
}

// keepProblems keeps problems of a folder for the command's annotations, if it
// has any.
func keepProblems(cmd *cobra.Command, root string, problems []definition.Problem) {
	a, ok := cmd.Context().Value(annotationsKey{}).(*annotations)
	if !ok {
		return
	}
	for _, found := range planprint.Problems(problems) {
		found.Place = placeOf(found.Place, root)
		if found.Level == planprint.LevelWarning {
			a.warnings = append(a.warnings, found)
		} else {
			a.problems = append(a.problems, found)
		}
	}
}

// write gives the platform what it asks for in its own form: workflow commands
// where GitHub's runner reads the log, a report where GitLab's runner takes one.
func (a *annotations) write(cmd *cobra.Command, refused []planprint.Finding) error {
	all := slices.Concat(a.problems, refused, a.warnings)
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		if err := planprint.GitHub(cmd.ErrOrStderr(), all); err != nil {
			return fmt.Errorf("writing annotations: %w", err)
		}
	}
	if a.codeQuality == "" {
		return nil
	}
	file, err := os.Create(a.codeQuality)
	if err != nil {
		return fmt.Errorf("writing the report of code quality: %w", err)
	}
	err = planprint.CodeQuality(file, all)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("writing the report of code quality %s: %w", a.codeQuality, err)
	}
	return nil
}

// placeOf is a place in a snapshot as a platform names it: by the file's path in
// the working tree that we run in or, of a folder elsewhere, in the platform's own
// checkout or the working tree that the file is in. A file that is not there, such as
// one of another revision, has no place.
func placeOf(place planprint.Place, roots ...string) planprint.Place {
	here, err := os.Getwd()
	if err != nil || place.File == "" {
		return planprint.Place{}
	}
	tree, _ := workingTree(here)
	for _, root := range roots {
		file, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(place.File)))
		if err != nil {
			continue
		}
		if _, missing := os.Lstat(file); missing != nil {
			continue
		}
		own, _ := workingTree(filepath.Dir(file))
		checkouts := []string{tree, os.Getenv("CI_PROJECT_DIR"), os.Getenv("GITHUB_WORKSPACE"), own}
		if own == filepath.Dir(file) {
			checkouts[3], _ = filepath.Abs(root) // in no working tree: in the folder that was named
		}
		for _, checkout := range checkouts {
			inside, err := filepath.Rel(checkout, file)
			if checkout == "" || err != nil || !filepath.IsLocal(inside) {
				continue
			}
			place.File = filepath.ToSlash(inside)
			return place
		}
	}
	return planprint.Place{}
}

// locate finds where the definition of a cluster stands, of those of a folder.
func locate(path string, clusters []renderedCluster) planprint.Locate {
	places := map[[2]string]planprint.Place{}
	absolute, err := filepath.Abs(path)
	if err != nil {
		absolute = path
	}
	root, _ := workingTree(absolute)
	for _, c := range clusters {
		if definition := c.cluster.Definition; definition != nil {
			place := planprint.Place{File: definition.File, Line: definition.Line}
			places[[2]string{c.cluster.Namespace, c.cluster.Name}] = placeOf(place, c.root, root, absolute)
		}
	}
	return func(namespace, name string) planprint.Place { return places[[2]string{namespace, name}] }
}
