package shape

import (
	"fmt"
	"go/ast"
)

// longFunctions are longer than a page. A function within a function counts as part of it.
func longFunctions(t *Tree) (Value, error) {
	var long []sized
	for _, file := range t.below {
		for _, declared := range file.Syntax.Decls {
			ast.Inspect(declared, func(n ast.Node) bool {
				name := "a function literal"
				switch f := n.(type) {
				case *ast.FuncDecl:
					name = nameOf(f)
				case *ast.FuncLit:
				default:
					return true
				}
				lines := t.fset.Position(n.End()).Line - t.fset.Position(n.Pos()).Line + 1
				if lines > longestFunction {
					long = append(long, sized{lines, Finding{t.at(n.Pos()), fmt.Sprintf("%s, %d lines", name, lines)}})
				}
				return false
			})
		}
	}
	return largestFirst(long), nil
}

// nameOf is a function's name, behind the type that it is a method of.
func nameOf(f *ast.FuncDecl) string {
	if of := receiver(f); of != "" {
		return of + "." + f.Name.Name
	}
	return f.Name.Name
}
