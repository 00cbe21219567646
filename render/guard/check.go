package guard

import (
	"cmp"
	"io/fs"
	"path"
	"slices"

	"stevedore.dev/stevedore/render/definition"
)

// Check walks what dir of fsys builds, before kustomize runs, and gives the
// builds and every problem with its file and line; it opens no network. With a
// kustomization in dir that is the one build. Without, every kustomization
// below that no other one names is a build of its own, and all YAML files that
// belong to none are one more; hidden files and folders are passed over.
// A problem that belongs to no build is in the second result only, which holds
// all of them. A *Graph is given in any case.
func Check(fsys fs.FS, dir string) (*Graph, []definition.Problem) {
	dir = path.Clean(dir)
	w := &walker{fsys: fsys, units: map[string]*unit{}, seen: map[string]bool{}}
	g := &Graph{}
	if !fs.ValidPath(dir) {
		return g, []definition.Problem{{File: dir, Message: "is no folder inside the tree"}}
	}
	real, err := resolve(fsys, dir)
	if err != nil {
		return g, []definition.Problem{{File: dir, Message: fileError(err)}}
	}
	dir = real
	if info, err := fs.Stat(fsys, dir); err != nil {
		return g, []definition.Problem{{File: dir, Message: fileError(err)}}
	} else if !info.IsDir() {
		return g, []definition.Problem{{File: dir, Message: "is no folder: name the one that it is in"}}
	}
	var stray []definition.Problem
	if len(kustomizationsIn(fsys, dir)) > 0 {
		w.kustomization(dir)
		g.Builds = []Build{w.build(dir)}
	} else {
		p := &plan{walker: w}
		p.folder(dir, false)
		stray = p.problems
		g.Builds = p.builds(dir)
	}
	g.Texts = w.texts
	w.overweight(g.Builds)
	all := stray
	for i := range g.Builds {
		g.Builds[i].Problems = definition.Merge(g.Builds[i].Problems)
		all = append(slices.Clip(all), g.Builds[i].Problems...)
	}
	return g, definition.Merge(all)
}

// build is a kustomization with all that it needs.
func (w *walker) build(dir string) Build {
	b := Build{Dir: dir, Kustomization: true}
	seen := map[string]bool{}
	var visit func(dir string)
	visit = func(dir string) {
		u := w.units[dir]
		if u == nil || seen[dir] {
			return
		}
		seen[dir] = true
		b.Files = append(b.Files, u.files...)
		b.Problems = append(b.Problems, u.problems...)
		b.Patches = append(b.Patches, u.patches...)
		for _, need := range u.needs {
			visit(need)
		}
	}
	visit(dir)
	slices.Sort(b.Files)
	b.Files = slices.Compact(b.Files)
	slices.SortStableFunc(b.Patches, func(x, y Patch) int { return cmp.Compare(x.File, y.File) })
	return b
}

// plan is a folder without a kustomization.
type plan struct {
	*walker
	dirs     []string // with a kustomization
	files    []string // that belong to none
	problems []definition.Problem
}

// folder lists a folder; inside of a kustomization only other kustomizations
// count, its files are its own business.
func (p *plan) folder(dir string, owned bool) {
	if len(kustomizationsIn(p.fsys, dir)) > 0 {
		p.dirs = append(p.dirs, dir)
		owned = true
	}
	list, err := fs.ReadDir(p.fsys, dir)
	if err != nil {
		p.problems = append(p.problems, definition.Problem{File: dir, Message: fileError(err)})
		return
	}
	for _, e := range list {
		name := path.Join(dir, e.Name())
		switch {
		case hidden(e.Name()):
		case e.IsDir():
			p.folder(name, owned)
		case owned:
		case e.Type()&fs.ModeSymlink != 0:
			p.link(name)
		case isYAML(name):
			p.files = append(p.files, name)
		}
	}
}

// link: a linked file counts as the file it leads to; a linked folder is not
// gone into, since it could lead in a circle.
func (p *plan) link(name string) {
	real, err := resolve(p.fsys, name)
	if err != nil {
		p.problems = append(p.problems, definition.Problem{File: name, Message: fileError(err)})
		return
	}
	info, err := fs.Stat(p.fsys, real)
	switch {
	case err != nil:
		p.problems = append(p.problems, definition.Problem{File: name, Message: fileError(err)})
	case info.IsDir():
		p.problems = append(p.problems, definition.Problem{File: name,
			Message: "is a link to a folder, which is not gone into: add a kustomization that names it"})
	case isYAML(name):
		p.files = append(p.files, name)
	}
}

func (p *plan) builds(root string) []Build {
	for _, dir := range p.dirs {
		p.kustomization(dir)
	}
	named := map[string]bool{}
	opened := map[string]bool{}
	for _, u := range p.units {
		for _, need := range u.needs {
			named[need] = true
		}
		for _, file := range u.files {
			opened[file] = true
		}
	}
	var builds []Build
	covered := map[string]bool{}
	take := func(dir string) {
		b := p.build(dir)
		builds = append(builds, b)
		for _, file := range b.Files {
			covered[file] = true
		}
	}
	for _, dir := range p.dirs {
		if u := p.units[dir]; !named[dir] && !u.component {
			take(dir)
		}
	}
	// In a circle each is named by another one: it has to be reported still.
	for _, dir := range p.dirs {
		if files := p.units[dir].files; named[dir] && len(files) > 0 && !covered[files[0]] {
			take(dir)
		}
	}
	plain := Build{Dir: root}
	for _, file := range p.files {
		if opened[file] {
			continue
		}
		plain.Files = append(plain.Files, file)
		data, message := readYAML(p.fsys, file)
		if message != "" {
			plain.Problems = append(plain.Problems, definition.Problem{File: file, Message: message})
			continue
		}
		p.text(Text{File: file, Role: RoleResource, Data: data})
		plain.Problems = append(plain.Problems, remembered("objects", file, data, definition.RawOptions{}, objects)...)
		plain.Problems = append(plain.Problems, remembered("plain", file, data, definition.RawOptions{}, plainObjects)...)
	}
	if len(plain.Files) > 0 {
		slices.Sort(plain.Files)
		builds = append(builds, plain)
	}
	return builds
}
