package render

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/guard"
	"stevedore.dev/stevedore/render/internal/located"
)

// unlisted warns of definitions, and of patches of them, beside a kustomization that no
// kustomization names: kustomize does not open them, and a person who put one there sees no
// cluster and no error. Files outside dir may be named by what was not built.
func unlisted(tree fs.FS, dir string, builds []guard.Build) []definition.Problem {
	opened := map[string]bool{}
	for _, b := range builds {
		for _, file := range b.Files {
			opened[file] = true
		}
	}
	var problems []definition.Problem
	for _, b := range builds {
		for _, kustomization := range b.Files {
			folder := path.Dir(kustomization)
			if !b.Kustomization || !kustomizationName(kustomization) || dir != "." && folder != dir && !strings.HasPrefix(folder, dir+"/") {
				continue
			}
			entries, err := fs.ReadDir(tree, folder)
			if err != nil {
				continue
			}
			for _, e := range entries {
				file := path.Join(folder, e.Name())
				if ext := path.Ext(file); opened[file] || strings.HasPrefix(e.Name(), ".") || !slices.Contains([]string{".yaml", ".yml"}, ext) || !e.Type().IsRegular() {
					continue
				}
				opened[file] = true // said once
				if at := definitionIn(tree, file); at != nil {
					at.Message = fmt.Sprintf("no kustomization names this file, so that nothing of it is used: add it to the resources of %s, or to its patches", kustomization)
					problems = append(problems, *at)
				}
			}
		}
	}
	return problems
}

// definitionIn is where a file's first definition says its kind; nil for a file without one, or
// that nobody can read.
func definitionIn(tree fs.FS, file string) *definition.Problem {
	info, err := fs.Stat(tree, file)
	if err != nil || info.Size() > located.MaxBytes {
		return nil
	}
	data, err := fs.ReadFile(tree, file)
	if err != nil || !bytes.Contains(data, []byte(definition.Kind)) {
		return nil
	}
	documents, _ := located.Parse(data)
	for _, d := range documents {
		kind, version := located.Get(d.Node, "kind"), located.Get(d.Node, "apiVersion")
		if kind != nil && version != nil && kind.Value == definition.Kind && version.Value == definition.Group+"/"+definition.Version {
			return &definition.Problem{File: file, Line: kind.Line + d.Line, Column: kind.Column, Path: "kind", Warning: true}
		}
	}
	return nil
}
