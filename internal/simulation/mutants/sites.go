package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
)

// kind of a guard that is taken out.
type kind string

const (
	gate     kind = "gate"      // it never holds anything any more
	reread   kind = "re-read"   // what an executor looks at right before it writes
	call     kind = "call"      // what an executor writes
	giveBack kind = "give-back" // what is given back of what was held
	action   kind = "action"    // what is decided to be done
)

// site is one place in which a guard is taken out while its number is on.
type site struct {
	number int
	kind   kind
	// name is the rule's, or the function that it is in.
	name, where string
	// text is what is taken out, in one line.
	text string
}

func (s site) String() string { return string(s.kind) + " " + s.name + " " + s.where }

// row is how its line in the table begins.
func (s site) row() string {
	return fmt.Sprintf("| %s | %s | %s |", s.kind, s.name, s.where)
}

// edit replaces a part of a file.
type edit struct {
	from, to int
	text     string
}

// source is one file with what is changed in it.
type source struct {
	path  string
	text  []byte
	file  *ast.File
	set   *token.FileSet
	edits []edit
}

// enumeration finds the sites of a module by what the code is, none by hand.
type enumeration struct {
	root    string
	sources []*source
	sites   []site
	// unseen are rules without a condition that could be taken out.
	unseen []string
}

func enumerate(root string) (*enumeration, error) {
	e := &enumeration{root: root}
	folders, err := guarded(root)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			s := &source{path: path, text: text, set: token.NewFileSet()}
			if s.file, err = parser.ParseFile(s.set, path, text, parser.SkipObjectResolution); err != nil {
				return nil, err
			}
			e.sources = append(e.sources, s)
		}
	}
	words := e.gates()
	for _, s := range e.sources {
		switch s.folder() {
		case "gates":
		case "execute":
			e.executors(s)
		default:
			e.decisions(s, words)
		}
	}
	seen := map[string]bool{}
	for _, s := range e.sites {
		seen[s.name] = true
	}
	for _, r := range gates.All {
		if !seen[r.Name] {
			e.unseen = append(e.unseen, r.Name)
		}
	}
	return e, nil
}

// guarded are the folders of ops whose code guards something, gates first: the plan only
// looks ahead, and the questions to the database have their tests against real answers.
func guarded(root string) ([]string, error) {
	all, err := os.ReadDir(filepath.Join(root, "ops"))
	if err != nil {
		return nil, err
	}
	folders := []string{filepath.Join(root, "ops", "gates")}
	for _, entry := range all {
		if entry.IsDir() && !slices.Contains([]string{"gates", "plan", "cratedb", "testdata"}, entry.Name()) {
			folders = append(folders, filepath.Join(root, "ops", entry.Name()))
		}
	}
	return append(folders, filepath.Join(root, "ops")), nil
}

// folder is the last one of the file's path, by which its package is named.
func (s *source) folder() string { return filepath.Base(filepath.Dir(s.path)) }

func (e *enumeration) add(s *source, k kind, name string, at ast.Node) int {
	line := s.set.Position(at.Pos()).Line
	text := strings.Join(strings.Fields(string(s.text[s.offset(at.Pos()):s.offset(at.End())])), " ")
	number := len(e.sites) + 1
	e.sites = append(e.sites, site{number, k, name, fmt.Sprintf("%s:%d", strings.TrimPrefix(s.path, e.root+"/"), line), text})
	return number
}

func (s *source) offset(p token.Pos) int { return s.set.Position(p).Offset }

func (s *source) insert(p token.Pos, text string) {
	s.edits = append(s.edits, edit{s.offset(p), s.offset(p), text})
}

// unless puts a condition before another.
func (s *source) unless(number int, condition ast.Expr) {
	s.insert(condition.Pos(), fmt.Sprintf("unless(%d, ", number))
	s.insert(condition.End(), ")")
}

// skip leaves a statement out.
func (s *source) skip(number int, statement ast.Node) {
	s.insert(statement.Pos(), fmt.Sprintf("func() { if !mutated(%d) { ", number))
	s.insert(statement.End(), " } }()")
}

// gates silences each rule that decides by itself; what only gives the words is
// returned, by function, with its rule.
func (e *enumeration) gates() map[string]string {
	names, words := map[string]string{}, map[string]string{}
	each := func(do func(*source, ast.Decl)) {
		for _, s := range e.sources {
			if s.folder() == "gates" {
				for _, d := range s.file.Decls {
					do(s, d)
				}
			}
		}
	}
	each(func(_ *source, d ast.Decl) {
		ast.Inspect(d, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				return true
			}
			if lit, ok := v.Values[0].(*ast.CompositeLit); ok {
				for _, el := range lit.Elts {
					kv, ok := el.(*ast.KeyValueExpr)
					if !ok {
						continue
					}
					if k, _ := kv.Key.(*ast.Ident); k != nil && k.Name == "Name" {
						if b, ok := kv.Value.(*ast.BasicLit); ok {
							names[v.Names[0].Name], _ = strconv.Unquote(b.Value)
						}
					}
				}
			}
			return true
		})
	})
	each(func(s *source, d ast.Decl) {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Type.Results == nil || f.Body == nil {
			return
		}
		rule := ""
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && names[id.Name] != "" {
				rule = names[id.Name]
			}
			return true
		})
		results := f.Type.Results.List
		first, _ := results[0].Type.(*ast.Ident)
		switch {
		case rule == "" || first == nil || first.Name != "Reason":
		case len(results) == 2:
			number := e.add(s, gate, rule, f)
			returned := s.text[s.offset(f.Type.Results.Pos()):s.offset(f.Type.Results.End())]
			s.insert(f.Body.Lbrace+1, fmt.Sprintf(" return silenced(%d)(func() %s { ", number, returned))
			s.insert(f.Body.Rbrace, " }()) ")
		default:
			words[f.Name.Name] = rule
		}
	})
	return words
}

