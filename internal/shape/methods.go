package shape

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
)

// mostMethods counts those of the core's type that has the most: each of them may change
// all that the type holds, and none of them can be read without knowing it.
func mostMethods(t *Tree) (Value, error) {
	total, files := map[string]int{}, map[string]map[string]int{}
	for _, file := range t.core {
		for _, declared := range file.Syntax.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok || receiver(f) == "" {
				continue
			}
			of := receiver(f)
			if folder := path.Dir(file.Name); folder != core {
				of = path.Base(folder) + "." + of
			}
			if files[of] == nil {
				files[of] = map[string]int{}
			}
			total[of]++
			files[of][file.Name]++
		}
	}
	var value Value
	for _, of := range slices.Sorted(maps.Keys(total)) {
		if total[of] > value.Count {
			value.Count, value.Of = total[of], of
		}
	}
	var by []sized
	for _, name := range slices.Sorted(maps.Keys(files[value.Of])) {
		n := files[value.Of][name]
		by = append(by, sized{n, Finding{name, fmt.Sprintf("%d of its methods", n)}})
	}
	value.Findings = largestFirst(by).Findings
	return value, nil
}

// receiver is the type that a function is a method of; "" for none.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	for of := f.Recv.List[0].Type; ; {
		switch typed := of.(type) {
		case *ast.StarExpr:
			of = typed.X
		case *ast.ParenExpr:
			of = typed.X
		case *ast.IndexExpr:
			of = typed.X
		case *ast.IndexListExpr:
			of = typed.X
		case *ast.Ident:
			return typed.Name
		default:
			return ""
		}
	}
}
