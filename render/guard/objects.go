package guard

import (
	"strings"

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/internal/located"
)

// functionAnnotations make kustomize, kpt and others run a container or a
// program for an object.
var functionAnnotations = []string{
	"config.kubernetes.io/function", "config.k8s.io/function", "alpha.config.kubernetes.io/function",
}

// object refuses what no document of the graph may be, whatever its kind. Its
// messages quote nothing of the document, which may be a Secret.
func object(n *yaml.Node, add func(n *yaml.Node, path []any, message string), depth int) {
	if n.Kind != yaml.MappingNode {
		return
	}
	kind, _ := located.String(located.Get(n, "kind"))
	apiVersion, _ := located.String(located.Get(n, "apiVersion"))
	if items := located.Get(n, "items"); strings.HasSuffix(kind, "List") && depth < 4 {
		for _, item := range located.Items(items) {
			object(item, add, depth+1)
		}
	}
	for _, p := range located.Pairs(located.Get(n, "metadata", "annotations")) {
		for _, function := range functionAnnotations {
			if p.Key.Value == function {
				add(p.Key, []any{"metadata", "annotations", function},
					"functions-not-supported: a function is a program or a container that is run: commit what it makes")
			}
		}
	}
	if sops := located.Get(n, "sops"); sops != nil && located.Get(sops, "mac") != nil {
		add(sops, []any{"sops"}, "sops-not-supported: encrypted files are not decrypted yet: create the Secret in the cluster by another way")
	}
	switch {
	case kind == "HelmChartInflationGenerator":
		add(n, []any{"kind"}, "helm-not-supported: a chart is a program from the network: commit what it renders")
	case strings.HasPrefix(apiVersion, "kustomize.config.k8s.io/"):
		add(n, []any{"kind"}, "is a kustomization: name it kustomization.yaml in a folder of its own and name that folder")
	}
	if depth == 0 && definition.LikenessOf(n) == definition.Other {
		c := located.Checker{Report: add}
		c.Duplicates(n)
	}
}

// plainObjects: each document of a folder without a kustomization is an object.
func plainObjects(file string, data []byte, _ definition.RawOptions) []definition.Problem {
	var problems []definition.Problem
	documents, _ := located.Parse(data)
	for _, d := range documents {
		kind, _ := located.String(located.Get(d.Node, "kind"))
		apiVersion, _ := located.String(located.Get(d.Node, "apiVersion"))
		missing := ""
		switch {
		case d.Node.Kind != yaml.MappingNode:
			missing = "apiVersion and kind"
		case definition.LooksLike(apiVersion, kind) != definition.Other:
			continue // said with all else that is wrong with it
		case kind == "" && apiVersion == "":
			missing = "apiVersion or kind"
		case kind == "":
			missing = "kind"
		case apiVersion == "":
			missing = "apiVersion"
		default:
			continue
		}
		problems = append(problems, definition.Problem{File: file, Line: d.Node.Line + d.Line, Column: d.Node.Column,
			Message: "is no Kubernetes object, which each YAML document of a folder without a kustomization is: it has no " + missing +
				"; move what is none into another folder, or write a kustomization that names the files that count"})
	}
	return problems
}
