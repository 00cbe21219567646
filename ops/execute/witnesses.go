package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// A node that has not applied the last state of the cluster shows tables under the names that they had before, and as
// whole or as little whole as they were. It shows that in every view, and carries out what it is asked for all the
// same: the master does that, by name. So two nodes have to show the same before a table is dropped or two exchange
// their names, and one of them is the master. A cluster of one node is asked once: that node
// publishes the state itself, and is never behind it.

// witnesses are sessions as `system` at one node or two.
type witnesses []Session

func (w witnesses) Close() {
	for _, s := range w {
		s.Close()
	}
}

// seconded adds the second node that is asked to a session at the first one.
func (t Tools) seconded(ctx context.Context, a model.Action, first Session) (witnesses, error) {
	if a.Second == "" {
		rows, err := first.Strings(ctx, nodeIDs)
		if err != nil {
			return nil, fmt.Errorf("reading sys.nodes: %w", err)
		}
		if len(rows) != 1 {
			return nil, fmt.Errorf("the cluster has %d nodes, and only one of them can be asked", len(rows))
		}
		return witnesses{first}, nil
	}
	at := a
	at.Pod = a.Second
	second, err := t.system(ctx, at)
	if err != nil {
		return nil, err
	}
	return witnesses{first, second}, nil
}

// errBehind: one of them shows what was before.
var errBehind = errors.New("the two nodes that were asked do not show the same: one is behind, and is asked again")

// all are the rows of each, as one of them has them. It is an error where they differ.
func (w witnesses) all(ctx context.Context, query string, arguments ...any) ([][]string, error) {
	var rows [][]string
	for i, s := range w {
		more, err := s.Strings(ctx, query, arguments...)
		if err != nil {
			return nil, err
		}
		if i > 0 && !slices.Equal(lines(rows), lines(more)) {
			return nil, errBehind
		}
		rows = more
	}
	return rows, nil
}

// lines are rows in an order that compares.
func lines(rows [][]string) []string {
	var out []string
	for _, r := range rows {
		out = append(out, strings.Join(r, "\n"))
	}
	slices.Sort(out)
	return out
}
