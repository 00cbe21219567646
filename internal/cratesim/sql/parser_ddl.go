package sql

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
		return p.createRepository()
	case p.word("snapshot"):
		return p.createSnapshot()
	case p.word("or", "replace", "view"):
		return p.createView(true)
	case p.word("view"):
		return p.createView(false)
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
	case p.word("snapshot"):
		return dropSnapshot{p.qname()}
	case p.word("view"):
		d := dropView{ifExists: p.ifExists()}
		d.names = p.tables()
		return d
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
	case p.version.AtLeast(6, 4) && p.word("repository"):
		return p.alterRepository()
	case p.word("cluster"):
		if p.word("reroute") {
			p.expect("retry")
			p.expect("failed")
			return rerouteRetry{}
		}
		if p.word("swap") {
			p.expect("table")
			q := swapTable{source: p.table()}
			p.expect("to")
			if q.target = p.table(); p.word("with") {
				q.with = p.assignments()
			}
			return q
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
		a.only = p.word("only")
		a.name = p.table()
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
