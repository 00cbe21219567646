package cluster

import (
	"maps"
	"math"
	"slices"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
	"stevedore.dev/stevedore/ops/model"
)

// Placement is where the copies of shards are, and what CrateDB's deciders say of them.
type Placement struct {
	// Moved is called with the bytes that come to a node, or go from it.
	Moved func(node string, bytes int64)

	rules    allocation.Settings
	nodes    []*allocation.Node
	byID     map[string]*allocation.Node
	tables   map[string]*table
	shards   []*shard
	question allocation.Copy
}

type table struct {
	allocation.Table
	desired int // copies of each shard; 0 where that is not known, or as many as it has
}

// shard has its copies: those on a node, and those that are desired and on none.
type shard struct {
	of     *table
	copies []*model.Shard
}

// Place asks the deciders about these shards. The nodes are the members that hold data; where their
// attributes are not known no awareness is asked.
//
// cluster.routing.allocation.enable is left out: while a daemon holds it nothing is drained, and copies
// that are away for it come back once it is given back.
func Place(nodes []model.Node, settings *model.AllocationSettings, tables []model.Table, shards []model.Shard) *Placement {
	p := &Placement{Moved: func(string, int64) {}, byID: map[string]*allocation.Node{}, tables: map[string]*table{}}
	p.rules = allocation.Settings{
		Recoveries: math.MaxInt, InitialPrimaries: math.MaxInt, TotalShardsPerNode: settings.TotalShardsPerNode, Filters: filters(settings.Filters()),
		DiskThreshold: settings.DiskThreshold, Low: allocation.ParseWatermark(settings.LowWatermark), High: allocation.ParseWatermark(settings.HighWatermark),
	}
	for i := range nodes {
		n := &allocation.Node{ID: nodes[i].ID, Name: nodes[i].Name, Address: nodes[i].Address, Attributes: nodes[i].Attributes}
		n.Version, _ = allocation.ParseVersion(nodes[i].Version)
		disks, _ := nodes[i].FileSystems()
		for _, d := range disks {
			if free := d.Size - d.Used; n.DiskSize == 0 || free > n.DiskFree {
				n.DiskSize, n.DiskFree = d.Size, free
			}
		}
		p.nodes, p.byID[n.ID] = append(p.nodes, n), n
		p.rules.Version = p.nodes[0].Version
	}
	known := !model.Any(nodes, func(n *model.Node) bool { return n.Attributes == nil })
	for _, name := range settings.Awareness {
		if known {
			p.rules.Awareness = append(p.rules.Awareness, allocation.Attribute{Name: name, Forced: settings.Forced[name]})
		}
	}
	p.rules.Count(p.nodes)
	for i := range tables {
		p.table(&tables[i])
	}
	p.take(shards)
	return p
}

func (p *Placement) table(of *model.Table) *table {
	t := &table{Table: allocation.Table{Name: of.Name, Enable: allocation.Enable(of.Enable), Filters: filters(of.Filters()), TotalShardsPerNode: of.TotalShardsPerNode}}
	t.OnNode = func(n *allocation.Node) (count int) {
		for _, s := range p.shards {
			if s.of == t && slices.ContainsFunc(s.copies, func(c *model.Shard) bool { return c.Node == n.ID }) {
				count++
			}
		}
		return count
	}
	if replicas, err := allocation.ParseReplicas(of.Replicas); err == nil {
		usable := slices.DeleteFunc(slices.Clone(p.nodes), func(n *allocation.Node) bool { return !p.rules.Allows(&t.Table, n) })
		t.desired = replicas.On(len(usable), -1) + 1 // a range that begins with more than they take keeps its number
	}
	p.tables[t.Name] = t
	return t
}

func (p *Placement) take(rows []model.Shard) {
	type key struct {
		table string
		id    int
	}
	found := map[key]*shard{}
	for i := range rows {
		row := rows[i]
		s := found[key{row.Table, row.ID}]
		if s == nil {
			s = &shard{of: p.tables[row.Table]}
			if s.of == nil {
				s.of = p.table(&model.Table{Name: row.Table})
			}
			p.shards, found[key{row.Table, row.ID}] = append(p.shards, s), s
		}
		s.copies = append(s.copies, &row)
		if n := p.byID[row.Node]; n != nil {
			n.Shards++
		}
	}
}

// Rows are the copies by now.
func (p *Placement) Rows() (rows []model.Shard) {
	for _, s := range p.shards {
		none := s.desired() - s.have()
		for _, c := range s.copies {
			if c.Node == "" {
				none--
			}
			if c.Node != "" || none >= 0 {
				rows = append(rows, *c)
			}
		}
	}
	return rows
}

// desired is how many copies a shard is to have; of a table of which that is not known as many as it has.
func (s *shard) desired() int {
	if s.of.desired > 0 {
		return s.of.desired
	}
	return len(s.copies)
}

