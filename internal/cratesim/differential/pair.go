package differential

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"stevedore.dev/stevedore/internal/cratehome"
	"stevedore.dev/stevedore/internal/cratesim"
	"stevedore.dev/stevedore/internal/cratesim/model"
	"stevedore.dev/stevedore/ops/cratedb"
	"stevedore.dev/stevedore/ops/execute"
)

// Options of a pair.
type Options struct {
	Home, Version string
	// Real and Simulated begin the nodes' addresses: "127.0.35.".
	Real, Simulated string
	// Dir takes the nodes' data; "" is a new folder in memory where the machine has one.
	Dir string
	// Keep leaves the real nodes running at the end, and takes those that run already.
	Keep bool
	// Allowed are the differences that do not count; nil is the committed list.
	Allowed []Allowed
}

// Pair is a real cluster and a simulated one with the same nodes.
type Pair struct {
	real, sim *cluster
	hub       *cratesim.Hub
	version   string
	dir       string
	number    int
	keep      bool
	asked     []question
	allowed   []Allowed
	Counts
}

// Counts are what a pair has done so far.
type Counts struct {
	// Used is how often each pattern of the list was needed.
	Used map[string]int
	// Held are the statements that both clusters held.
	Held int
	// Steps are the steps, Questions the answers compared.
	Steps, Questions int
	// Took is how long the parts of the work took in all.
	Took map[string]time.Duration
}

// Now is a copy, which stays as it is while the pair goes on.
func (c *Counts) Now() Counts {
	out := *c
	out.Used, out.Took = maps.Clone(c.Used), maps.Clone(c.Took)
	return out
}

type question struct {
	name, user string
	statement  execute.Statement
	masked     []bool
	// always is true for what is asked after each step; the others are asked after the last
	// one, since a situation's beginning is a situation too.
	always bool
	// alone is true for what sees the other questions while they are answered.
	alone bool
}

// questions are the statements that read, as each user, and what the deciders say of
// every copy.
func questions() []question {
	var out []question
	for _, s := range append(cratedb.Statements(), execute.Statements()...) {
		if s.Writes {
			continue
		}
		for _, user := range []string{"system", "crate"} {
			out = append(out, question{s.Name + " as " + user, user, s, masks(s.SQL), false, strings.Contains(s.SQL, "sys.jobs") || strings.Contains(s.SQL, "sys.operations")})
		}
	}
	extra := func(name, sql string) {
		out = append(out, question{name, "crate", execute.Statement{Name: name, SQL: sql}, masks(sql), name == "deciders" || name == "health", false})
	}
	extra("deciders", `SELECT table_schema, table_name, partition_ident, shard_id, "primary", current_state, node_id, decisions, explanation FROM sys.allocations`)
	extra("cluster health", `SELECT health, severity, description, missing_shards, underreplicated_shards FROM sys.cluster_health`)
	extra("health", `SELECT table_schema, table_name, partition_ident, health, severity, missing_shards, underreplicated_shards FROM sys.health`)
	extra("closed", `SELECT table_schema, table_name, closed FROM information_schema.tables WHERE table_schema NOT IN ('sys', 'information_schema', 'pg_catalog')`)
	extra("snapshots", `SELECT name, repository, state FROM sys.snapshots`)
	extra("repositories", `SELECT name, type FROM sys.repositories`)
	extra("privileges", `SELECT class, grantee, grantor, ident, state, type FROM sys.privileges`)
	for i := range out {
		if name := out[i].statement.Name; out[i].user == "system" && (name == "cratedb.copies" || name == "cratedb.tables0" || name == "cratedb.partitions0") {
			out[i].always = true
		}
	}
	return out
}

