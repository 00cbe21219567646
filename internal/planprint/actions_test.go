package planprint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The names of actions, such as release-allocation, were printed for people.
func TestEachActionIsASentenceForPeople(t *testing.T) {
	files, err := filepath.Glob("../../ops/model/*.go")
	require.NoError(t, err)
	found := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "ActionKind" {
				return true
			}
			action, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			assert.NotEmpty(t, sentences[action], action)
			assert.False(t, strings.Contains(sentences[action], "-"), action)
			found++
			return true
		})
	}
	assert.Greater(t, found, 40)
}
