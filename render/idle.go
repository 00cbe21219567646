package render

import (
	"bytes"
	"io/fs"

	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/guard"
	"stevedore.dev/stevedore/render/internal/located"
)

// idleImages warns of images, which kustomize puts into containers: a definition has none,
// and the version that was meant stays as it is. With configurations of its own a
// kustomization may know other fields.
func idleImages(tree fs.FS, build guard.Build, items []item) []definition.Problem {
	for _, i := range items {
		if !i.isDefinition() && hasContainers(i.object.Object) {
			return nil
		}
	}
	var problems []definition.Problem
	for _, file := range build.Files {
		if !kustomizationName(file) {
			continue
		}
		data, err := fs.ReadFile(tree, file)
		if err != nil || !bytes.Contains(data, []byte("images")) {
			continue
		}
		documents, _ := located.Parse(data)
		for _, d := range documents {
			images := located.Get(d.Node, "images")
			if len(located.Items(images)) == 0 || located.Get(d.Node, "configurations") != nil {
				continue
			}
			problems = append(problems, definition.Problem{File: file, Line: images.Line + d.Line, Column: images.Column, Path: "images", Warning: true,
				Message: "changes the images of containers, and nothing here has any: the image of a cluster is spec.cluster.imageRegistry and spec.cluster.version"})
		}
	}
	return problems
}

func hasContainers(value any) bool {
	switch value := value.(type) {
	case []any:
		for _, each := range value {
			if hasContainers(each) {
				return true
			}
		}
	case map[string]any:
		for key, each := range value {
			if key == "containers" || key == "initContainers" || hasContainers(each) {
				return true
			}
		}
	}
	return false
}
