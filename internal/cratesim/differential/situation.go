package differential

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// errNotQuiet says that a cluster had not come to rest in time: no answer counts then.
var errNotQuiet = errors.New("not quiet")

// patience is how long a cluster may move shards after a step.
const patience = 20 * time.Second

// again is how long two answers that differ have to become the same: CrateDB passes
// some things on after it has answered.
var again = []time.Duration{30 * time.Millisecond, 150 * time.Millisecond, 600 * time.Millisecond}

// Run applies a situation to both clusters, from empty ones, and gives the first
// difference that is not on the list, nil if there is none.
func (p *Pair) Run(ctx context.Context, steps []Step) (*Difference, error) {
	p.number++
	defer p.since("situation", time.Now())
	if err := p.reset(ctx); err != nil {
		return nil, fmt.Errorf("reset: %w", err)
	}
	list, err := p.real.quiet(ctx, patience)
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		return nil, fmt.Errorf("CrateDB is not empty after a reset: %v", list)
	}
	for i, s := range steps {
		p.Steps++
		d, now, err := p.step(ctx, i, s, list, i == len(steps)-1)
		if err != nil {
			return nil, fmt.Errorf("step %d (%s): %w", i+1, s, err)
		}
		if d != nil {
			return d, nil
		}
		list = now
	}
	return nil, nil
}

