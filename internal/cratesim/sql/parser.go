package sql

import (
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

type parser struct {
	src     string
	toks    []token
	i       int
	params  int
	version model.Version
}

// failure carries a parse error up; parse turns it into a value again.
type failure struct{ err *model.Error }

// parse reads one statement; version decides what the grammar knows.
func parse(src string, version model.Version) (stmt any, params int, err *model.Error) {
	toks, err := lex(version, src)
	if err != nil {
		return nil, 0, err
	}
	p := &parser{src: src, toks: toks, version: version}
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			stmt, err = nil, f.err
		}
	}()
	stmt = p.statement()
	p.op(";")
	if p.peek().kind != tokEnd {
		p.fail()
	}
	return stmt, p.params, nil
}

func (p *parser) peek() token { return p.toks[p.i] }

func (p *parser) next() token {
	t := p.toks[p.i]
	if t.kind != tokEnd {
		p.i++
	}
	return t
}

func (p *parser) fail() {
	t := p.peek()
	panic(failure{errSyntax(p.version, p.src, t.pos, t.raw)})
}

func (p *parser) isWord(words ...string) bool {
	for k, w := range words {
		if p.i+k >= len(p.toks) || p.toks[p.i+k].kind != tokIdent || p.toks[p.i+k].text != w {
			return false
		}
	}
	return true
}

// word takes the words if they stand next.
func (p *parser) word(words ...string) bool {
	if p.isWord(words...) {
		p.i += len(words)
		return true
	}
	return false
}

func (p *parser) expect(words ...string) {
	if !p.word(words...) {
		for range words {
			if p.peek().kind == tokIdent && slices.Contains(words, p.peek().text) {
				p.i++
			}
		}
		p.fail()
	}
}

func (p *parser) isOp(op string) bool { t := p.peek(); return t.kind == tokOp && t.text == op }

func (p *parser) op(op string) bool {
	if p.isOp(op) {
		p.i++
		return true
	}
	return false
}

func (p *parser) expectOp(op string) {
	if !p.op(op) {
		p.fail()
	}
}

// reserved words may not stand as a name without quotes.
var reserved = strings.Fields("add all alter and any array as asc between by called case cast column constraint create cross current_date current_schema current_time current_timestamp current_user default delete deny desc describe directory distinct drop else end escape except exists extract false first for from full function grant group having if in index inner input insert intersect into is join last left like limit match natural not null nulls object offset on or order outer persistent recursive reset returns revoke right select session_user set some stratify substring table then transient true try_cast unbounded union update user using when where with")

func (p *parser) ident() string {
	t := p.peek()
	switch {
	case t.kind == tokQuoted, t.kind == tokIdent && !slices.Contains(reserved, t.text):
		p.i++
		return t.text
	}
	p.fail()
	return ""
}

func (p *parser) table() tableName {
	a := p.ident()
	if p.op(".") {
		return tableName{a, p.ident()}
	}
	return tableName{"", a}
}

func (p *parser) statement() any {
	t := p.peek()
	if t.kind == tokEnd {
		// pgx's Ping sends "-- ping": an empty statement is one only from 6.3.
		if !p.version.AtLeast(6, 3) {
			p.fail()
		}
		return empty{}
	}
	if t.kind != tokIdent {
		p.fail()
	}
	p.i++
	switch t.text {
	case "select":
		p.i--
		return p.selectStatement()
	case "begin", "commit", "end":
		for p.peek().kind == tokIdent {
			p.i++
		}
		return transaction{t.text}
	case "start":
		p.expect("transaction")
		for p.peek().kind == tokIdent {
			p.i++
		}
		return transaction{"start"}
	case "set":
		return p.set()
	case "show":
		name := p.settingPath()
		return setSession{name: name, show: true}
	case "reset":
		p.expect("global")
		var names []string
		for {
			names = append(names, p.settingPath())
			if !p.op(",") {
				return resetGlobal{names}
			}
		}
	case "create":
		return p.create()
	case "drop":
		return p.drop()
	case "alter":
		return p.alter()
	case "restore":
		return p.restoreSnapshot()
	case "insert":
		return p.insert()
	case "delete":
		p.expect("from")
		d := deleteFrom{name: p.table()}
		if p.word("where") {
			d.where = p.expr()
		}
		return d
	case "update":
		u := update{name: p.table()}
		p.expect("set")
		for {
			name := p.settingPath()
			p.expectOp("=")
			u.set = append(u.set, assignment{name, p.expr()})
			if !p.op(",") {
				break
			}
		}
		if p.word("where") {
			u.where = p.expr()
		}
		return u
	case "analyze":
		return analyze{}
	case "refresh":
		p.expect("table")
		r := refresh{}
		for {
			r.names = append(r.names, p.table())
			if !p.op(",") {
				return r
			}
		}
	case "grant", "revoke", "deny":
		return p.grant(t.text)
	}
	p.i--
	p.fail()
	return nil
}

