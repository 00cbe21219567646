package shape

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ofProcesses are packages that test other processes: their own goroutines only start and watch these.
var ofProcesses = []string{"internal/e2e", "internal/mutations", "internal/readme", "internal/simulation/mutants"}

// oneTest of the pure core starts goroutines: those of the sandbox that it compares with.
const oneTest = "internal/simulation/conformance_sandbox_test.go"

// The race detector finds nothing where there is one goroutine, and makes it up to eight times as slow.
func TestWhatStartsGoroutinesIsTestedWithTheRaceDetector(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	list := regexp.MustCompile(`(?m)^RACED := ((?:.*\\\n)*.*)$`).FindStringSubmatch(string(makefile))
	require.NotNil(t, list)
	var raced []string
	for _, name := range regexp.MustCompile(`\./\S+`).FindAllString(list[1], -1) {
		raced = append(raced, filepath.Clean(name))
	}
	// tested are the folders with tests, started those with goroutines, with one place of each.
	tested, started := map[string]bool{}, map[string]string{}
	tracked, err := exec.Command("git", "-C", "../..", "ls-files", "*.go").Output()
	require.NoError(t, err)
	for _, file := range strings.Fields(string(tracked)) {
		if strings.Contains(file, "/testdata/") || file == oneTest {
			continue
		}
		folder := filepath.Dir(file)
		tested[folder] = tested[folder] || strings.HasSuffix(file, "_test.go")
		if at := goroutines(t, filepath.Join("../..", file), nil); len(at) > 0 {
			started[folder] = at[0]
		}
	}
	assert.Greater(t, len(tested), 80)
	for folder, at := range started {
		if tested[folder] && !slices.Contains(ofProcesses, folder) && !slices.Contains(raced, folder) && !nested(folder) {
			t.Errorf("%s starts a goroutine: its package belongs to those that are tested with the race detector (RACED in the Makefile)", at)
		}
	}
	for _, folder := range raced {
		assert.Contains(t, started, folder, "it starts no goroutine: it need not be tested with the race detector (RACED in the Makefile)")
	}
}

// nested reports whether a folder is of a module of its own.
func nested(folder string) bool {
	for ; folder != "."; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join("../..", folder, "go.mod")); err == nil {
			return true
		}
	}
	return false
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
