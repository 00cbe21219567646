package differential

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// copyAt is one copy of a shard as sys.allocations has it.
type copyAt struct {
	schema, table, ident string
	shard                int
	primary              bool
	node                 string // its name; "" unassigned
	state                string
}

// soon is how long a copy that CrateDB itself calls allocatable may stay unassigned before that
// counts as its state: on a busy machine CrateDB allocates seconds after it has said so.
const soon = 3 * time.Second

// quiet waits until a cluster has nothing to do, and gives where its copies are.
func (c *cluster) quiet(ctx context.Context, patience time.Duration) ([]copyAt, error) {
	end, since := time.Now().Add(patience), time.Now()
	last := ""
	for {
		list, busy, err := c.placement(ctx)
		if err != nil {
			return nil, err
		}
		now := fmt.Sprint(list)
		if now != last || busy {
			since = time.Now()
		} else {
			pending, err := c.pending(ctx, list)
			if err != nil {
				return nil, err
			}
			if !pending || time.Since(since) > soon {
				return list, nil
			}
		}
		last = now
		if time.Now().After(end) {
			return list, fmt.Errorf("%s is not quiet after %s: %s", c.name, patience, now)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(8 * time.Millisecond):
		}
	}
}

// pending reports whether a real CrateDB says of an unassigned copy that it may be allocated,
// now or once others have been.
func (c *cluster) pending(ctx context.Context, list []copyAt) (bool, error) {
	if !c.real || !slices.ContainsFunc(list, func(at copyAt) bool { return at.state == "UNASSIGNED" }) {
		return false, nil
	}
	a, err := c.must(ctx, `SELECT shard_id FROM sys.allocations WHERE current_state = 'UNASSIGNED' AND explanation IN ('can allocate the shard', 'allocation temporarily throttled')`)
	return len(a.rows) > 0, err
}

// placement is where the copies are, and whether anything goes on.
func (c *cluster) placement(ctx context.Context) (list []copyAt, busy bool, err error) {
	a, err := c.must(ctx, `SELECT table_schema, table_name, partition_ident, shard_id, "primary", node_id, current_state FROM sys.allocations`)
	if err != nil {
		return nil, false, err
	}
	names := map[string]string{}
	for name, id := range c.ids {
		names[id] = name
	}
	for _, r := range a.rows {
		at := copyAt{schema: fmt.Sprint(r[0]), table: fmt.Sprint(r[1]), primary: r[4] == true, state: fmt.Sprint(r[6])}
		if r[2] != nil {
			at.ident = fmt.Sprint(r[2])
		}
		if n, ok := r[3].(json.Number); ok {
			at.shard, _ = strconv.Atoi(n.String())
		}
		if id, ok := r[5].(string); ok {
			at.node = names[id]
		}
		busy = busy || at.state == "INITIALIZING" || at.state == "RELOCATING"
		list = append(list, at)
	}
	slices.SortFunc(list, func(a, b copyAt) int {
		primary := func(c copyAt) int {
			if c.primary {
				return 0
			}
			return 1
		}
		for _, d := range []int{strings.Compare(a.schema, b.schema), strings.Compare(a.table, b.table), strings.Compare(a.ident, b.ident),
			a.shard - b.shard, primary(a) - primary(b), strings.Compare(a.node, b.node)} {
			if d != 0 {
				return d
			}
		}
		return 0
	})
	return list, busy, nil
}

// shape is what two placements must have in common: the shards, and how many copies
// each has.
func shape(list []copyAt) string {
	counts := map[string]int{}
	for _, c := range list {
		counts[fmt.Sprintf("%s.%s %s [%d]", c.schema, c.table, c.ident, c.shard)]++
	}
	var lines []string
	for k, n := range counts {
		lines = append(lines, fmt.Sprintf("%s: %d copies", k, n))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (c *cluster) placed(list []copyAt) []model.Placed {
	var out []model.Placed
	for _, at := range list {
		p := model.Placed{Schema: at.schema, Table: at.table, Ident: at.ident, Shard: at.shard, Primary: at.primary}
		if at.node != "" {
			p.Node = c.ids[at.node]
		}
		out = append(out, p)
	}
	return out
}

// moved says of the primaries which have come from another node: that is the balancer's choice too.
func (c *cluster) moved(ctx context.Context, placed []model.Placed) error {
	a, err := c.must(ctx, `SELECT schema_name, table_name, partition_ident, id FROM sys.shards WHERE "primary" AND recovery['type'] = 'PEER'`)
	if err != nil {
		return err
	}
	came := map[string]bool{}
	for _, r := range a.rows {
		came[fmt.Sprintf("%v.%v %v [%v]", r[0], r[1], cmp.Or(r[2], any("")), r[3])] = true
	}
	for i := range placed {
		p := &placed[i]
		p.Moved = p.Primary && came[fmt.Sprintf("%s.%s %s [%d]", p.Schema, p.Table, p.Ident, p.Shard)]
	}
	return nil
}

var (
	ofNode = regexp.MustCompile(`\{(n\d)\.(id|name|ip)\}`)
	ofCopy = regexp.MustCompile(`\{(\w+)\.(\w+)(#\d+)?\.(\d+)\.([prx])\}`)
)

// expand puts a cluster's own ids and places into a text.
func (c *cluster) expand(text string, number int, list []copyAt) string {
	text = strings.ReplaceAll(text, "{n}", strconv.Itoa(number))
	text = ofNode.ReplaceAllStringFunc(text, func(s string) string {
		m := ofNode.FindStringSubmatch(s)
		switch m[2] {
		case "id":
			return c.ids[m[1]]
		case "ip":
			i, _ := strconv.Atoi(m[1][1:])
			return c.address(i)
		}
		return m[1]
	})
	return ofCopy.ReplaceAllStringFunc(text, func(s string) string {
		m := ofCopy.FindStringSubmatch(s)
		return c.nodeOf(list, m[1], m[2], m[3], m[4], m[5])
	})
}

// nodeOf is the node that has a copy, "n0" where there is none such.
func (c *cluster) nodeOf(list []copyAt, schema, table, part, shard, which string) string {
	var idents []string
	for _, at := range list {
		if at.schema == schema && at.table == table && !slices.Contains(idents, at.ident) {
			idents = append(idents, at.ident)
		}
	}
	slices.Sort(idents)
	k := 0
	if part != "" {
		k, _ = strconv.Atoi(part[1:])
	}
	if k >= len(idents) {
		return "n0"
	}
	taken := map[string]bool{}
	found := ""
	for _, at := range list {
		if at.schema != schema || at.table != table || at.ident != idents[k] || strconv.Itoa(at.shard) != shard || at.node == "" {
			continue
		}
		taken[at.node] = true
		if found == "" && (which == "p" && at.primary || which == "r" && !at.primary) {
			found = at.node
		}
	}
	if which == "x" {
		for i := Nodes - 1; i >= 0; i-- {
			if c.up[i] && !taken[nodeName(i)] {
				return nodeName(i)
			}
		}
	}
	if found == "" {
		return "n0"
	}
	return found
}
