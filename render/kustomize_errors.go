package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/guard"
	"stevedore.dev/stevedore/render/internal/located"
)

// failure is what kustomize said of a build, and what is needed to find out where.
type failure struct {
	tree  fs.FS
	build guard.Build
	// text is all that kustomize said, on one line; innermost without what each level of
	// bases has put before it.
	text, innermost string
	// dir is the folder of the kustomization that failed, file the kustomization itself.
	dir, file string
	root      *yaml.Node // nil where it could not be read
	line      int
}

// saying is one kind of error that people meet. Its groups are what kustomize names.
type saying struct {
	pattern *regexp.Regexp
	// explain gives no problem where it cannot say more than kustomize does.
	explain func(f *failure, groups []string) []definition.Problem
}

var sayings = []saying{
	{regexp.MustCompile(`no (?:resource matches strategic merge patch|matches for Id) "?([A-Za-z0-9.~\[\]-]+)/([^"/ ]+)\.([^".; ]+)"?[;:]`), unmatchedMerge},
	{regexp.MustCompile(`merging resources from '([^']*)': may not add resource with an already registered id: ([A-Za-z0-9.~\[\]-]+)/(\S+)\.([^.':\s]+)`), duplicateResource},
	{regexp.MustCompile(`may not add resource with an already registered id: ([A-Za-z0-9.~\[\]-]+)/(\S+)\.([^.':\s]+)`), duplicateObject},
	{regexp.MustCompile(`(add|remove|replace|copy|move|test) operation does not apply: (?:doc is missing (?:path|key|from path)|error in \w+ for path):? ["']?(/[^"':]*)`), missingPath},
	{regexp.MustCompile(`testing (?:value |path )?(/\S+) (?:failed|value)`), failedTest},
	{regexp.MustCompile(`accumulating resources from '([^']*)': (.*)`), unreadableResource},
	{regexp.MustCompile(`merging from generator .*Name:"([^"]*)".* (exists; can not use behavior|does not exist; cannot merge or replace)`), generatorConflict},
	{regexp.MustCompile(`loading KV pairs: env source files: .*?(line \d+|invalid|no such|is not a valid)`), envFile},
	{regexp.MustCompile(`resource with name (\S+) does not match a config with the following GVK`), replicasOfNothing},
	{regexp.MustCompile(`nothing selected by (\S+?)/(\S+?)\.([^.:\s]+)(?::(\S+))?`), replacementSource},
	{regexp.MustCompile("fieldPath `([^`]*)` is missing for replacement source"), replacementField},
	{regexp.MustCompile("unable to find (?:or create )?field \"?([^\"]*?)\"? in replacement target"), replacementField},
	{regexp.MustCompile(`json: unknown field "([^"]*)"`), unknownConfiguration},
	{regexp.MustCompile(`cannot unmarshal (\w+) into Go struct field \w+\.(\S+) of type (\S+)`), wrongType},
	{regexp.MustCompile(`namespace transformation produces ID conflict`), namespaceConflict},
	{regexp.MustCompile(`label name '([^']*)' exists in both commonLabels and labels`), labelTwice},
}

var targetPath = regexp.MustCompile(`(?:of|for) path '` + treeRoot + `(/[^']*)?'`)

// explainKustomize turns what kustomize said of a build into problems where they are.
func explainKustomize(tree fs.FS, build guard.Build, err error) []definition.Problem {
	f := &failure{tree: tree, build: build, dir: build.Dir, file: kustomizationFile(build)}
	f.text = strings.Join(strings.Fields(unescaped(err)), " ")
	if paths := targetPath.FindAllStringSubmatch(f.text, -1); len(paths) > 0 {
		f.dir = path.Clean("./" + paths[len(paths)-1][1])
		f.file = kustomizationIn(tree, f.dir, f.file)
	}
	f.innermost = wrapping.ReplaceAllString(f.text, "")
	if data, err := fs.ReadFile(tree, f.file); err == nil {
		if documents, _ := located.Parse(data); len(documents) > 0 {
			f.root, f.line = documents[0].Node, documents[0].Line
		}
	}
	for _, s := range sayings {
		groups := s.pattern.FindStringSubmatch(f.innermost)
		if groups == nil {
			continue
		}
		if problems := s.explain(f, groups); len(problems) > 0 {
			return problems
		}
	}
	return []definition.Problem{{File: f.file, Message: unexplained + kustomizeMessage(errors.New(unescaped(err)))}}
}

