package sql

import (
	"slices"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

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