// step does one step on both, and compares.
func (p *Pair) step(ctx context.Context, i int, s Step, list []copyAt, all bool) (*Difference, []copyAt, error) {
	texts := map[*cluster]string{}
	both := p.both()
	answers := make([]string, len(both))
	begin := time.Now()
	err := p.each(func(c *cluster) error {
		text, err := p.do(ctx, c, s, list)
		answers[slices.Index(both, c)] = text
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	p.since("step", begin)
	for k, c := range both {
		texts[c] = answers[k]
	}
	if s.User == "start" {
		if err := p.sizes(ctx); err != nil {
			return nil, nil, err
		}
	}
	if texts[p.real] == "held" && texts[p.sim] == "held" {
		p.Held++
	}
	if d := p.differ(i, "answer of "+s.User, texts[p.real], texts[p.sim]); d != nil {
		return d, nil, nil
	}
	return p.compare(ctx, i, all)
}

// privileges are what changes who may see what.
var privileges = regexp.MustCompile(`^(GRANT|DENY|REVOKE|DROP ROLE|CREATE ROLE|RESTORE) `)

// do does a step on one cluster.
func (p *Pair) do(ctx context.Context, c *cluster, s Step, list []copyAt) (string, error) {
	switch s.User {
	case "crate", "system":
		statement, bound, err := s.bound()
		if err != nil {
			return "", err
		}
		if bound != nil {
			statement = forUser(s.User, statement)
		}
		a, err := c.run(ctx, s.User, c.expand(statement, p.number, list), bound)
		if err != nil {
			return "", err
		}
		a.masked = masks(statement)
		if privileges.MatchString(s.Text) {
			// An open session goes on with the privileges that its user had at the login where
			// sys.shards is filtered. This program logs in for each reading.
			c.disconnect()
		}
		return c.text(a), nil
	case "lose", "lock", "unlock":
		return "", p.files(c, s.User, c.expand(s.Text, p.number, list))
	}
	n, err := strconv.Atoi(strings.TrimPrefix(s.Text, "n"))
	if err != nil || n < 1 || n >= Nodes {
		return "", fmt.Errorf("%q is no node that may come and go", s.Text)
	}
	if up := s.User == "start"; up != c.up[n] {
		c.up[n] = up
		if up {
			err = c.start(n)
		} else {
			err = c.end(n, s.User == "kill")
		}
	}
	if err != nil {
		return "", err
	}
	count := 0
	for _, up := range c.up {
		if up {
			count++
		}
	}
	return "", c.joined(ctx, count)
}

// compare asks both clusters, once both are quiet: what hangs together with where shards
// are and may go, and everything where all is true.
func (p *Pair) compare(ctx context.Context, i int, all bool) (*Difference, []copyAt, error) {
	for try := 0; ; try++ {
		d, list, err := p.compareOnce(ctx, i, all)
		if err != nil || d == nil || try == len(again) {
			return d, list, err
		}
		begin := time.Now()
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(again[try]):
			p.since("wait for a difference to go", begin)
		}
	}
}

func (p *Pair) compareOnce(ctx context.Context, i int, all bool) (*Difference, []copyAt, error) {
	begin := time.Now()
	var list, simulated []copyAt
	var err, errSimulated error
	_ = p.each(func(c *cluster) error {
		if c == p.real {
			list, err = c.quiet(ctx, patience)
		} else {
			simulated, errSimulated = c.quiet(ctx, patience)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errNotQuiet, err)
	}
	p.since("quiet", begin)
	if errSimulated != nil {
		return &Difference{Step: i, Question: "placement", Real: "quiet", Simulated: errSimulated.Error()}, list, nil
	}
	if d := p.differ(i, "shards", shape(list), shape(simulated)); d != nil {
		return d, list, nil
	}
	if d, err := p.place(ctx, i, list); d != nil || err != nil {
		return d, list, err
	}
	both := p.both()
	answers := make([][]string, len(both))
	part := "ask"
	if all {
		part = "ask all"
	}
	defer p.since(part, time.Now())
	err = p.each(func(c *cluster) error {
		texts, err := p.ask(ctx, c, all)
		answers[slices.Index(both, c)] = texts
		return err
	})
	if err != nil {
		return nil, list, err
	}
	var first *Difference
	for k, q := range p.asked {
		if all || q.always {
			p.Questions++
		}
		if d := p.differ(i, q.name, answers[0][k], answers[1][k]); d != nil && first == nil {
			first = d
		}
	}
	return first, list, nil
}

// place gives the simulator CrateDB's placement.
func (p *Pair) place(ctx context.Context, i int, list []copyAt) (*Difference, error) {
	var objections []string
	placed := p.sim.placed(list)
	if err := p.real.moved(ctx, placed); err != nil {
		return nil, err
	}
	p.inModel(func(c modelCluster) { objections = c.Place(placed) })
	for k := range objections {
		objections[k] = p.sim.normal(objections[k])
	}
	return p.differ(i, "placement", "", strings.Join(objections, "\n")), nil
}

// ask asks one cluster every question: both users at once, then what has to be asked
// alone.
func (p *Pair) ask(ctx context.Context, c *cluster, all bool) ([]string, error) {
	out := make([]string, len(p.asked))
	of := func(wanted func(question) bool) error {
		for k, q := range p.asked {
			if !wanted(q) || !all && !q.always {
				continue
			}
			a, err := c.run(ctx, q.user, c.expand(forUser(q.user, unlimited(q.statement.SQL)), 0, nil), c.bind(q.user, q.statement.Arguments))
			if err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			a.masked = q.masked
			out[k] = c.text(a)
		}
		return nil
	}
	var wait sync.WaitGroup
	errs := make([]error, 2)
	for k, user := range []string{"crate", "system"} {
		wait.Go(func() { errs[k] = of(func(q question) bool { return q.user == user && !q.alone }) })
	}
	wait.Wait()
	return out, errors.Join(append(errs, of(func(q question) bool { return q.alone }))...)
}

// unlimited asks for all rows: of more than the limit any may be given.
func unlimited(sql string) string { return strings.TrimSuffix(sql, " LIMIT 20") }

// forUser writes parameters as the user's protocol has them.
func forUser(user, sql string) string {
	if user == "crate" {
		return strings.NewReplacer("$1", "?", "$2", "?").Replace(sql)
	}
	return sql
}

// bind expands the arguments.
func (c *cluster) bind(_ string, args []any) []any {
	var out []any
	for _, a := range args {
		switch v := a.(type) {
		case string:
			out = append(out, c.expand(v, 0, nil))
		case []string:
			var list []string
			for _, s := range v {
				list = append(list, c.expand(s, 0, nil))
			}
			out = append(out, list)
		default:
			out = append(out, a)
		}
	}
	return out
}

// differ is the difference of two texts, after the list of allowed ones.
func (p *Pair) differ(i int, question, real, simulated string) *Difference {
	if real == simulated {
		return nil
	}
	var used []string
	for _, a := range p.allowed {
		if !a.applies(p.version, question) {
			continue
		}
		r, s := a.mask(real), a.mask(simulated)
		if distance(r, s) < distance(real, simulated) {
			used = append(used, a.Name)
		}
		if real, simulated = r, s; real == simulated {
			for _, name := range used {
				p.Used[name]++
			}
			return nil
		}
	}
	return &Difference{Step: i, Question: question, Real: real, Simulated: simulated}
}

// distance counts the lines that only one of the two has.
func distance(a, b string) int { return len(without(a, b)) + len(without(b, a)) }

// since notes how long a part of the work took.
func (p *Pair) since(part string, begin time.Time) { p.Took[part] += time.Since(begin) }
