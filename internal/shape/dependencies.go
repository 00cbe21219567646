package shape

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
)

// dependencies says which files each file of the core needs: those that declare a name of
// the package, or a method of a type in it, that the file uses. A field of a struct is no
// dependency on another file than that of the struct, whose name is used where it is made.
func dependencies(t *Tree) (map[string][]string, error) {
	imports, err := t.imports()
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, file := range t.core {
		files = append(files, file.Syntax)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	checked, err := (&types.Config{Importer: imports}).Check(core, t.fset, files, info)
	if err != nil {
		return nil, fmt.Errorf("reading the types of %s: %w", core, err)
	}
	needs := map[string][]string{}
	for _, file := range t.core {
		needs[file.Name] = nil
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
