package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/internal/spelling"
	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/internal/located"
)

// maxKustomizations bounds the graph of one tree.
const maxKustomizations = 10_000

// LeadsOut is how what is said of a path begins that leaves the tree.
const LeadsOut = "leads out of the tree"

// unit is one kustomization of the graph.
type unit struct {
	dir       string
	component bool
	files     []string
	needs     []string // other units, by dir, as often as they are named
	bytes     int64    // of what it reads itself
	open      bool     // being walked, so that naming it again is a circle
	problems  []definition.Problem
	patches   []Patch
}

type walker struct {
	fsys  fs.FS
	units map[string]*unit
	texts []Text
	seen  map[string]bool // file and role of texts
}

// add reports a problem of a unit at a node of a file.
func (u *unit) add(file string, line, column int, path []any, message string) {
	u.problems = append(u.problems, definition.Problem{File: file, Line: line, Column: column,
		Path: located.Format(path), Message: message})
}

// kustomization walks one folder's kustomization and what it names, once.
func (w *walker) kustomization(dir string) *unit {
	if u, ok := w.units[dir]; ok {
		return u
	}
	u := &unit{dir: dir, open: true}
	w.units[dir] = u
	defer func() { u.open = false }()
	files := kustomizationsIn(w.fsys, dir)
	if len(files) == 0 {
		return u
	}
	u.files = append(u.files, files...)
	for _, second := range files[1:] {
		u.add(second, 0, 0, nil, "is a second kustomization beside "+path.Base(files[0])+": keep one")
	}
	file := files[0]
	if _, err := resolve(w.fsys, file); err != nil {
		u.add(file, 0, 0, nil, fileError(err))
		return u
	}
	data, message := readYAML(w.fsys, file)
	if message != "" {
		u.add(file, 0, 0, nil, message)
		return u
	}
	u.bytes += int64(len(data))
	w.text(Text{File: file, Role: RoleKustomization, Data: data})
	documents, faults := located.Parse(data)
	for _, f := range faults {
		u.add(file, f.Line, f.Column, nil, f.Message)
	}
	if len(documents) == 0 {
		if len(faults) == 0 {
			u.add(file, 0, 0, nil, "is empty: name the resources")
		}
		return u
	}
	if len(documents) > 1 {
		second := documents[1]
		u.add(file, second.Node.Line+second.Line, second.Node.Column, nil, "is a second document: a kustomization is one")
	}
	r := &reading{walker: w, unit: u, file: file, data: data, line: documents[0].Line}
	r.kustomization(documents[0].Node)
	return u
}

func (w *walker) text(t Text) {
	key := string(t.Role) + "\x00" + t.File
	if t.Options.Line == 0 && t.Options.Column == 0 {
		if t.Ours {
			key += "\x00ours"
		}
		if w.seen[key] {
			return
		}
		w.seen[key] = true
	}
	w.texts = append(w.texts, t)
}

// reading is one kustomization file as it is gone through.
type reading struct {
	*walker
	unit *unit
	file string
	data []byte
	line int // of the document in its file
	// entry is the patch that is being read, field and index where it stands.
	entry *yaml.Node
	field string
	index int
}

func (r *reading) add(n *yaml.Node, path []any, message string) {
	r.unit.add(r.file, n.Line+r.line, n.Column, path, message)
}

func (r *reading) kustomization(n *yaml.Node) {
	c := located.Checker{Report: r.add}
	c.Check(kustomizationFields, n, nil)
	if n.Kind != yaml.MappingNode {
		return
	}
	r.kind(n)
	r.functions(n)
	oldBooleans(n, nil, r.add)
	for _, field := range []string{"resources", "bases"} {
		for i, item := range located.Items(located.Get(n, field)) {
			r.resource(item, []any{field, i}, field == "bases")
		}
	}
	for i, item := range located.Items(located.Get(n, "components")) {
		if dir, ok := r.local(item, []any{"components", i}); ok {
			r.folder(item, []any{"components", i}, dir, true)
		}
	}
	for i, item := range located.Items(located.Get(n, "patchesStrategicMerge")) {
		r.entry, r.field, r.index = item, "patchesStrategicMerge", i
		r.patch(item, nil, []any{"patchesStrategicMerge", i})
	}
	for _, field := range []string{"patches", "patchesJson6902"} {
		for i, item := range located.Items(located.Get(n, field)) {
			r.entry, r.field, r.index = item, field, i
			r.patchEntry(item, []any{field, i}, field == "patchesJson6902")
		}
	}
	for i, item := range located.Items(located.Get(n, "replacements")) {
		if p := located.Get(item, "path"); p != nil {
			at := []any{"replacements", i, "path"}
			if data, file, ok := r.open(p, at); ok {
				r.other(file, data, RoleReplacement)
			}
		}
	}
	for i, item := range located.Items(located.Get(n, "configurations")) {
		if data, file, ok := r.open(item, []any{"configurations", i}); ok {
			r.other(file, data, RoleConfiguration)
		}
	}
	for _, field := range []string{"configMapGenerator", "secretGenerator"} {
		r.generators(n, field)
	}
}

