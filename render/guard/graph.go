// Package guard looks at a user's tree before kustomize does: it walks the
// graph of kustomizations and refuses, with file and line, what could leave
// the tree, reach the network, run a program or eat all memory. kustomize
// resolves a remote base with git before any look at the file system, and one
// tenant's `openapi:` changes everyone's merges for the life of the process,
// so none of that may be left to kustomize itself.
package guard

import (
	"regexp"

	"stevedore.dev/stevedore/render/definition"
)

// Role is what a text of the graph is to the kustomization that names it.
type Role string

const (
	RoleKustomization  Role = "kustomization"
	RoleResource       Role = "resource"
	RoleStrategicMerge Role = "strategic-merge"
	RoleJSONPatch      Role = "json6902"
	RoleReplacement    Role = "replacement"
	RoleConfiguration  Role = "configuration"
	// RoleGenerator is a file that a ConfigMap or Secret is made of: its
	// content is data, never looked at.
	RoleGenerator Role = "generator"
)

// Text is one file, or one inline patch of a file, and the role it has. A file
// that has two roles stands twice.
type Text struct {
	File string // slash path inside fsys
	Role Role
	// Data is the text itself; nil for RoleGenerator.
	Data []byte
	// Ours: the text is a patch whose target says that it may concern a
	// definition. Resources and strategic-merge patches without a target carry
	// their own kind, Ours is false for them.
	Ours bool
	// Options are for definition.CheckRaw and definition.CheckJSONPatch.
	Options definition.RawOptions
}

// Build is one run of kustomize.
type Build struct {
	// Dir is the folder of the kustomization or, when Kustomization is false,
	// the folder whose plain YAML files are built together ("." is fsys's root).
	Dir           string
	Kustomization bool
	// Files are every file that this build opens, sorted, its bases' and
	// components' too. Of a plain folder: the resources, subfolders included,
	// those with problems too.
	Files []string
	// Problems are those in Files; any of them means kustomize must not run for
	// this build (of a plain folder: not with that file).
	Problems []definition.Problem
	// Patches are those of its kustomizations, its bases' and components' too, each
	// once, in the order of their files.
	Patches []Patch
}

// Patch is one entry of a kustomization's patches.
type Patch struct {
	// File is the kustomization that names it, Dir its folder.
	File, Dir string
	// Component: what it is applied to is the business of who names the component.
	Component bool
	// Field is the kustomization's field, Index the entry's place in it.
	Field string
	Index int
	// Line and Column are the entry's own.
	Line, Column int
	// Target is nil where the patch names its object itself.
	Target *Selector
	// JSON: a JSON 6902 patch, else a strategic merge.
	JSON bool
	// Source, Data and Options are the patch's text and where it stands.
	Source  string
	Data    []byte
	Options definition.RawOptions
}

// Selector is a patch's target as it is written; "" is any. Group, Version, Kind,
// Name and Namespace are regular expressions to kustomize.
type Selector struct {
	Group, Version, Kind, Name, Namespace, LabelSelector, AnnotationSelector string
}

// NamesOne is true where the name is that of one object. kustomize reads a name as a regular
// expression, which a plain name is too.
func (s Selector) NamesOne() bool { return s.Name != "" && regexp.QuoteMeta(s.Name) == s.Name }

// Graph is what Check found.
type Graph struct {
	Builds []Build
	Texts  []Text
}

// Definitions runs the definition's strict checks over every text of the graph
// that may concern one: whole documents, partial and inline patches.
func (g *Graph) Definitions() []definition.Problem {
	var problems []definition.Problem
	for _, t := range g.Texts {
		switch t.Role {
		case RoleResource, RoleStrategicMerge:
			problems = append(problems, remembered("definition", t.File, t.Data, t.Options, definition.CheckRaw)...)
		case RoleJSONPatch:
			if t.Ours {
				problems = append(problems, definition.CheckJSONPatch(t.File, t.Data, t.Options)...)
			}
		}
	}
	return definition.Merge(problems)
}