// settingPath reads a.b.c and a['b']['c'], quoted as a whole or in parts.
func (p *parser) settingPath() string {
	part := func() string {
		t := p.next()
		if t.kind != tokIdent && t.kind != tokQuoted {
			p.i--
			p.fail()
		}
		if t.kind == tokIdent && (t.text == "limit" || slices.Contains(reserved, t.text)) {
			p.i--
			p.fail() // a keyword inside a path has to be quoted
		}
		return t.text
	}
	out := part()
	for {
		switch {
		case p.op("."):
			out += "." + part()
		case p.op("["):
			t := p.next()
			if t.kind != tokString {
				p.i--
				p.fail()
			}
			out += "." + t.text
			p.expectOp("]")
		default:
			return out
		}
	}
}

func (p *parser) set() any {
	switch {
	case p.word("global"):
		s := setGlobal{}
		if p.word("persistent") {
			s.persistent = true
		} else {
			p.word("transient")
		}
		for {
			name := p.settingPath()
			if !p.op("=") && !p.word("to") {
				p.fail()
			}
			s.assignments = append(s.assignments, assignment{name, p.settingValue()})
			if !p.op(",") {
				return s
			}
		}
	case p.isWord("license") && !p.version.AtLeast(5, 3):
		p.i++
		return setLicense{p.expr()}
	case p.isWord("license") && p.i+1 < len(p.toks) && p.toks[p.i+1].kind != tokOp:
		// To a grammar without licences it is a setting's name.
		t := p.toks[p.i+1]
		panic(failure{errAt(p.version, p.src, t.pos, "missing {'TO', '='} at '%s'", t.raw)})
	}
	if !p.word("session") {
		p.word("local")
	}
	if p.word("characteristics") || p.word("transaction") {
		for p.peek().kind != tokEnd && !p.isOp(";") {
			p.i++
		}
		return setSession{name: "transaction"}
	}
	name := p.settingPath()
	if !p.op("=") && !p.word("to") {
		p.fail()
	}
	for p.peek().kind != tokEnd && !p.isOp(";") {
		p.i++
	}
	return setSession{name: name}
}

// settingValue is an expression, or a bare word such as ON.
func (p *parser) settingValue() expr {
	if t := p.peek(); t.kind == tokIdent && !slices.Contains(reserved, t.text) {
		p.i++
		return literal{t.text, Text}
	}
	if p.isWord("all") || p.isWord("default") {
		return literal{p.next().text, Text}
	}
	return p.expr()
}

func (p *parser) assignments() []assignment {
	p.expectOp("(")
	var out []assignment
	for {
		name := p.settingPath()
		p.expectOp("=")
		out = append(out, assignment{name, p.settingValue()})
		if !p.op(",") {
			p.expectOp(")")
			return out
		}
	}
}

func (p *parser) insert() any {
	p.expect("into")
	in := insert{name: p.table()}
	if p.op("(") {
		for {
			in.columns = append(in.columns, p.ident())
			if !p.op(",") {
				break
			}
		}
		p.expectOp(")")
	}
	switch {
	case p.isWord("select"):
		q := p.selectStatement()
		in.query = &q
	case p.isOp("("):
		p.expectOp("(")
		q := p.selectStatement()
		p.expectOp(")")
		in.query = &q
	default:
		p.expect("values")
		in.rows = p.values()
	}
	if p.word("on", "conflict") {
		if p.op("(") {
			for !p.op(")") {
				if p.peek().kind == tokEnd {
					p.fail()
				}
				p.i++
			}
		}
		p.expect("do")
		p.expect("nothing")
		in.ignore = true
	}
	return in
}

func (p *parser) values() (rows [][]expr) {
	for {
		p.expectOp("(")
		var row []expr
		for {
			row = append(row, p.expr())
			if !p.op(",") {
				break
			}
		}
		p.expectOp(")")
		rows = append(rows, row)
		if !p.op(",") {
			return rows
		}
	}
}

func (p *parser) grant(word string) any {
	g := grant{deny: word == "deny", revoke: word == "revoke", class: "CLUSTER"}
	for {
		if p.word("all") {
			p.word("privileges")
			g.privileges = []string{"DQL", "DML", "DDL", "AL"}
		} else {
			t := p.next()
			if t.kind != tokIdent && t.kind != tokQuoted {
				p.i--
				p.fail()
			}
			name := strings.ToUpper(t.text)
			if t.kind == tokQuoted || !slices.Contains([]string{"DQL", "DML", "DDL", "AL"}, name) {
				g.roles = append(g.roles, t.text)
			} else {
				g.privileges = append(g.privileges, name)
			}
		}
		if !p.op(",") {
			break
		}
	}
	if p.word("on") {
		switch {
		case p.word("schema"):
			g.class = "SCHEMA"
		case p.word("table"):
			g.class = "TABLE"
		case p.word("view"):
			g.class = "VIEW"
		default:
			p.fail()
		}
		for {
			if g.class == "SCHEMA" {
				g.idents = append(g.idents, p.ident())
			} else {
				g.idents = append(g.idents, p.table().full())
			}
			if !p.op(",") {
				break
			}
		}
	}
	if g.revoke {
		p.expect("from")
	} else {
		p.expect("to")
	}
	for {
		g.users = append(g.users, p.ident())
		if !p.op(",") {
			return g
		}
	}
}

func (p *parser) number(text string) expr {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n <= 1<<31-1 {
			return literal{n, Integer}
		}
		return literal{n, Bigint}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.fail()
	}
	return literal{f, Double}
}
