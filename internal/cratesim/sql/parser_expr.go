package sql

import (
	"slices"
	"strconv"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

func (p *parser) expr() expr {
	l := p.and()
	for p.word("or") {
		l = binary{"or", l, p.and()}
	}
	return l
}

func (p *parser) and() expr {
	l := p.not()
	for p.word("and") {
		l = binary{"and", l, p.not()}
	}
	return l
}

func (p *parser) not() expr {
	if p.word("not") {
		return unary{"not", p.not()}
	}
	return p.comparison()
}

func (p *parser) comparison() expr {
	l := p.sum()
	for {
		if t := p.peek(); t.kind == tokOp {
			switch t.text {
			case "=", "<", ">", "<=", ">=", "<>", "!=":
				p.i++
				op := t.text
				if op == "!=" {
					op = "<>"
				}
				if p.isWord("any") || p.isWord("all") || p.isWord("some") {
					all := p.next().text == "all"
					p.expectOp("(")
					arr := p.expr()
					p.expectOp(")")
					l = quantified{op, all, l, arr}
					continue
				}
				l = binary{op, l, p.sum()}
				continue
			}
			return l
		}
		switch {
		case p.word("is"):
			not := p.word("not")
			switch {
			case p.word("null"):
				l = isNull{l, not}
			case p.word("distinct"):
				p.expect("from")
				l = binary{map[bool]string{false: "is distinct", true: "is not distinct"}[not], l, p.sum()}
			case p.word("true"), p.word("false"):
				b := binary{"is not distinct", l, literal{p.toks[p.i-1].text == "true", Boolean}}
				if l = b; not {
					l = unary{"not", b}
				}
			default:
				p.fail()
			}
		case p.isWord("not", "in"), p.isWord("in"):
			not := p.word("not")
			p.expect("in")
			p.expectOp("(")
			in := inList{e: l, not: not}
			for {
				in.list = append(in.list, p.expr())
				if !p.op(",") {
					break
				}
			}
			p.expectOp(")")
			l = in
		case p.isWord("not", "like"), p.isWord("like"), p.isWord("not", "ilike"), p.isWord("ilike"):
			not := p.word("not")
			fold := p.next().text == "ilike"
			l = like{l, p.sum(), not, fold}
		case p.isWord("not", "between"), p.isWord("between"):
			not := p.word("not")
			p.expect("between")
			lo := p.sum()
			p.expect("and")
			l = between{l, lo, p.sum(), not}
		default:
			return l
		}
	}
}

func (p *parser) sum() expr {
	l := p.product()
	for {
		t := p.peek()
		if t.kind != tokOp || t.text != "+" && t.text != "-" && t.text != "||" {
			return l
		}
		p.i++
		l = binary{t.text, l, p.product()}
	}
}

func (p *parser) product() expr {
	l := p.unary()
	for {
		t := p.peek()
		if t.kind != tokOp || t.text != "*" && t.text != "/" && t.text != "%" {
			return l
		}
		p.i++
		l = binary{t.text, l, p.unary()}
	}
}

func (p *parser) unary() expr {
	if p.op("-") {
		e := p.unary()
		if l, ok := e.(literal); ok {
			switch v := l.v.(type) {
			case int64:
				return literal{-v, l.typ}
			case float64:
				return literal{-v, l.typ}
			}
		}
		return unary{"-", e}
	}
	return p.postfix()
}

func (p *parser) postfix() expr {
	e := p.primary()
	for {
		switch {
		case p.op("::"):
			e = cast{e: e, typ: p.typeName()}
		case p.op("["):
			index := p.expr()
			p.expectOp("]")
			if c, ok := e.(column); ok {
				if l, ok := index.(literal); ok {
					if s, ok := l.v.(string); ok {
						c.path = append(append([]string(nil), c.path...), s)
						e = c
						continue
					}
				}
			}
			e = subscript{e, index}
		default:
			return e
		}
	}
}

func (p *parser) primary() expr {
	t := p.peek()
	switch t.kind {
	case tokNumber:
		p.i++
		return p.number(t.text)
	case tokString:
		p.i++
		return literal{t.text, Text}
	case tokParam:
		p.i++
		if t.text == "" {
			p.params++
			return param{p.params - 1}
		}
		n, _ := strconv.Atoi(t.text)
		if n < 1 {
			p.i--
			p.fail()
		}
		p.params = max(p.params, n)
		return param{n - 1}
	case tokQuoted:
		return p.columnRef()
	case tokOp:
		switch t.text {
		case "(":
			p.i++
			if p.isWord("select") {
				panic(failure{model.ErrUnsupported("subqueries are not supported by the simulator")})
			}
			e := p.expr()
			p.expectOp(")")
			return e
		case "[":
			p.i++
			return p.arrayTail("]")
		case "{":
			p.i++
			o := object{}
			for !p.op("}") {
				k := p.next()
				o.keys = append(o.keys, k.text)
				p.expectOp("=")
				o.values = append(o.values, p.expr())
				if !p.op(",") {
					p.expectOp("}")
					break
				}
			}
			return o
		}
	case tokIdent:
		switch t.text {
		case "null":
			p.i++
			return literal{nil, Undefined}
		case "true", "false":
			p.i++
			return literal{t.text == "true", Boolean}
		case "array":
			p.i++
			p.expectOp("[")
			return p.arrayTail("]")
		case "cast", "try_cast":
			p.i++
			p.expectOp("(")
			e := p.expr()
			p.expect("as")
			typ := p.typeName()
			p.expectOp(")")
			return cast{e, typ, t.text == "try_cast"}
		case "case":
			p.i++
			return p.caseExpr()
		case "current_user", "session_user", "user", "current_schema", "current_timestamp":
			p.i++
			if p.op("(") {
				p.expectOp(")")
			}
			return call{name: t.text}
		}
		if p.i+1 < len(p.toks) && p.toks[p.i+1].kind == tokOp && p.toks[p.i+1].text == "(" {
			p.i += 2
			return p.callTail(t.text)
		}
		return p.columnRef()
	}
	p.fail()
	return nil
}

func (p *parser) arrayTail(end string) expr {
	a := array{}
	if p.op(end) {
		return a
	}
	for {
		a.items = append(a.items, p.expr())
		if !p.op(",") {
			p.expectOp(end)
			return a
		}
	}
}

func (p *parser) callTail(name string) expr {
	c := p.callArguments(name)
	if p.isWord("filter") && slices.Contains(aggregates, name) {
		p.i++
		p.expectOp("(")
		p.expect("where")
		c.filter = p.expr()
		p.expectOp(")")
	}
	return c
}

func (p *parser) callArguments(name string) call {
	c := call{name: name}
	if p.op("*") {
		c.star = true
		p.expectOp(")")
		return c
	}
	if p.op(")") {
		return c
	}
	c.distinct = p.word("distinct")
	for {
		c.args = append(c.args, p.expr())
		if !p.op(",") {
			p.expectOp(")")
			return c
		}
	}
}

func (p *parser) caseExpr() expr {
	c := caseWhen{}
	if !p.isWord("when") {
		c.operand = p.expr()
	}
	for p.word("when") {
		c.whens = append(c.whens, p.expr())
		p.expect("then")
		c.ans = append(c.ans, p.expr())
	}
	if len(c.whens) == 0 {
		p.fail()
	}
	if p.word("else") {
		c.otherwise = p.expr()
	}
	p.expect("end")
	return c
}

func (p *parser) columnRef() expr {
	name := p.ident()
	if p.op(".") {
		second := p.ident()
		if p.op(".") { // schema.table.column
			return column{table: second, name: p.ident()}
		}
		return column{table: name, name: second}
	}
	if p.isOp("(") {
		p.i++
		return p.callTail(name)
	}
	return column{name: name}
}

func (p *parser) typeName() *Type {
	t := p.next()
	if t.kind != tokIdent && t.kind != tokQuoted {
		p.i--
		p.fail()
	}
	name := t.text
	if name == "array" && p.op("(") {
		inner := p.typeName()
		p.expectOp(")")
		return arrayOf(inner)
	}
	if name == "pg_catalog" && p.op(".") {
		name = p.next().text
	}
	switch {
	case name == "double":
		p.word("precision")
	case name == "character":
		p.word("varying")
	case name == "timestamp" || name == "timestamptz":
		if p.word("with") || p.word("without") {
			p.expect("time")
			p.expect("zone")
		}
	case name == "object" && p.op("("):
		if !p.word("dynamic") && !p.word("strict") && !p.word("ignored") {
			p.fail()
		}
		p.expectOp(")")
	}
	if p.op("(") {
		for !p.op(")") {
			if p.next().kind == tokEnd {
				p.fail()
			}
		}
	}
	typ := typeByName(name)
	if typ == nil {
		panic(failure{model.ErrIllegalArgument("Cannot find data type: %s", name)})
	}
	for p.isOp("[") && p.toks[p.i+1].text == "]" {
		p.i += 2
		typ = arrayOf(typ)
	}
	return typ
}