func (r *reading) kind(n *yaml.Node) {
	kindNode := located.Get(n, "kind")
	kind, _ := located.String(kindNode)
	switch kind {
	case "", "Kustomization":
	case "Component":
		r.unit.component = true
	default:
		message := "is neither Kustomization nor Component"
		if near := spelling.Nearest(kind, []string{"Kustomization", "Component"}); near != "" {
			message += ": did you mean " + near + "?"
		}
		r.add(kindNode, []any{"kind"}, message)
	}
	if v := located.Get(n, "apiVersion"); v != nil {
		if s, ok := located.String(v); ok && !strings.HasPrefix(s, "kustomize.config.k8s.io/v1") {
			r.add(v, []any{"apiVersion"}, "is not that of a kustomization: write kustomize.config.k8s.io/v1beta1")
		}
	}
}

func (r *reading) functions(n *yaml.Node) {
	for _, p := range located.Pairs(located.Get(n, "metadata", "annotations")) {
		if slices.Contains(functionAnnotations, p.Key.Value) {
			r.add(p.Key, []any{"metadata", "annotations", p.Key.Value},
				"functions-not-supported: a function is a program or a container that is run: commit what it makes")
		}
	}
}

// local gives the tree's path that a scalar of the kustomization means.
func (r *reading) local(n *yaml.Node, at []any) (string, bool) {
	value, ok := located.String(n)
	if !ok {
		return "", false // said by the fields' check
	}
	return r.localValue(n, at, value)
}

func (r *reading) localValue(n *yaml.Node, at []any, value string) (string, bool) {
	if message := remote(value); message != "" {
		r.add(n, at, message)
		return "", false
	}
	name := path.Join(r.unit.dir, value)
	if name == ".." || strings.HasPrefix(name, "../") {
		r.add(n, at, LeadsOut+": keep what is built inside of it")
		return "", false
	}
	real, err := resolve(r.fsys, name)
	if err != nil {
		r.add(n, at, r.missing(value, name, err))
		return "", false
	}
	if info, err := fs.Stat(r.fsys, real); err != nil {
		r.add(n, at, r.missing(value, name, err))
		return "", false
	} else if info.IsDir() {
		return real, true
	}
	return name, true
}

// missing says what is wrong with a path that cannot be opened, and which one was most likely meant.
func (r *reading) missing(value, name string, err error) string {
	if !errors.Is(err, fs.ErrNotExist) {
		return fileError(err)
	}
	message := fmt.Sprintf("%q is not there", value)
	meant := spelling.Path(".", strings.Split(name, "/"), func(folder string) []string { return namesIn(r.fsys, folder) })
	if near, err := filepath.Rel(r.unit.dir, meant); meant != "" && err == nil {
		message += ": did you mean " + filepath.ToSlash(near) + "?"
	}
	return message
}

// open reads a YAML file that the kustomization names. kustomize reads files
// only in its own folder and below.
func (r *reading) open(n *yaml.Node, at []any) ([]byte, string, bool) {
	name, ok := r.local(n, at)
	if !ok || !r.below(n, at, name) {
		return nil, "", false
	}
	data, message := readYAML(r.fsys, name)
	if message != "" {
		r.add(n, at, message)
		return nil, "", false
	}
	r.note(name)
	r.unit.bytes += int64(len(data))
	return data, name, true
}

