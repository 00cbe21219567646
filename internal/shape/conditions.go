package shape

import (
	"fmt"
	"go/ast"
	"go/token"
)

// longConditions join more terms than a reader keeps in mind. A condition within a term, such
// as an argument of a call, is one of its own.
func longConditions(t *Tree) (Value, error) {
	var long []sized
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		joined, ok := n.(*ast.BinaryExpr)
		if !ok || !joins(joined) {
			return true
		}
		terms := termsOf(joined)
		if len(terms) > longestCondition {
			long = append(long, sized{len(terms), Finding{t.at(joined.Pos()), fmt.Sprintf("%d terms", len(terms))}})
		}
		for _, term := range terms {
			ast.Inspect(term, visit)
		}
		return false
	}
	for _, file := range t.below {
		ast.Inspect(file.Syntax, visit)
	}
	return largestFirst(long), nil
}

func joins(e *ast.BinaryExpr) bool { return e.Op == token.LAND || e.Op == token.LOR }

// termsOf are what && and || join, through parentheses and negations.
func termsOf(e ast.Expr) []ast.Expr {
	switch inner := e.(type) {
	case *ast.ParenExpr:
		return termsOf(inner.X)
	case *ast.UnaryExpr:
		if inner.Op == token.NOT {
			return termsOf(inner.X)
		}
	case *ast.BinaryExpr:
		if joins(inner) {
			return append(termsOf(inner.X), termsOf(inner.Y)...)
		}
	}
	return []ast.Expr{e}
}
