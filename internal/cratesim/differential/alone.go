package differential

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratehome"
	"stevedore.dev/stevedore/internal/cratesim/model"
)

// Alone is one cluster by itself: a case's answer is the same on each.
type Alone struct {
	p *Pair
	c *cluster
}

// NewAlone starts a cluster of a version: a real one where home names releases, else a
// simulated one, at addresses that begin with prefix.
func NewAlone(ctx context.Context, home, version, prefix string) (*Alone, error) {
	dir, err := os.MkdirTemp("", "alone")
	if err != nil {
		return nil, err
	}
	p := &Pair{version: version, dir: dir, asked: questions()}
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, err
	}
	var c *cluster
	if home != "" {
		release, err := cratehome.Find(home, version)
		if err == nil {
			c, err = real(ctx, release, prefix, dir, false)
		}
		if err != nil {
			return nil, err
		}
		p.real = c
	} else {
		if c, p.hub, err = simulated(version, prefix, dir); err != nil {
			return nil, err
		}
		p.sim = c
	}
	a := &Alone{p, c}
	if err := p.startAll(ctx); err != nil {
		a.Close()
		return nil, err
	}
	if p.hub != nil {
		// As a machine that has some room: the disks are the same on all nodes.
		p.hub.Do(func(m *model.Model) {
			for _, n := range m.Nodes() {
				m.SetDiskSize(n, 1<<35)
			}
		})
	}
	return a, nil
}

// Close ends it.
func (a *Alone) Close() {
	a.c.close()
	_ = os.RemoveAll(a.p.dir)
}

// Answer does a case's steps, from an empty cluster, and gives what it asks for.
func (a *Alone) Answer(ctx context.Context, k Case) (string, error) {
	a.p.number++
	a.p.unlock()
	if _, err := a.c.reset(ctx); err != nil {
		return "", err
	}
	answer := ""
	var list []copyAt
	for _, s := range k.Steps {
		var err error
		if answer, err = a.p.do(ctx, a.c, s, list); err != nil {
			return "", fmt.Errorf("%s: %w", s, err)
		}
		if list, err = a.c.quiet(ctx, patience); err != nil {
			return "", err
		}
	}
	if a.p.real != nil && k.Question != "answer" {
		// CrateDB begins some moves a moment after it has answered.
		time.Sleep(time.Second / 2)
		var err error
		if list, err = a.c.quiet(ctx, patience); err != nil {
			return "", err
		}
	}
	switch k.Question {
	case "answer":
		return answer, nil
	case "shards":
		return shape(list), nil
	case "places":
		// How many copies are anywhere, and on which nodes.
		var out []string
		for _, at := range list {
			out = append(out, fmt.Sprintf("%s.%s %s on %q", at.schema, at.table, at.state, at.node))
		}
		return strings.Join(out, "\n"), nil
	}
	for _, q := range a.p.asked {
		if q.name == k.Question {
			got, err := a.c.run(ctx, q.user, a.c.expand(forUser(q.user, unlimited(q.statement.SQL)), 0, nil), a.c.bind(q.user, q.statement.Arguments))
			got.masked = q.masked
			return a.c.text(got), err
		}
	}
	return "", fmt.Errorf("nothing is asked by the name %q", k.Question)
}

// CheckCases does the committed cases of the release on the real cluster.
func (p *Pair) CheckCases(ctx context.Context) (checked int, err error) {
	cases, err := Cases()
	if err != nil {
		return 0, err
	}
	a := &Alone{p, p.real}
	for _, k := range cases {
		if k.Version != p.version {
			continue
		}
		answer, err := a.Answer(ctx, k)
		if err == nil {
			err = k.Check(answer)
		}
		if err != nil {
			return checked, err
		}
		checked++
	}
	return checked, nil
}
