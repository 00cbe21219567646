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
	toks, err := lex(src)
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
	panic(failure{errSyntax(p.src, t.pos, t.raw)})
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
	case p.isWord("license"):
		p.fail()
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

func (p *parser) create() any {
	switch {
	case p.word("user"), p.word("role"):
		c := createUser{role: p.toks[p.i-1].text == "role"}
		c.name = p.ident()
		if p.word("with") || p.isOp("(") {
			c.with = p.assignments()
		}
		return c
	case p.word("repository"):
		c := createRepository{name: p.ident()}
		p.expect("type")
		c.typ = p.ident()
		if p.word("with") {
			c.with = p.assignments()
		}
		return c
	case p.word("snapshot"):
		c := createSnapshot{repository: p.ident()}
		p.expectOp(".")
		c.name = p.ident()
		if !p.word("all") {
			p.expect("table")
			for {
				p.table()
				if !p.op(",") {
					break
				}
			}
		}
		if p.word("with") {
			for _, a := range p.assignments() {
				if l, ok := a.e.(literal); ok && a.name == "wait_for_completion" {
					c.wait = l.v == true || l.v == "true"
				}
			}
		}
		return c
	case p.word("blob", "table"):
		c := createTable{name: tableName{"blob", p.ident()}, blob: true}
		p.tableTail(&c)
		return c
	}
	p.expect("table")
	c := createTable{}
	if p.word("if") {
		p.expect("not")
		if !p.isWord("exists") {
			p.fail()
		}
		p.i++
		c.ifNotExists = true
	}
	c.name = p.table()
	p.expectOp("(")
	for {
		if p.word("primary", "key") {
			p.expectOp("(")
			for {
				name := p.ident()
				for i := range c.columns {
					if c.columns[i].name == name {
						c.columns[i].pk = true
					}
				}
				if !p.op(",") {
					break
				}
			}
			p.expectOp(")")
		} else {
			d := columnDef{name: p.ident(), typ: p.typeName()}
			for {
				if p.word("primary", "key") {
					d.pk = true
				} else if !p.word("not", "null") && !p.word("null") && !p.word("index", "off") {
					break
				}
			}
			c.columns = append(c.columns, d)
		}
		if !p.op(",") {
			break
		}
	}
	p.expectOp(")")
	p.tableTail(&c)
	return c
}

func (p *parser) tableTail(c *createTable) {
	for {
		switch {
		case p.word("clustered"):
			if p.word("by") {
				p.expectOp("(")
				p.ident()
				p.expectOp(")")
			}
			if p.word("into") {
				c.shards = p.primary()
				p.expect("shards")
			}
		case p.word("partitioned"):
			p.expect("by")
			p.expectOp("(")
			for {
				c.partitioned = append(c.partitioned, p.ident())
				if !p.op(",") {
					break
				}
			}
			p.expectOp(")")
		case p.word("with"):
			c.with = p.assignments()
		default:
			return
		}
	}
}

func (p *parser) ifExists() bool {
	if p.word("if") {
		p.expect("exists")
		return true
	}
	return false
}

func (p *parser) drop() any {
	switch {
	case p.word("user"), p.word("role"):
		d := dropUser{ifExists: p.ifExists()}
		d.name = p.ident()
		return d
	case p.word("blob", "table"):
		d := dropTable{blob: true, ifExists: p.ifExists()}
		d.name = tableName{"blob", p.ident()}
		return d
	case p.word("repository"):
		return dropRepository{p.ident()}
	}
	p.expect("table")
	d := dropTable{ifExists: p.ifExists()}
	d.name = p.table()
	return d
}