func (r *reading) below(n *yaml.Node, at []any, name string) bool {
	real, err := resolve(r.fsys, name)
	if err != nil {
		r.add(n, at, fileError(err))
		return false
	}
	if r.unit.dir == "." || strings.HasPrefix(real, r.unit.dir+"/") {
		return true
	}
	r.add(n, at, "is outside of the kustomization's folder, where kustomize reads no file: give its folder a kustomization of its own and name the folder")
	return false
}

func (r *reading) note(file string) {
	if !slices.Contains(r.unit.files, file) {
		r.unit.files = append(r.unit.files, file)
	}
}

func (r *reading) resource(n *yaml.Node, at []any, folderOnly bool) {
	name, ok := r.local(n, at)
	if !ok {
		return
	}
	if info, err := fs.Stat(r.fsys, name); err == nil && info.IsDir() {
		r.folder(n, at, name, false)
		return
	}
	if folderOnly {
		r.add(n, at, "is no folder: write it under resources")
		return
	}
	if slices.Contains(kustomizationNames, path.Base(name)) {
		r.add(n, at, "is a kustomization: name its folder")
		return
	}
	data, file, ok := r.open(n, at)
	if !ok {
		return
	}
	r.text(Text{File: file, Role: RoleResource, Data: data})
	r.objects(file, data)
}

// folder walks into another kustomization.
func (r *reading) folder(n *yaml.Node, at []any, dir string, component bool) {
	if dir == r.unit.dir {
		r.add(n, at, "is the kustomization's own folder")
		return
	}
	if strings.HasPrefix(r.unit.dir, dir+"/") || dir == "." {
		// kustomize refuses a base that holds what names it.
		r.add(n, at, "holds the kustomization that names it, a circle: move the base into a folder beside it")
		return
	}
	if _, err := fs.ReadDir(r.fsys, dir); err != nil {
		r.add(n, at, fileError(err))
		return
	}
	if len(kustomizationsIn(r.fsys, dir)) == 0 {
		r.add(n, at, "has no kustomization.yaml: add one, or name its files")
		return
	}
	if len(r.units) >= maxKustomizations {
		r.add(n, at, fmt.Sprintf("is one of more than %d kustomizations", maxKustomizations))
		return
	}
	if u, ok := r.units[dir]; ok && u.open {
		r.add(n, at, "names a kustomization that leads back here, a circle")
		r.unit.needs = append(r.unit.needs, dir)
		return
	}
	r.unit.needs = append(r.unit.needs, dir)
	u := r.walker.kustomization(dir)
	switch {
	case component && !u.component && len(u.problems) == 0:
		r.add(n, at, "is no component: write kind: Component in its kustomization, or name it under resources")
	case !component && u.component:
		r.add(n, at, "is a component: name it under components")
	}
}

// objects checks each document of a file of objects or patches.
func (r *reading) objects(file string, data []byte) {
	r.unit.problems = append(r.unit.problems, remembered("objects", file, data, definition.RawOptions{}, objects)...)
}

func objects(file string, data []byte, o definition.RawOptions) []definition.Problem {
	var problems []definition.Problem
	place := func(line, column int, path []any, message string) {
		line, column = o.Place(line, column)
		problems = append(problems, definition.Problem{File: file, Line: line, Column: column,
			Path: located.Format(path), Message: message})
	}
	documents, faults := located.Parse(data)
	for _, f := range faults {
		place(f.Line, f.Column, nil, f.Message)
	}
	for _, d := range documents {
		object(d.Node, func(n *yaml.Node, path []any, message string) {
			place(n.Line+d.Line, n.Column, path, message)
		}, 0)
	}
	return problems
}

func (r *reading) other(file string, data []byte, role Role) {
	r.text(Text{File: file, Role: role, Data: data})
	documents, faults := located.Parse(data)
	for _, f := range faults {
		r.unit.add(file, f.Line, f.Column, nil, f.Message)
	}
	for _, d := range documents {
		c := located.Checker{Report: func(n *yaml.Node, path []any, message string) {
			r.unit.add(file, n.Line+d.Line, n.Column, path, message)
		}}
		c.Duplicates(d.Node)
		if role != RoleReplacement {
			continue
		}
		items := []*yaml.Node{d.Node}
		if d.Node.Kind == yaml.SequenceNode {
			items = located.Items(d.Node)
		}
		for _, item := range items {
			c.Check(replacementFile, item, nil)
		}
	}
}
