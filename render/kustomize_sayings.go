package render

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
	"stevedore.dev/stevedore/internal/spelling"
	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/guard"
	"stevedore.dev/stevedore/render/internal/located"
)

// unmatchedMerge: a strategic merge without a target is for the object that it names, its
// namespace included.
func unmatchedMerge(f *failure, groups []string) []definition.Problem {
	named := identity(groups[1], groups[2], groups[3])
	advice := f.nearly(named)
	var problems []definition.Problem
	for _, p := range f.build.Patches {
		if p.Target != nil || p.JSON || p.Dir != f.dir {
			continue
		}
		documents, _ := located.Parse(p.Data)
		for _, d := range documents {
			if objectAt(d.Node) != named {
				continue
			}
			at := located.Get(d.Node, "metadata", "name")
			line, column := p.Options.Place(at.Line+d.Line, at.Column)
			problems = append(problems, definition.Problem{File: p.Source, Line: line, Column: column, Path: "metadata.name",
				Message: fmt.Sprintf("the patch %s is for %s, which is not there when it is applied: %s", entryName(p), named, advice)})
		}
	}
	return problems
}

// entryName names a patch of a kustomization, for messages that stand at its text.
func entryName(p guard.Patch) string {
	return fmt.Sprintf("(%s of %s:%d)", located.Format([]any{p.Field, p.Index}), p.File, p.Line)
}

