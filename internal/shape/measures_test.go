package shape

import (
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// treeOf makes a tree of source texts, of which none imports anything.
func treeOf(t *testing.T, texts map[string]string) *Tree {
	t.Helper()
	tree := &Tree{fset: token.NewFileSet()}
	tree.imports = func() (types.Importer, error) { return none{}, nil }
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if strings.HasPrefix(name, "ops/") && !strings.HasSuffix(name, "_test.go") {
			require.NoError(t, tree.add(name, []byte(texts[name])))
		}
		tree.note(name, []byte(texts[name]))
	}
	return tree
}

type none struct{}

func (none) Import(path string) (*types.Package, error) {
	return nil, errors.New(path + " is not there")
}

func lines(n int) string { return strings.Repeat("\n", n) }

// function is one of n lines.
func function(head string, n int) string { return head + " {" + lines(n-1) + "}\n" }

// Each measure is seen at its value, and to fail where one less is allowed.
func TestEachMeasureCountsAndFails(t *testing.T) {
	for _, c := range []struct {
		name    string
		measure func(*Tree) (Value, error)
		texts   map[string]string
		want    Value
	}{
		{
			"lines of the packages that decide, comments and blank ones too", coreLines,
			map[string]string{
				"ops/a.go": "package ops\n\n// A comment.\n", "ops/b.go": "package ops\n",
				"ops/scale/a.go": "package scale\n", "ops/scale/a_test.go": "package scale\n",
				"ops/a_test.go": "package ops\n", "ops/gates/g.go": "package gates\n", "apply/a.go": "package apply\n",
			},
			Value{Count: 5},
		},
		{
			"a cycle over a method, a function and a constant", largestComponent,
			map[string]string{
				"ops/a.go": "package ops\ntype turn struct{ n int }\nfunc (t *turn) a() { t.b() }\n",
				"ops/b.go": "package ops\nfunc (t *turn) b() { c() }\n",
				"ops/c.go": "package ops\nfunc c() int { return most }\n",
				"ops/d.go": "package ops\nconst most = 1\nvar _ = e{}.f\n",
				"ops/e.go": "package ops\ntype e struct{ f int }\nvar _ = (*turn).a\n",
				// It needs them, and none of them needs it.
				"ops/z.go": "package ops\nfunc z(t turn) { t.a(); t.n++; y := 1; _ = y }\n",
			},
			Value{Count: 5, Findings: []Finding{
				{"ops/a.go", "needs 1 of the others"}, {"ops/b.go", "needs 2 of the others"}, {"ops/c.go", "needs 1 of the others"},
				{"ops/d.go", "needs 1 of the others"}, {"ops/e.go", "needs 1 of the others"},
			}},
		},
		{
			"a program that a build left, and data that is too large to be read", unwrittenFiles,
			map[string]string{
				"ops/a.go": "package ops\n", "stevedore": "\x7fELF\x02\x01\x00", "docs/picture.png": "\x89PNG\xff",
				"testdata/large.json": strings.Repeat(" ", 256<<10+1), "testdata/just.json": strings.Repeat("ü", 128<<10),
			},
			Value{Count: 3, Findings: []Finding{{"docs/picture.png", "is not text"}, {"stevedore", "is not text"}, {"testdata/large.json", "256 KiB"}}},
		},
		{
			"two cycles, of which the larger counts, in packages of their own", largestComponent,
			map[string]string{
				"ops/view/a.go": "package view\nfunc a() { b() }\n", "ops/view/b.go": "package view\nfunc b() { a() }\n",
				"ops/a.go": "package ops\nfunc a() { b() }\n", "ops/b.go": "package ops\nfunc b() { a(); p() }\n",
				"ops/p.go": "package ops\nfunc p() { q() }\n", "ops/q.go": "package ops\nfunc q() { r() }\n", "ops/r.go": "package ops\nfunc r() { p() }\n",
			},
			Value{Count: 3, Findings: []Finding{
				{"ops/p.go", "needs 1 of the others"}, {"ops/q.go", "needs 1 of the others"}, {"ops/r.go", "needs 1 of the others"},
			}},
		},
		{
			"methods with each kind of receiver, over files", mostMethods,
			map[string]string{
				"ops/a.go": "package ops\ntype t[X any] struct{}\ntype u int\nfunc (t *t[X]) a() {}\nfunc (t t[X]) b() {}\nfunc (u) a() {}\nfunc f() {}\n",
				"ops/b.go": "package ops\nfunc (*t[_]) c() {}\nfunc (u) b() {}\n",
				// Another package's type of the same name is another type.
				"ops/scale/p.go": "package scale\ntype u int\nfunc (u) c() {}\nfunc (u) d() {}\n",
			},
			Value{Count: 3, Of: "t", Findings: []Finding{{"ops/a.go", "2 of its methods"}, {"ops/b.go", "1 of its methods"}}},
		},
		{
			"functions of 61 lines and more, in folders below too", longFunctions,
			map[string]string{
				"ops/a.go":       "package ops\n" + function("func just()", 60) + function("func over()", 61),
				"ops/plan/p.go":  "package plan\ntype t int\n" + function("func (t *t) far()", 99),
				"ops/gates/g.go": "package gates\nvar f =\n" + function("func()", 70),
				// What is in a function is a part of it.
				"ops/b.go":      "package ops\n" + "func outer() {\n" + function("f := func()", 62) + "_ = f\n}\n",
				"ops/a_test.go": "package ops\n" + function("func long()", 100),
			},
			Value{Count: 4, Findings: []Finding{
				{"ops/plan/p.go:3", "t.far, 99 lines"}, {"ops/gates/g.go:3", "a function literal, 70 lines"},
				{"ops/b.go:2", "outer, 65 lines"}, {"ops/a.go:62", "over, 61 lines"},
			}},
		},
		{
			"terms through parentheses and negations", longConditions,
			map[string]string{
				"ops/a.go": "package ops\nfunc f(a, b, c, d, e bool) bool {\n" +
					"if a && b || c && d { return true }\n" +
					"if !(a && (b || !(c && d))) && e { return true }\n" +
					// A comparison is one term, and what a call is given is its own condition.
					"if a && f(a && b && c && d && e, b, c, d, e) && (a || b) == c { return true }\n" +
					"return a && b && c && d && e && (a || b)\n}\n",
			},
			Value{Count: 3, Findings: []Finding{{"ops/a.go:6", "7 terms"}, {"ops/a.go:4", "5 terms"}, {"ops/a.go:5", "5 terms"}}},
		},
		{
			"files of 501 lines and more, tests too", longFiles,
			map[string]string{"apply/a.go": lines(500), "apply/b.go": lines(501), "ops/a_test.go": lines(700)},
			Value{Count: 2, Findings: []Finding{{"ops/a_test.go", "700 lines"}, {"apply/b.go", "501 lines"}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := treeOf(t, c.texts)
			got, err := c.measure(tree)
			require.NoError(t, err)
			require.Equal(t, c.want, got)

			results, err := Check(tree, []Limit{{"of the test", c.want.Count - 1, 0, c.measure}})
			require.NoError(t, err)
			assert.Equal(t, 1, Exceeded(results))
			var out strings.Builder
			Print(&out, results, false)
			assert.Contains(t, out.String(), "EXCEEDED by 1\n")
			for _, f := range c.want.Findings {
				assert.Contains(t, out.String(), fmt.Sprintf("    %s  %s\n", f.Where, f.What))
			}
		})
	}
}

func TestEachLimitHasAMeasureOfItsOwnSize(t *testing.T) {
	tree := treeOf(t, map[string]string{"ops/a.go": "package ops\n"})
	results, err := Check(tree, Limits)
	require.NoError(t, err)
	want := map[string]int{"lines of the packages of ops that decide": 1, "files of a package in the largest cycle": 1}
	for _, r := range results {
		assert.Equal(t, want[r.Name], r.Count, r.Name)
	}
}

func TestAValueBelowWhatIsAllowedIsSaidAndFailsNothing(t *testing.T) {
	tree := treeOf(t, map[string]string{"ops/a.go": "package ops\n"})
	for _, c := range []struct {
		allowed int
		says    string
	}{
		{3, "better than allowed: lower it to 1 in"},
		{1, "        0\n"},
	} {
		results, err := Check(tree, []Limit{{"lines", c.allowed, 0, coreLines}})
		require.NoError(t, err)
		assert.Zero(t, Exceeded(results))
		var out strings.Builder
		Print(&out, results, false)
		assert.Contains(t, out.String(), c.says)
		assert.NotContains(t, out.String(), "EXCEEDED")
	}
}

func TestAListHasWhatIsCountedThoughNothingIsExceeded(t *testing.T) {
	tree := treeOf(t, map[string]string{"apply/b.go": lines(501)})
	results, err := Check(tree, []Limit{{"files", 1, 0, longFiles}})
	require.NoError(t, err)
	for list, says := range map[bool]bool{true: true, false: false} {
		var out strings.Builder
		Print(&out, results, list)
		assert.Equal(t, says, strings.Contains(out.String(), "apply/b.go  501 lines"))
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	_, err := Read(t.TempDir())
	assert.ErrorContains(t, err, "reading ops")
	_, err = largestComponent(treeOf(t, map[string]string{"ops/a.go": "package ops\nfunc a() { b() }\n"}))
	assert.ErrorContains(t, err, "undefined: b")
	assert.Error(t, (&Tree{fset: token.NewFileSet()}).add("ops/a.go", []byte("package")))
}
