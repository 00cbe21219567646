package mutations

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// compiler type-checks single files, so that each mutant is looked at alone and
// all of them within seconds. Of the package's other files it takes what they
// declare, of other packages what a build has made of them.
type compiler struct {
	dir      string
	set      *token.FileSet
	importer types.Importer
	packages map[string]*files // by folder, from the root of the module
}

// files are a package's by name, without the bodies of their functions.
type files struct {
	path     string
	declared map[string]*ast.File
}

// newCompiler knows the packages in these folders and all that they import.
func newCompiler(dir string, folders []string) (*compiler, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	arguments := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}
	for _, folder := range folders {
		arguments = append(arguments, "./"+folder)
	}
	var failure strings.Builder
	list := exec.Command("go", arguments...)
	list.Dir, list.Env, list.Stderr = dir, environment(), &failure
	said, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, failure.String())
	}
	exports := map[string]string{}
	c := &compiler{dir: dir, set: token.NewFileSet(), packages: map[string]*files{}}
	for decoder := json.NewDecoder(strings.NewReader(string(said))); ; {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
		}
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			c.importer = importer.ForCompiler(c.set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
			return c, nil
		case err != nil:
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		folder, err := filepath.Rel(dir, p.Dir)
		if folder = filepath.ToSlash(folder); err != nil || !slices.Contains(folders, folder) {
			continue
		}
		c.packages[folder] = &files{path: p.ImportPath, declared: map[string]*ast.File{}}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(c.set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, decl := range file.Decls {
				if function, ok := decl.(*ast.FuncDecl); ok {
					function.Body = nil
				}
			}
			c.packages[folder].declared[name] = file
		}
	}
}

// check says why a mutant does not compile.
func (c *compiler) check(m mutant) error {
	folder, name := path.Split(m.file)
	p := c.packages[path.Clean(folder)]
	if p == nil || p.declared[name] == nil {
		return fmt.Errorf("no build has %s", m.file)
	}
	whole, err := parser.ParseFile(c.set, filepath.Join(c.dir, m.file), m.text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	checked := []*ast.File{whole}
	for other, file := range p.declared {
		if other != name {
			checked = append(checked, file)
		}
	}
	var wrong []error
	config := types.Config{Importer: c.importer, Error: func(err error) {
		// The other files import what only their bodies use.
		var at types.Error
		if !errors.As(err, &at) || whole.FileStart <= at.Pos && at.Pos <= whole.FileEnd {
			wrong = append(wrong, err)
		}
	}}
	_, _ = config.Check(p.path, c.set, checked, nil) // its error is the first of those
	return errors.Join(wrong...)
}

// A mutant that does not compile shows nothing about its test.
func TestEachMutantCompiles(t *testing.T) {
	g := newGuards(root)
	mutants := map[mutation]mutant{}
	var folders []string
	for _, m := range all() {
		found, err := g.find(m)
		if assert.NoError(t, err) && path.Ext(found.file) == ".go" {
			mutants[m] = found
			folders = append(folders, path.Dir(found.file))
		}
	}
	slices.Sort(folders)
	c, err := newCompiler(root, slices.Compact(folders))
	require.NoError(t, err)
	for m, found := range mutants {
		assert.NoError(t, c.check(found), "%s: %s does not compile without %q", m.of, m.in, m.old)
	}
}

// A check that finds nothing in anything would be green, too.
func TestAMutantThatDoesNotCompileIsNoticed(t *testing.T) {
	c, err := newCompiler(root, []string{"internal/password"})
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "internal/password/password.go"))
	require.NoError(t, err)
	require.NoError(t, c.check(mutant{"internal/password/password.go", text}))
	for _, wrong := range []struct{ body, says string }{
		{"missing()", "undefined: missing"},
		{"x := 1", "declared and not used: x"},
		{"return 1", "too many return values"},
	} {
		broken := append(slices.Clone(text), "\nfunc broken() { "+wrong.body+" }\n"...)
		assert.ErrorContains(t, c.check(mutant{"internal/password/password.go", broken}), wrong.says)
	}
	unused := strings.Replace(string(text), "import (\n", "import (\n\t\"io\"\n", 1)
	assert.ErrorContains(t, c.check(mutant{"internal/password/password.go", []byte(unused)}), `"io" imported and not used`)
}