func (s *shard) have() (n int) {
	for _, c := range s.copies {
		if c.Node != "" {
			n++
		}
	}
	return n
}

// asked is a copy as the deciders want to know it; nil is one that is on no node yet.
func (p *Placement) asked(s *shard, of *model.Shard) *allocation.Copy {
	q := &p.question
	*q = allocation.Copy{Table: &s.of.Table, Allocated: true, Copies: s.desired(), Others: q.Others[:0]}
	for _, c := range s.copies {
		if c.Node == "" {
			continue
		}
		on := p.byID[c.Node]
		if on == nil {
			on = &allocation.Node{ID: c.Node} // it is away
		}
		if c.State == "STARTED" && (q.Source == nil || c.Primary) {
			q.Source = on
		}
		if c == of {
			q.On, q.Primary = on, c.Primary
		} else {
			q.Others = append(q.Others, allocation.Place{On: on, Primary: c.Primary})
		}
	}
	return q
}

// strays reports whether a copy may not be where it is.
func (p *Placement) strays(s *shard, c *model.Shard) bool {
	return c.State == "STARTED" && p.byID[c.Node] != nil && !p.rules.Remains(p.asked(s, c))
}

// bring brings a copy to the node with the fewest shards that takes it; false where none does.
func (p *Placement) bring(s *shard, c *model.Shard) bool {
	q := p.asked(s, c)
	var best *allocation.Node
	for _, n := range p.nodes {
		if (best == nil || n.Shards < best.Shards) && p.rules.Decide(q, n) == allocation.Yes {
			best = n
		}
	}
	if best == nil {
		return false
	}
	p.leave(c)
	c.Node, c.State = best.ID, "STARTED"
	best.Shards, best.DiskFree = best.Shards+1, best.DiskFree-c.Bytes
	p.Moved(best.ID, c.Bytes)
	return true
}

func (p *Placement) leave(c *model.Shard) {
	if n := p.byID[c.Node]; n != nil {
		n.Shards, n.DiskFree = n.Shards-1, n.DiskFree+c.Bytes
	}
	p.Moved(c.Node, -c.Bytes)
	c.Node, c.To, c.State = "", "", "UNASSIGNED"
}

// Move takes so many copies off nodes that they may not be on, after it has given up replicas that are too
// many of a range: those that may not stay come first. It says how many have moved.
func (p *Placement) Move(most int) (moved int) {
	for _, s := range p.shards {
		for _, strays := range []bool{true, false} {
			for _, c := range s.copies {
				if c.Node != "" && !c.Primary && s.have() > s.desired() && (!strays || p.strays(s, c)) {
					p.leave(c)
				}
			}
		}
		for _, c := range s.copies {
			if moved < most && p.strays(s, c) && p.bring(s, c) {
				moved++
			}
		}
	}
	return moved
}

// Lose takes the copies off nodes that are gone; another one that is started becomes the primary.
func (p *Placement) Lose(gone func(node string) bool) (lost bool) {
	for _, s := range p.shards {
		for _, c := range s.copies {
			if c.Node == "" || !gone(c.Node) {
				continue
			}
			p.leave(c)
			lost = true
			for _, o := range s.copies {
				if c.Primary && o.State == "STARTED" && !gone(o.Node) {
					c.Primary, o.Primary = false, true
				}
			}
		}
	}
	return lost
}

// Replicate makes so many of the copies that are desired and that a node takes, of shards that have one.
// It says how many lack after that, of which tables, and how many each shard of a table has at least.
func (p *Placement) Replicate(most int) (lacks int, tables []string, started map[string]int) {
	started = map[string]int{}
	for _, s := range p.shards {
		have := s.have()
		for have > 0 && have < s.desired() && most > 0 && p.replicate(s) {
			have, most = have+1, most-1
		}
		if n, counted := started[s.of.Name]; !counted || have < n {
			started[s.of.Name] = have
		}
		if n := s.desired() - have; n > 0 && have > 0 {
			if lacks += n; !slices.Contains(tables, s.of.Name) {
				tables = append(tables, s.of.Name)
			}
		}
	}
	return lacks, tables, started
}

func (p *Placement) replicate(s *shard) bool {
	for _, c := range s.copies {
		if c.Node == "" {
			return p.bring(s, c)
		}
	}
	next := *s.copies[0]
	next.Node, next.Primary = "", false
	if !p.bring(s, &next) {
		return false
	}
	s.copies = append(s.copies, &next)
	return true
}

// filters are those of a reading, as the deciders ask for them.
func filters(f model.Filters) (out allocation.Filters) {
	for i, lists := range []model.Lists{f.Require, f.Include, f.Exclude} {
		for _, key := range slices.Sorted(maps.Keys(lists)) {
			out.Add(allocation.FilterKinds[i], key, lists[key])
		}
	}
	return out
}
