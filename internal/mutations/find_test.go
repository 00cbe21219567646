package mutations

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// declaration is a function, or a constant or variable that stands in no
// function, without the comment above it.
type declaration struct {
	// file, from the root of the module, and the part of it.
	file     string
	from, to int
	// head is what others see of it: all before the body of a function.
	head int
	text []byte
	// qualifiers are its package and its receiver, for names that there are twice.
	qualifiers []string
}

// folder has what is declared in a folder and all below it.
type folder struct {
	declared map[string][]declaration
	// tests are the folders of the packages that a test stands in.
	tests map[string][]string
}

// guards finds what the lists name. Each folder is read once.
type guards struct {
	root string
	read map[string]*folder
}

func newGuards(root string) *guards { return &guards{root: root, read: map[string]*folder{}} }

// mutant is a file without one guard.
type mutant struct {
	file string
	text []byte
}

// unexported makes nothing of the difference between paused and Paused.
func unexported(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToLower(first)) + name[size:]
}

// find is the file in which the guard of m stands, without it.
func (g *guards) find(m mutation) (mutant, error) {
	if m.old == m.new {
		return mutant{}, fmt.Errorf("%s: nothing is taken out of %s", m.of, m.in)
	}
	if strings.Contains(m.in, "/") {
		text, err := os.ReadFile(filepath.Join(g.root, m.in))
		if err != nil {
			return mutant{}, err
		}
		whole := declaration{file: m.in, to: len(text)}
		return whole.without(m, text)
	}
	below, err := g.below(m.below)
	if err != nil {
		return mutant{}, err
	}
	qualifier, name, qualified := strings.Cut(m.in, ".")
	if !qualified {
		qualifier, name = "", m.in
	}
	var named, have []declaration
	var where, choice []string
	for _, d := range below.declared[unexported(name)] {
		if qualified && !slices.Contains(d.qualifiers, unexported(qualifier)) {
			continue
		}
		named = append(named, d)
		where = append(where, d.file)
		if bytes.Contains(d.text, []byte(m.old)) {
			have = append(have, d)
			for _, q := range d.qualifiers {
				choice = append(choice, fmt.Sprintf("%s.%s (%s)", q, name, d.file))
			}
		}
	}
	switch {
	case len(named) == 0:
		return mutant{}, fmt.Errorf("%s: no function %s is below %s: name the one in which this stands now: %q", m.of, m.in, m.below, m.old)
	case len(have) == 0:
		return mutant{}, fmt.Errorf("%s: what is to be taken out does not stand in %s (%s): %q", m.of, m.in, strings.Join(where, ", "), m.old)
	case len(have) > 1:
		return mutant{}, fmt.Errorf("%s: %s is %d functions below %s that have %q: qualify it by its package or its receiver, as one of %s", m.of, m.in, len(have), m.below, m.old, strings.Join(choice, ", "))
	}
	text, err := os.ReadFile(filepath.Join(g.root, have[0].file))
	if err != nil {
		return mutant{}, err
	}
	return have[0].without(m, text)
}

// without takes the guard of m out of its declaration.
func (d declaration) without(m mutation, text []byte) (mutant, error) {
	part := text[d.from:d.to]
	if n := bytes.Count(part, []byte(m.old)); n != 1 {
		return mutant{}, fmt.Errorf("%s: what is to be taken out stands %d times and not once in %s (%s): %q", m.of, n, m.in, d.file, m.old)
	}
	part = bytes.Replace(part, []byte(m.old), []byte(m.new), 1)
	// Then nothing outside of the file can fail to compile.
	if head := text[d.from:d.head]; d.head > d.from && !bytes.HasPrefix(part, head) {
		return mutant{}, fmt.Errorf("%s: only the body of %s (%s) may change, not %q", m.of, m.in, d.file, head)
	}
	return mutant{file: d.file, text: slices.Concat(text[:d.from], part, text[d.to:])}, nil
}

// test is the folder of the package in which the test of m stands.
func (g *guards) test(m mutation) (string, error) {
	below, err := g.below(m.below)
	if err != nil {
		return "", err
	}
	switch at := below.tests[m.test]; len(at) {
	case 0:
		return "", fmt.Errorf("%s: no test %s is below %s", m.of, m.test, m.below)
	case 1:
		return at[0], nil
	default:
		return "", fmt.Errorf("%s: %s is a test in %s: give one of them another name", m.of, m.test, strings.Join(at, " and in "))
	}
}

