package shape

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ofProcesses are packages that test other processes: their own goroutines only start and watch these.
var ofProcesses = []string{"./internal/e2e", "./internal/mutations", "./internal/simulation/mutants"}

// The race detector finds nothing where there is one goroutine, and makes it up to eight times as slow.
func TestWhatIsTestedWithoutTheRaceDetectorStartsNoGoroutine(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	list := regexp.MustCompile(`(?m)^UNRACED := ((?:.*\\\n)*.*)$`).FindStringSubmatch(string(makefile))
	require.NotNil(t, list)
	packages := regexp.MustCompile(`\./\S+`).FindAllString(list[1], -1)
	read := 0
	for _, name := range packages {
		if slices.Contains(ofProcesses, name) {
			continue
		}
		files, err := filepath.Glob(filepath.Join("../..", name, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			read++
			for _, at := range goroutines(t, file, nil) {
				t.Errorf("%s starts a goroutine: its package belongs to those that are tested with the race detector (UNRACED in the Makefile)", at)
			}
		}
	}
	assert.Greater(t, read, 50, "files of %d packages", len(packages))
}

func TestAGoroutineIsSeen(t *testing.T) {
	for text, starts := range map[string]int{
		"go f()":                                   1,
		"if true { defer func() { go f() }() }":    1,
		"var wg sync.WaitGroup; wg.Go(f)":          1,
		"group.Go(func() error { return nil })":    1,
		"f()":                                      0,
		"going.Going(f)":                           0,
		"go func() { go f() }(); wg.Go(func() {})": 3,
	} {
		assert.Len(t, goroutines(t, "a.go", "package p\nfunc g() { "+text+" }\n"), starts, text)
	}
}

// goroutines says where a file starts some: by `go`, or by a method of that name.
func goroutines(t *testing.T, name string, text any) (at []string) {
	t.Helper()
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(syntax, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.GoStmt:
			at = append(at, files.Position(n.Pos()).String())
		case *ast.CallExpr:
			if method, is := n.Fun.(*ast.SelectorExpr); is && method.Sel.Name == "Go" {
				at = append(at, files.Position(n.Pos()).String())
			}
		}
		return true
	})
	return at
}
