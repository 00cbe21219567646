package shape

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// core is the folder of the decision core.
const core = "ops"

// notDeciding are the packages in it that decide nothing: types, rules with their words,
// the look ahead, and what acts and asks.
var notDeciding = []string{"ops/cratedb", "ops/execute", "ops/gates", "ops/model", "ops/plan"}

// decides says whether the files of a folder are the core's own.
func decides(folder string) bool {
	return (folder == core || strings.HasPrefix(folder, core+"/")) && !slices.Contains(notDeciding, folder)
}

// File is a source file.
type File struct {
	// Name is its path from the root, with slashes.
	Name  string
	Lines int
	// Syntax is nil where only its length is of interest.
	Syntax *ast.File
}

// Tree is what is measured.
type Tree struct {
	fset *token.FileSet
	// core are the files of the packages that decide; below are all of ops. Tests are in
	// neither: they may be as long as the cases that they list.
	core, below []File
	// all are the repository's Go files, tests too.
	all []File
	// unwritten are the files that no person can have written.
	unwritten []Finding
	// imports gives what the core imports; only that measure asks which reads types.
	imports func() (types.Importer, error)
}

// Read reads the repository at root. It needs git, for which files belong to it, and the
// go command, for the types of what the core imports.
func Read(root string) (*Tree, error) {
	t := &Tree{fset: token.NewFileSet()}
	t.imports = func() (types.Importer, error) { return exported(root, t.fset) }
	err := filepath.WalkDir(filepath.Join(root, core), func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case entry.IsDir(), !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		short, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		return t.add(filepath.ToSlash(short), text)
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", core, err)
	}
	if len(t.core) == 0 {
		return nil, fmt.Errorf("reading %s: no Go file is in it", core)
	}
	return t, t.list(root)
}

// add parses a file of the core or below it.
func (t *Tree) add(name string, text []byte) error {
	syntax, err := parser.ParseFile(t.fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	file := File{Name: name, Lines: linesOf(text), Syntax: syntax}
	if decides(path.Dir(name)) {
		t.core = append(t.core, file)
	}
	t.below = append(t.below, file)
	return nil
}

// list notes the lengths of all Go files that git knows, and each file that nobody wrote.
func (t *Tree) list(root string) error {
	git := exec.Command("git", "ls-files", "-z")
	git.Dir = root
	out, err := git.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and git has not been told yet
		}
		if err != nil {
			return err
		}
		t.note(name, text)
	}
	return nil
}

// note keeps what the measures of the whole repository ask of a file.
func (t *Tree) note(name string, text []byte) {
	if why := unwritten(text); why != "" {
		t.unwritten = append(t.unwritten, Finding{name, why})
	}
	if strings.HasSuffix(name, ".go") {
		t.all = append(t.all, File{Name: name, Lines: linesOf(text)})
	}
}

// linesOf counts as wc -l does.
func linesOf(text []byte) int { return bytes.Count(text, []byte{'\n'}) }

// at is a position as people and editors write it.
func (t *Tree) at(pos token.Pos) string {
	where := t.fset.Position(pos)
	return fmt.Sprintf("%s:%d", where.Filename, where.Line)
}