// unexplained is how what begins that kustomize said and that could not be located.
const unexplained = "kustomize cannot build it: "

var escapes = regexp.MustCompile(`\\+(["n])`)

// unescaped: what fails in a component is quoted once more by each level above it.
func unescaped(err error) string {
	text := err.Error()
	if !strings.Contains(text, `accumulateDirectory: "`) {
		return text
	}
	return escapes.ReplaceAllStringFunc(text, func(escape string) string {
		if strings.HasSuffix(escape, "n") {
			return "\n"
		}
		return `"`
	})
}

func kustomizationIn(tree fs.FS, dir, otherwise string) string {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		file := path.Join(dir, name)
		if info, err := fs.Stat(tree, file); err == nil && !info.IsDir() {
			return file
		}
	}
	return otherwise
}

// at is a problem at a node of the kustomization that failed, or of its file.
func (f *failure) at(n *yaml.Node, path []any, format string, args ...any) []definition.Problem {
	p := definition.Problem{File: f.file, Path: located.Format(path), Message: fmt.Sprintf(format, args...)}
	if n != nil {
		p.Line, p.Column = f.line+n.Line, n.Column
	}
	return []definition.Problem{p}
}

// entry finds the item of a list of the kustomization.
func (f *failure) entry(field string, is func(*yaml.Node) bool) (*yaml.Node, []any) {
	for i, item := range located.Items(located.Get(f.root, field)) {
		if is(item) {
			return item, []any{field, i}
		}
	}
	return nil, nil
}

// objectID is an object that a text names as kustomize does.
type objectID struct{ apiVersion, kind, namespace, name string }

func (o objectID) String() string { return o.kind + " " + o.name }

// identity reads a kind such as CrateDB.v1.cloud.crate.io, a name and a namespace.
func identity(gvk, name, namespace string) objectID {
	parts := strings.SplitN(gvk, ".", 3)
	o := objectID{kind: parts[0], name: name, namespace: namespace}
	if len(parts) > 1 && parts[1] != "[noVer]" {
		o.apiVersion = parts[1]
	}
	if len(parts) > 2 && parts[2] != "[noGrp]" {
		o.apiVersion = parts[2] + "/" + o.apiVersion
	}
	if namespace == "[noNs]" {
		o.namespace = ""
	}
	return o
}

func objectAt(n *yaml.Node) objectID {
	get := func(keys ...string) string {
		s, _ := located.String(located.Get(n, keys...))
		return s
	}
	return objectID{get("apiVersion"), get("kind"), get("metadata", "namespace"), get("metadata", "name")}
}

// standing is an object and where it stands.
type standing struct {
	objectID
	file         string
	line, column int
}

// resources are the objects that stand in the files of a build, its patches not.
func (f *failure) resources() []standing {
	var all []standing
	for _, file := range f.build.Files {
		if kustomizationName(file) || slices.ContainsFunc(f.build.Patches, func(p guard.Patch) bool { return p.Source == file }) {
			continue
		}
		data, err := fs.ReadFile(f.tree, file)
		if err != nil {
			continue
		}
		documents, _ := located.Parse(data)
		for _, d := range documents {
			if o := objectAt(d.Node); o.kind != "" && o.name != "" {
				all = append(all, standing{o, file, d.Node.Line + d.Line, d.Node.Column})
			}
		}
	}
	return all
}

func kustomizationName(file string) bool {
	return slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, path.Base(file))
}
