package sql

func (p *parser) createRepository() any {
	c := createRepository{name: p.ident()}
	p.expect("type")
	c.typ = p.ident()
	c.with = p.withProperties()
	return c
}

// withProperties is WITH ( … ), or nothing.
func (p *parser) withProperties() []assignment {
	if p.word("with") {
		return p.assignments()
	}
	return nil
}

// alterRepository is in the grammar from 6.4 on.
func (p *parser) alterRepository() any {
	a := alterRepository{name: p.ident()}
	if p.word("set") {
		a.set = p.assignments()
		return a
	}
	p.expect("reset")
	if !p.op("(") {
		a.reset = []string{p.ident()}
		return a
	}
	for {
		a.reset = append(a.reset, p.ident())
		if !p.op(",") {
			p.expectOp(")")
			return a
		}
	}
}

// qname is a.b.c.
func (p *parser) qname() (out []string) {
	for {
		out = append(out, p.ident())
		if !p.op(".") {
			return out
		}
	}
}

func (p *parser) tables() (out []tableName) {
	for {
		out = append(out, p.table())
		if !p.op(",") {
			return out
		}
	}
}

// tableParts is a list of tables, each with a partition or without.
func (p *parser) tableParts() (out []tablePart) {
	for {
		t := tablePart{name: p.table()}
		if p.word("partition") {
			t.partition = p.assignments()
		}
		out = append(out, t)
		if !p.op(",") {
			return out
		}
	}
}

func (p *parser) createSnapshot() any {
	c := createSnapshot{of: p.qname()}
	if c.all = p.word("all"); !c.all {
		p.expect("table")
		c.tables = p.tableParts()
	}
	c.with = p.withProperties()
	return c
}

func (p *parser) restoreSnapshot() any {
	p.expect("snapshot")
	r := restoreSnapshot{of: p.qname()}
	switch {
	case p.word("all"):
		r.mode = "all"
	case p.word("metadata"):
		r.mode = "metadata"
	case p.word("table"):
		r.mode = "table"
		r.tables = p.tableParts()
	default:
		for {
			r.types = append(r.types, p.ident())
			if !p.op(",") {
				break
			}
		}
	}
	r.with = p.withProperties()
	return r
}

// createView keeps the query as it is written.
func (p *parser) createView(replace bool) any {
	v := createView{name: p.table(), replace: replace}
	p.expect("as")
	from := p.peek().pos
	p.op("(")
	if !p.isWord("select") {
		p.fail()
	}
	for p.peek().kind != tokEnd && !p.isOp(";") {
		p.i++
	}
	to := p.peek().pos
	if p.peek().kind == tokEnd {
		to = len(p.src)
	}
	v.definition = p.src[from:to]
	return v
}