// nearly says what an object that is not there may have been meant to be.
func (f *failure) nearly(named objectID) string {
	var names, all []string
	for _, o := range f.resources() {
		switch {
		case o.kind == named.kind && o.name == named.name && o.apiVersion != named.apiVersion:
			return fmt.Sprintf("its apiVersion is %s (%s:%d)", o.apiVersion, o.file, o.line)
		case o.kind == named.kind && o.name == named.name && o.namespace == "":
			return fmt.Sprintf("it names no namespace (%s:%d): leave metadata.namespace out of the patch, or give the patch a target", o.file, o.line)
		case o.kind == named.kind && o.name == named.name && o.namespace != named.namespace:
			return fmt.Sprintf("it is in namespace %s (%s:%d): write metadata.namespace: %s into the patch, or give the patch a target", o.namespace, o.file, o.line, o.namespace)
		case o.kind == named.kind:
			names = append(names, o.name)
		}
		if text := o.String(); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if slices.Contains(madeKinds, named.kind) && len(names) == 0 {
		return "an object that stevedore makes of a definition is changed by spec.patches of the definition"
	}
	if near := spelling.Nearest(named.name, names); near != "" {
		return "did you mean " + near + "?"
	}
	if len(all) == 0 {
		return "write the name of an object that the resources have"
	}
	return "the resources have " + strings.Join(all[:min(len(all), maxListed)], ", ")
}

// duplicateResource: an entry of resources brings what an entry before it has brought.
func duplicateResource(f *failure, groups []string) []definition.Problem {
	n, path := f.entry("resources", func(n *yaml.Node) bool { return n.Value == groups[1] })
	if n == nil {
		return nil
	}
	o := identity(groups[2], groups[3], groups[4])
	return f.at(n, path, "has %s, which is there already%s: keep one; what an overlay changes of it is a patch", o, f.places(o))
}

var mergedPath = regexp.MustCompile(`merging from path '` + treeRoot + `(/[^']*)'`)

func duplicateObject(f *failure, groups []string) []definition.Problem {
	o := identity(groups[1], groups[2], groups[3])
	if all := mergedPath.FindAllStringSubmatch(f.text, -1); len(all) > 0 {
		base := strings.TrimPrefix(all[len(all)-1][1], "/")
		if n, at := f.entry("resources", func(n *yaml.Node) bool { return path.Join(f.dir, n.Value) == base }); n != nil {
			return f.at(n, at, "has %s, which is there already%s: keep one; what an overlay changes of it is a patch", o, f.places(o))
		}
	}
	return f.at(located.Get(f.root, "resources"), []any{"resources"}, "bring %s more than once%s: keep one; what an overlay changes of it is a patch", o, f.places(o))
}

func (f *failure) places(o objectID) string {
	var texts []string
	for _, s := range f.resources() {
		if s.kind == o.kind && s.name == o.name && (s.namespace == o.namespace || s.namespace == "" || o.namespace == "") {
			texts = append(texts, fmt.Sprintf("%s:%d", s.file, s.line))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return " (" + strings.Join(texts, ", ") + ")"
}

// operations finds the operations of JSON patches of the kustomization that failed.
func (f *failure) operations(is func(op, path string) bool) (found []standing, first guard.Patch) {
	for _, p := range f.build.Patches {
		if !p.JSON || p.Dir != f.dir {
			continue
		}
		documents, _ := located.Parse(p.Data)
		for _, d := range documents {
			for _, n := range located.Items(d.Node) {
				op, _ := located.String(located.Get(n, "op"))
				at := located.Get(n, "path")
				if pointer, ok := located.String(at); ok && is(op, pointer) {
					line, column := p.Options.Place(at.Line+d.Line, at.Column)
					found = append(found, standing{file: p.Source, line: line, column: column})
				}
			}
		}
		if len(found) > 0 && first.File == "" {
			first = p
		}
	}
	return found, first
}

func missingPath(f *failure, groups []string) []definition.Problem {
	op, pointer := groups[1], groups[2]
	found, _ := f.operations(func(o, p string) bool { return o == op && (p == pointer || strings.HasPrefix(p, pointer+"/")) })
	advice := "look at what the target has there"
	switch op {
	case "add":
		advice = "add what it is put into first, or write that with all that is in it"
	case "replace":
		advice = "write op: add to make it"
	case "remove":
		advice = "there is nothing to remove: take the operation out"
	}
	return operationProblems(found, fmt.Sprintf("%s: %s is not there when the patch is applied: %s", op, pointer, advice))
}

func failedTest(f *failure, groups []string) []definition.Problem {
	found, _ := f.operations(func(o, p string) bool { return o == "test" && p == groups[1] })
	return operationProblems(found, "test: "+groups[1]+" has another value when the patch is applied: nothing was built")
}

func operationProblems(found []standing, message string) []definition.Problem {
	if len(found) > 1 {
		message += " (in one of the patches that say so)"
	}
	var problems []definition.Problem
	for _, s := range found {
		problems = append(problems, definition.Problem{File: s.file, Line: s.line, Column: s.column, Message: message})
	}
	return problems
}

// unreadableResource: an entry of resources is no Kubernetes object.
func unreadableResource(f *failure, groups []string) []definition.Problem {
	n, at := f.entry("resources", func(n *yaml.Node) bool { return n.Value == groups[1] })
	if n == nil {
		return nil
	}
	why := ""
	switch {
	case strings.Contains(groups[2], "missing metadata.name"):
		why = "an object in it has no metadata.name"
	case strings.Contains(groups[2], "missing kind"), strings.Contains(groups[2], "missing Resource metadata"):
		why = "a document in it has no kind"
	case strings.Contains(groups[2], "empty item"):
		why = "a list in it has an empty entry"
	default:
		return nil
	}
	data, err := fs.ReadFile(f.tree, path.Join(f.dir, groups[1]))
	if err == nil {
		documents, _ := located.Parse(data)
		for _, d := range documents {
			if o := objectAt(d.Node); o.kind == "" || o.name == "" && !strings.HasSuffix(o.kind, "List") {
				return []definition.Problem{{File: path.Join(f.dir, groups[1]), Line: d.Node.Line + d.Line, Column: d.Node.Column,
					Message: "is no Kubernetes object, which each document of a file under resources is: write apiVersion, kind and metadata.name"}}
			}
		}
	}
	return f.at(n, at, "cannot be used: %s", why)
}

func generatorConflict(f *failure, groups []string) []definition.Problem {
	for _, field := range []string{"configMapGenerator", "secretGenerator"} {
		n, at := f.entry(field, func(n *yaml.Node) bool {
			name, _ := located.String(located.Get(n, "name"))
			behavior, _ := located.String(located.Get(n, "behavior"))
			changes := behavior == "merge" || behavior == "replace"
			return name == groups[1] && changes == strings.HasPrefix(groups[2], "does not")
		})
		if n == nil {
			continue
		}
		if strings.HasPrefix(groups[2], "exists") {
			return f.at(n, at, "makes %q, which the resources or bases have already: write behavior: merge or replace, or take another name", groups[1])
		}
		return f.at(n, at, "changes %q, which neither the resources nor the bases have: leave behavior out to make it, or correct the name", groups[1])
	}
	return nil
}

// envFile: the files are not looked into, for they are secrets.
func envFile(f *failure, _ []string) []definition.Problem {
	var problems []definition.Problem
	for _, field := range []string{"configMapGenerator", "secretGenerator"} {
		for i, item := range located.Items(located.Get(f.root, field)) {
			for j, env := range located.Items(located.Get(item, "envs")) {
				problems = append(problems, f.at(env, []any{field, i, "envs", j}, "cannot be read, this file or another of the generators' envs: each line is key=value, a comment behind # or empty")...)
			}
		}
	}
	return problems
}

func replicasOfNothing(f *failure, groups []string) []definition.Problem {
	n, at := f.entry("replicas", func(n *yaml.Node) bool {
		name, _ := located.String(located.Get(n, "name"))
		return name == groups[1]
	})
	return f.at(n, at, "changes a Deployment, a StatefulSet or the like that is called %q, and there is none: the replicas of a definition are changed by a patch of spec.nodes.data", groups[1])
}

func replacementSource(f *failure, groups []string) []definition.Problem {
	o := identity(groups[1], groups[2], groups[3])
	n, at := f.entry("replacements", func(n *yaml.Node) bool {
		kind, _ := located.String(located.Get(n, "source", "kind"))
		name, _ := located.String(located.Get(n, "source", "name"))
		return kind == o.kind && (name == o.name || name == "")
	})
	if n == nil {
		n, at = located.Get(f.root, "replacements"), []any{"replacements"}
	}
	return f.at(n, at, "the source %s is not there when it is looked for: %s", o, f.nearly(o))
}

func replacementField(f *failure, groups []string) []definition.Problem {
	field := groups[1]
	n, at := f.entry("replacements", func(n *yaml.Node) bool {
		source, _ := located.String(located.Get(n, "source", "fieldPath"))
		for _, target := range located.Items(located.Get(n, "targets")) {
			for _, each := range located.Items(located.Get(target, "fieldPaths")) {
				if each.Value == field {
					return true
				}
			}
		}
		return source == field
	})
	if n == nil {
		return nil
	}
	return f.at(n, at, "%s is not there in what it selects: correct the path, or write options: {create: true} at a target to make it", field)
}

// unknownConfiguration: a file of configurations has a field that kustomize does not know.
func unknownConfiguration(f *failure, groups []string) []definition.Problem {
	for i, item := range located.Items(located.Get(f.root, "configurations")) {
		file := path.Join(f.dir, item.Value)
		data, err := fs.ReadFile(f.tree, file)
		if err != nil {
			continue
		}
		documents, _ := located.Parse(data)
		for _, d := range documents {
			for _, p := range located.Pairs(d.Node) {
				if p.Key.Value == groups[1] {
					message := "is no field of a transformer configuration"
					if near := spelling.Nearest(groups[1], configurationFields); near != "" {
						message += ": did you mean " + near + "?"
					}
					return []definition.Problem{{File: file, Line: p.Key.Line + d.Line, Column: p.Key.Column, Path: groups[1], Message: message}}
				}
			}
		}
		if len(located.Items(located.Get(f.root, "configurations"))) == 1 {
			return f.at(item, []any{"configurations", i}, "has a field that kustomize does not know: %s", strconv.Quote(groups[1]))
		}
	}
	return nil
}

var configurationFields = []string{"namePrefix", "nameSuffix", "namespace", "commonLabels", "labels", "templateLabels",
	"volumeClaimTemplateLabels", "commonAnnotations", "nameReference", "varReference", "images", "replicas"}

// wrongType: a value of the kustomization is of a type that kustomize does not take.
func wrongType(f *failure, groups []string) []definition.Problem {
	var path []any
	var keys []string
	for _, key := range strings.Split(groups[2], ".") {
		path, keys = append(path, key), append(keys, key)
	}
	n := located.Get(f.root, keys...)
	if n == nil {
		n = located.Get(f.root, keys[0])
	}
	if n == nil {
		return nil
	}
	words := map[string]string{"bool": "true or false", "number": "a number", "string": "a text", "array": "a list", "object": "a mapping"}
	is, wanted := words[groups[1]], strings.TrimLeft(groups[3], "*")
	switch {
	case wanted == "string":
		wanted = "a text: put it in quotes"
	case wanted == "bool":
		wanted = "true or false"
	case strings.HasPrefix(wanted, "[]"):
		wanted = "a list"
	case strings.HasPrefix(wanted, "int"):
		wanted = "a number"
	default:
		wanted = "a mapping"
	}
	return f.at(n, path, "is %s to kustomize, which takes %s", is, wanted)
}

func namespaceConflict(f *failure, _ []string) []definition.Problem {
	return f.at(located.Get(f.root, "namespace"), []any{"namespace"}, "puts two objects of one kind and name into one namespace: rename one of them, or give it a kustomization of its own")
}

func labelTwice(f *failure, groups []string) []definition.Problem {
	return f.at(located.Get(f.root, "commonLabels"), []any{"commonLabels", groups[1]}, "stands under labels too: keep one")
}
