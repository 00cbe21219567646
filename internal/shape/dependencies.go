package shape

import (
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"slices"
)

// dependencies says which files each file of the core needs: those that declare a name of
// its package, or a method of a type in it, that the file uses: Go lets no two packages need
// each other. A field of a struct is no
// dependency on another file than that of the struct, whose name is used where it is made.
func dependencies(t *Tree) (map[string][]string, error) {
	imports, err := t.imports()
	if err != nil {
		return nil, err
	}
	needs, packages := map[string][]string{}, map[string][]*ast.File{}
	for _, file := range t.core {
		needs[file.Name] = nil
		packages[path.Dir(file.Name)] = append(packages[path.Dir(file.Name)], file.Syntax)
	}
	for folder, files := range packages {
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		checked, err := (&types.Config{Importer: imports}).Check(folder, t.fset, files, info)
		if err != nil {
			return nil, fmt.Errorf("reading the types of %s: %w", folder, err)
		}
		for use, object := range info.Uses {
			if object.Pkg() != checked || !isDeclaredByPackage(object, checked) {
				continue
			}
			from, to := t.fset.Position(use.Pos()).Filename, t.fset.Position(object.Pos()).Filename
			if from != to {
				needs[from] = append(needs[from], to)
			}
		}
	}
	for name := range needs {
		slices.Sort(needs[name])
		needs[name] = slices.Compact(needs[name])
	}
	return needs, nil
}

// isDeclaredByPackage leaves out variables of functions, fields and labels.
func isDeclaredByPackage(object types.Object, of *types.Package) bool {
	if f, ok := object.(*types.Func); ok && f.Signature().Recv() != nil {
		return true
	}
	return object.Parent() == of.Scope()
}