func (p *parser) alter() any {
	switch {
	case p.word("user"), p.word("role"):
		a := alterUser{name: p.ident()}
		p.expect("set")
		a.set = p.assignments()
		return a
	case p.word("cluster"):
		if p.word("reroute") {
			p.expect("retry")
			p.expect("failed")
			return rerouteRetry{}
		}
		p.expect("decommission")
		return decommission{p.expr()}
	}
	a := alterTable{}
	if p.word("blob", "table") {
		a.blob = true
		a.name = tableName{"blob", p.ident()}
	} else {
		p.expect("table")
		only := p.word("only")
		a.name = p.table()
		_ = only
	}
	if p.word("partition") {
		a.partition = p.assignments()
	}
	yes, no := true, false
	switch {
	case p.word("set"):
		a.set = p.assignments()
	case p.word("reset"):
		p.expectOp("(")
		for {
			a.reset = append(a.reset, p.settingPath())
			if !p.op(",") {
				break
			}
		}
		p.expectOp(")")
	case p.word("open"):
		a.open = &yes
	case p.word("close"):
		a.open = &no
	case p.word("reroute"):
		p.expect("move")
		p.expect("shard")
		m := &moveShard{shard: p.primary()}
		p.expect("from")
		m.from = p.primary()
		p.expect("to")
		m.to = p.primary()
		a.move = m
	default:
		p.fail()
	}
	return a
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
	p.expect("values")
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
		in.rows = append(in.rows, row)
		if !p.op(",") {
			break
		}
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

func (p *parser) grant(word string) any {
	g := grant{deny: word == "deny", revoke: word == "revoke", class: "CLUSTER"}
	for {
		if p.word("all") {
			p.word("privileges")
			g.privileges = []string{"DQL", "DML", "DDL", "AL"}
		} else {
			t := p.next()
			if t.kind != tokIdent {
				p.i--
				p.fail()
			}
			name := strings.ToUpper(t.text)
			if !slices.Contains([]string{"DQL", "DML", "DDL", "AL"}, name) {
				p.i--
				panic(failure{model.ErrUnsupported("granting roles (%s) is not supported by the simulator", t.text)})
			}
			g.privileges = append(g.privileges, name)
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

func (p *parser) selectStatement() selectStmt {
	p.expect("select")
	s := selectStmt{distinct: p.word("distinct")}
	for {
		switch {
		case p.op("*"):
			s.items = append(s.items, selectItem{star: true})
		default:
			item := selectItem{e: p.expr()}
			if p.word("as") {
				t := p.next()
				if t.kind != tokIdent && t.kind != tokQuoted {
					p.i--
					p.fail()
				}
				item.alias = t.text
			} else if t := p.peek(); t.kind == tokQuoted || t.kind == tokIdent && !slices.Contains(reserved, t.text) {
				item.alias = p.ident()
			}
			s.items = append(s.items, item)
		}
		if !p.op(",") {
			break
		}
	}
	if p.word("from") {
		name := p.table()
		s.from = &name
		if p.word("as") {
			s.alias = p.ident()
		} else if t := p.peek(); t.kind == tokQuoted || t.kind == tokIdent && !slices.Contains(reserved, t.text) {
			s.alias = p.ident()
		}
		if p.isOp(",") || p.isWord("join") || p.isWord("inner") || p.isWord("left") {
			panic(failure{model.ErrUnsupported("joins are not supported by the simulator")})
		}
	}
	if p.word("where") {
		s.where = p.expr()
	}
	if p.word("group") {
		p.expect("by")
		for {
			s.groupBy = append(s.groupBy, p.expr())
			if !p.op(",") {
				break
			}
		}
	}
	if p.word("having") {
		s.having = p.expr()
	}
	if p.word("order") {
		p.expect("by")
		for {
			o := orderItem{e: p.expr()}
			if p.word("desc") {
				o.desc = true
			} else {
				p.word("asc")
			}
			if p.word("nulls") {
				first := p.word("first")
				if !first {
					p.expect("last")
				}
				o.nullsFirst = &first
			}
			s.orderBy = append(s.orderBy, o)
			if !p.op(",") {
				break
			}
		}
	}
	if p.word("limit") {
		s.limit = p.expr()
	}
	if p.word("offset") {
		s.offset = p.expr()
	}
	if p.isWord("union") {
		panic(failure{model.ErrUnsupported("UNION is not supported by the simulator")})
	}
	return s
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
