package definition

import (
	"strings"

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/internal/spelling"
	"stevedore.dev/stevedore/render/internal/located"
)

// RawOptions say what a text is and where it stands in its file.
type RawOptions struct {
	// Partial: the text is a strategic-merge patch. "$patch" is allowed and
	// null takes a field out.
	Partial bool
	// Ours: the documents are of our kind even where they do not say so (a
	// patch whose target says it).
	Ours bool
	// Line and Column are added to every position: of an inline patch the
	// line of its `|` and the indentation of its text.
	Line, Column int
	// Whole: nothing is merged into the text any more, so required fields and
	// rules across fields are asked for too. Without it that is left to Decode,
	// since an overlay may bring what a base lacks.
	Whole bool
	// Flat: the text does not stand line by line in its file (a quoted or
	// folded scalar), so every problem is at exactly Line and Column.
	Flat bool
}

// Place is where a line and column of the text are in its file; a line of 0 is
// not known, and stays so.
func (o RawOptions) Place(line, column int) (int, int) {
	switch {
	case o.Flat:
		return o.Line, o.Column
	case line > 0:
		line += o.Line
		if column > 0 {
			column += o.Column
		}
	}
	return line, column
}

// report collects problems of one document of a text.
type report struct {
	file     string
	options  RawOptions
	line     int // of the document in its text
	cluster  string
	problems []Problem
}

func (r *report) at(line, column int, path []any, message string) {
	if line > 0 {
		line += r.line
	}
	line, column = r.options.Place(line, column)
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Column: column,
		Path: located.Format(path), Message: message, Cluster: r.cluster})
}

func (r *report) add(n *yaml.Node, path []any, message string) {
	r.at(n.Line, n.Column, path, message)
}

func (r *report) warn(n *yaml.Node, path []any, message string) {
	r.add(n, path, message)
	r.problems[len(r.problems)-1].Warning = true
}

// CheckRaw checks every document of our kind in one YAML file before kustomize
// runs, since a field that a patch brought has no line any more afterwards.
// Documents of other kinds are not looked at. Every error is reported at once;
// a problem's Cluster is the document's own namespace and name, which kustomize
// may still change. A text that is no YAML is one problem for each document
// that cannot be read.
func CheckRaw(file string, data []byte, o RawOptions) []Problem {
	documents, faults := located.Parse(data)
	var problems []Problem
	for _, f := range faults {
		r := report{file: file, options: o}
		r.at(f.Line, f.Column, nil, f.Message)
		problems = append(problems, r.problems...)
	}
	for _, d := range documents {
		problems = append(problems, checkDocument(file, d.Node, d.Line, o, 0)...)
	}
	return Merge(problems)
}

func checkDocument(file string, n *yaml.Node, line int, o RawOptions, depth int) []Problem {
	r := &report{file: file, options: o, line: line}
	kind, _ := located.String(located.Get(n, "kind"))
	if items := located.Get(n, "items"); strings.HasSuffix(kind, "List") && items != nil && depth < 4 {
		// kustomize takes a list apart into its items.
		for _, item := range located.Items(items) {
			r.problems = append(r.problems, checkDocument(file, item, line, o, depth+1)...)
		}
		return r.problems
	}
	if o.Ours {
		r.check(n)
		return r.problems
	}
	switch LikenessOf(n) {
	case Ours:
		r.check(n)
	case Nearly:
		kindProblems(n, r.add)
		r.check(n)
	}
	return r.problems
}

// Likeness says how much an object looks like a definition.
type Likeness int

const (
	Other  Likeness = iota
	Nearly          // its apiVersion or kind has a mistake
	Ours
)

// LikenessOf tells a definition from other objects.
func LikenessOf(n *yaml.Node) Likeness {
	apiVersion, _ := located.String(located.Get(n, "apiVersion"))
	kind, _ := located.String(located.Get(n, "kind"))
	return LooksLike(apiVersion, kind)
}

// LooksLike is LikenessOf by the two fields that it goes by.
func LooksLike(apiVersion, kind string) Likeness {
	group, version, _ := strings.Cut(apiVersion, "/")
	switch {
	case kind == Kind && group == Group && version == Version:
		return Ours
	case kind == Kind, group == Group, strings.EqualFold(kind, Kind):
		return Nearly
	case spelling.Nearest(kind, []string{Kind}) != "" && spelling.Nearest(group, []string{Group}) != "":
		return Nearly
	}
	return Other
}

// kindProblems says what is wrong with the apiVersion and kind of what is nearly ours.
func kindProblems(n *yaml.Node, add reporter) {
	const apiVersion = Group + "/" + Version
	for _, want := range []struct{ key, value string }{{"apiVersion", apiVersion}, {"kind", Kind}} {
		value := located.Get(n, want.key)
		if value == nil {
			add(n, []any{want.key}, "is missing: write "+want.value)
		} else if s, _ := located.String(value); s != want.value {
			add(value, []any{want.key}, "is not that of a definition: write "+want.value)
		}
	}
}

func (r *report) check(n *yaml.Node) {
	if !r.options.Partial {
		namespace, _ := located.String(located.Get(n, "metadata", "namespace"))
		if name, _ := located.String(located.Get(n, "metadata", "name")); name != "" {
			r.cluster = namespace + "/" + name
		}
	}
	c := located.Checker{Report: r.add, Partial: r.options.Partial, Whole: r.options.Whole && !r.options.Partial, Index: index}
	c.Check(root, n, nil)
	values(n, r.add)
	warnings(n, r.warn)
	if c.Whole {
		rules(n, r.add)
	}
}