// NewPair starts both clusters.
func NewPair(ctx context.Context, o Options) (p *Pair, err error) {
	release, err := cratehome.Find(o.Home, o.Version)
	if err != nil {
		return nil, err
	}
	p = &Pair{version: o.Version, dir: o.Dir, asked: questions(), keep: o.Keep, allowed: o.Allowed, Counts: Counts{Used: map[string]int{}, Took: map[string]time.Duration{}}}
	if o.Allowed == nil {
		p.allowed = AllowedDifferences()
	}
	if p.dir != "" {
		if err := os.MkdirAll(p.dir, 0o711); err != nil {
			return nil, err
		}
	} else {
		// In memory: each change of the cluster's state is written and synced.
		base := ""
		if _, err := os.Stat("/dev/shm"); err == nil {
			base = "/dev/shm"
		}
		if p.dir, err = os.MkdirTemp(base, "diff"); err != nil {
			return nil, err
		}
		if err := os.Chmod(p.dir, 0o711); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	if p.real, err = real(ctx, release, o.Real, p.dir, o.Keep); err != nil {
		return nil, err
	}
	if p.sim, p.hub, err = simulated(o.Version, o.Simulated, p.dir); err != nil {
		return nil, err
	}
	return p, p.startAll(ctx)
}

// Close ends both clusters and takes their data away.
func (p *Pair) Close() {
	for _, c := range p.both() {
		c.close()
	}
	if p.dir != "" && !p.keep {
		_ = os.RemoveAll(p.dir)
	}
}

func (p *Pair) both() (out []*cluster) {
	if p.real != nil {
		out = append(out, p.real)
	}
	if p.sim != nil {
		out = append(out, p.sim)
	}
	return out
}

// each runs f on both at the same time.
func (p *Pair) each(f func(*cluster) error) error {
	var all sync.WaitGroup
	both := p.both()
	errs := make([]error, len(both))
	for i, c := range both {
		all.Go(func() { errs[i] = f(c) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (p *Pair) startAll(ctx context.Context) error {
	return p.each(func(c *cluster) error {
		var wait sync.WaitGroup
		errs := make([]error, Nodes)
		for i := range Nodes {
			wait.Go(func() { errs[i] = c.start(i) })
		}
		wait.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		for i := range Nodes {
			c.up[i] = true
		}
		if err := c.joined(ctx, Nodes); err != nil {
			return err
		}
		if _, err := c.overHTTP(ctx, "crate", "CREATE USER system WITH (password = '"+systemPassword+"')", nil); err != nil {
			return err
		}
		_, err := c.must(ctx, "GRANT ALL PRIVILEGES TO system")
		return err
	})
}

// joined waits until the cluster has so many nodes and has recovered.
func (c *cluster) joined(ctx context.Context, n int) error {
	for end := time.Now().Add(time.Minute); ; {
		a, err := c.overHTTP(ctx, "crate", "SELECT count(*) FROM sys.nodes", nil)
		if err == nil && len(a.rows) == 1 && fmt.Sprint(a.rows[0][0]) == strconv.Itoa(n) {
			h, err := c.overHTTP(ctx, "crate", "SELECT description FROM sys.cluster_health", nil)
			if err == nil && len(h.rows) == 1 && !strings.Contains(fmt.Sprint(h.rows[0][0]), "not recovered") && h.err == "" {
				return c.learn(ctx)
			}
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s has not %d nodes after a minute: %v %v", c.name, n, a, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// sizes gives the simulated nodes the disks of the real ones.
func (p *Pair) sizes(ctx context.Context) error {
	a, err := p.real.must(ctx, "SELECT name, fs['total']['size'], fs['total']['used'] FROM sys.nodes")
	if err != nil {
		return err
	}
	p.hub.Do(func(m *model.Model) {
		for _, r := range a.rows {
			if n := m.NodeByName(fmt.Sprint(r[0])); n != nil {
				size, _ := strconv.ParseInt(fmt.Sprint(r[1]), 10, 64)
				used, _ := strconv.ParseInt(fmt.Sprint(r[2]), 10, 64)
				m.SetDiskSize(n, size)
				m.SetDiskUsed(n, used)
			}
		}
	})
	return nil
}