// below reads all Go files in and below a folder.
func (g *guards) below(root string) (*folder, error) {
	if known := g.read[root]; known != nil {
		return known, nil
	}
	f := &folder{declared: map[string][]declaration{}, tests: map[string][]string{}}
	err := fs.WalkDir(os.DirFS(g.root), root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) != ".go" {
			return err
		}
		text, err := os.ReadFile(filepath.Join(g.root, file))
		if err != nil {
			return err
		}
		return f.add(file, text)
	})
	if err != nil {
		return nil, err
	}
	g.read[root] = f
	return f, nil
}

func (f *folder) add(file string, text []byte) error {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	offset := func(at token.Pos) int { return set.Position(at).Offset }
	add := func(name *ast.Ident, node ast.Node, head token.Pos, qualifiers ...string) {
		d := declaration{file: file, from: offset(node.Pos()), to: offset(node.End()), head: offset(head)}
		d.text = text[d.from:d.to]
		for _, q := range append(qualifiers, parsed.Name.Name) {
			d.qualifiers = append(d.qualifiers, unexported(q))
		}
		key := unexported(name.Name)
		f.declared[key] = append(f.declared[key], d)
	}
	isTest := strings.HasSuffix(file, "_test.go")
	for _, each := range parsed.Decls {
		switch decl := each.(type) {
		case *ast.FuncDecl:
			switch {
			case isTest && decl.Recv == nil:
				if strings.HasPrefix(decl.Name.Name, "Test") {
					f.tests[decl.Name.Name] = append(f.tests[decl.Name.Name], path.Dir(file))
				}
			case !isTest && decl.Body != nil:
				add(decl.Name, decl, decl.Body.Pos(), receivers(decl)...)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if value, ok := spec.(*ast.ValueSpec); ok && !isTest {
					add(value.Names[0], value, value.Names[0].End())
				}
			}
		}
	}
	return nil
}

// receivers is the type that a method belongs to, if it is one.
func receivers(decl *ast.FuncDecl) []string {
	if decl.Recv == nil {
		return nil
	}
	of := decl.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return []string{t.Name}
		default:
			return nil
		}
	}
}

// The lists outlive a function's way from file to file and from package to
// package, and say what is wrong with them once they do not.
func TestAGuardIsFoundByItsFunctionWhereverThatStands(t *testing.T) {
	const guard = "	if waits {\n		return\n	}\n"
	method := "package a\n\ntype turn struct{}\n\n// " + "if waits {" + "\nfunc (t *turn) paused(waits bool) {\n" + guard + "}\n"
	function := "package b\n\nfunc Paused(waits bool) {\n" + guard + "}\n"
	other := "package c\n\nfunc Paused() {}\n"
	files := func(texts ...string) *guards {
		dir := t.TempDir()
		for n := range len(texts) / 2 {
			name := filepath.Join(dir, texts[2*n])
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
			require.NoError(t, os.WriteFile(name, []byte(texts[2*n+1]), 0o600))
		}
		return newGuards(dir)
	}
	m := mutation{of: "paused", in: "paused", below: "a", old: guard}
	in := func(name string) mutation {
		m := m
		m.in = name
		return m
	}
	for _, c := range []struct {
		name   string
		files  *guards
		m      mutation
		file   string
		failed string
	}{
		{"in a method", files("a/a.go", method), m, "a/a.go", ""},
		{"in a function of a package below, exported by now", files("a/b/b.go", function), m, "a/b/b.go", ""},
		{"beside a function of the same name that does not have it", files("a/b/b.go", function, "a/c/c.go", other), m, "a/b/b.go", ""},
		{"in two functions of one name", files("a/a.go", method, "a/b/b.go", function), m, "", "turn.paused (a/a.go), a.paused (a/a.go), b.paused (a/b/b.go)"},
		{"qualified by the receiver", files("a/a.go", method, "a/b/b.go", function), in("Turn.paused"), "a/a.go", ""},
		{"qualified by the package", files("a/a.go", method, "a/b/b.go", function), in("b.paused"), "a/b/b.go", ""},
		{"in a test only", files("a/b/b_test.go", function), m, "", "no function paused is below a"},
		{"outside of the folder", files("a/c/c.go", "package c\n", "b/b.go", function), m, "", "no function paused is below a"},
		{"not any more", files("a/c/c.go", other), m, "", "does not stand in paused (a/c/c.go)"},
		{"twice", files("a/b/b.go", strings.Replace(function, guard, guard+guard, 1)), m, "", "stands 2 times and not once"},
		{"in what others see of it", files("a/b/b.go", function), mutation{of: "paused", in: "paused", below: "a", old: "waits bool"}, "", "only the body of paused (a/b/b.go) may change"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := c.files.find(c.m)
			if c.failed != "" {
				require.ErrorContains(t, err, c.failed)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.file, found.file)
			assert.NotContains(t, string(found.text), guard)
		})
	}
}