// walk gives each node with those around it, the innermost last.
func walk(root ast.Node, visit func(n ast.Node, around []ast.Node)) {
	var around []ast.Node
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			around = around[:len(around)-1]
			return true
		}
		visit(n, around)
		around = append(around, n)
		return true
	})
}

// decisions: where a rule gives only the words, the condition around it is what
// holds; and what is decided to be done, or given back.
func (e *enumeration) decisions(s *source, words map[string]string) {
	done := map[ast.Node]bool{}
	walk(s.file, func(n ast.Node, around []ast.Node) {
		c, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		of, name := called(c)
		statement, _ := innermost(around).(*ast.ExprStmt)
		switch {
		case of == "gates" && words[name] != "":
			e.condition(s, words[name], c, around, done)
		case statement == nil:
		case name == "giveBack" || name == "GiveBackLock":
			s.skip(e.add(s, giveBack, enclosing(around), statement), statement)
		case of == "t" && name == "Harmless":
			s.skip(e.add(s, action, enclosing(around), statement), statement)
		}
	})
}

// called is the name of the function that a call is of, and the package or the variable
// that stands before it; "" for none.
func called(c *ast.CallExpr) (of, name string) {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return "", f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name, f.Sel.Name
		}
	}
	return "", ""
}

// innermost is the last of those around a node; nil for none.
func innermost(around []ast.Node) ast.Node {
	if len(around) == 0 {
		return nil
	}
	return around[len(around)-1]
}

// condition takes out the innermost one around a call.
func (e *enumeration) condition(s *source, rule string, c ast.Node, around []ast.Node, done map[ast.Node]bool) {
	for i := len(around) - 1; i >= 0; i-- {
		switch n := around[i].(type) {
		case *ast.IfStmt:
			if c.Pos() < n.Body.Pos() || n.Else != nil && c.Pos() >= n.Else.Pos() {
				continue // in its condition, or where that does not hold
			}
			if !done[n] {
				done[n] = true
				s.unless(e.add(s, gate, rule, n), n.Cond)
			}
			return
		case *ast.CaseClause:
			sw, _ := around[i-2].(*ast.SwitchStmt)
			if sw == nil || sw.Tag != nil || len(n.List) == 0 {
				continue
			}
			if !done[n] {
				done[n] = true
				number := e.add(s, gate, rule, n)
				for _, x := range n.List {
					s.unless(number, x)
				}
			}
			return
		case *ast.FuncDecl, *ast.FuncLit:
			return
		}
	}
}

func enclosing(around []ast.Node) string {
	for _, n := range around {
		if f, ok := n.(*ast.FuncDecl); ok {
			return f.Name.Name
		}
	}
	return ""
}

// executors: each condition that ends in an error or in "hidden" and is not the
// error of a call, and each call that writes.
func (e *enumeration) executors(s *source) {
	walk(s.file, func(n ast.Node, around []ast.Node) {
		switch n := n.(type) {
		case *ast.IfStmt:
			if refuses(n.Body.List) && !ofACall(n) {
				s.unless(e.add(s, reread, enclosing(around), n), n.Cond)
			}
		case *ast.CaseClause:
			sw, _ := around[len(around)-2].(*ast.SwitchStmt)
			if sw != nil && sw.Tag == nil && len(n.List) > 0 && refuses(n.Body) {
				number := e.add(s, reread, enclosing(around), n)
				for _, x := range n.List {
					s.unless(number, x)
				}
			}
		case *ast.CallExpr:
			e.write(s, n, around)
		}
	})
}

// refuses: the first thing that is returned is an error made here, or hidden.
func refuses(body []ast.Stmt) bool {
	found := false
	for _, st := range body {
		r, ok := st.(*ast.ReturnStmt)
		if !ok {
			continue
		}
		ast.Inspect(r, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				found = found || slices.Contains([]string{"Errorf", "New", "ResultHidden"}, sel.Sel.Name)
			}
			return true
		})
	}
	return found
}

func ofACall(n *ast.IfStmt) bool {
	b, ok := n.Cond.(*ast.BinaryExpr)
	if !ok || b.Op != token.NEQ {
		return false
	}
	x, _ := b.X.(*ast.Ident)
	y, _ := b.Y.(*ast.Ident)
	return x != nil && y != nil && x.Name == "err" && y.Name == "nil"
}

// write wraps a call of a session, of crash or of the objects.
func (e *enumeration) write(s *source, c *ast.CallExpr, around []ast.Node) {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	x := sel.X
	inner, _ := x.(*ast.SelectorExpr)
	wrapper := ""
	switch {
	case sel.Sel.Name == "Exec":
		wrapper = "mutedSession"
	case sel.Sel.Name == "Run" && inner != nil && inner.Sel.Name == "Crash":
		wrapper = "mutedCrash"
	case inner != nil && inner.Sel.Name == "Objects":
		wrapper = "mutedObjects"
	default:
		return
	}
	number := e.add(s, call, enclosing(around)+" "+sel.Sel.Name, c)
	s.insert(x.Pos(), fmt.Sprintf("%s(%d, ", wrapper, number))
	s.insert(x.End(), ")")
}

// mutated is the text with all edits.
func (s *source) mutated() []byte {
	edits := slices.Clone(s.edits)
	// Of two at one place the one that was added later is the inner one, which is
	// right for what opens and wrong for what closes.
	slices.SortStableFunc(edits, func(a, b edit) int { return b.from - a.from })
	out := slices.Clone(s.text)
	for _, x := range edits {
		out = slices.Concat(out[:x.from], []byte(x.text), out[x.to:])
	}
	return out
}
