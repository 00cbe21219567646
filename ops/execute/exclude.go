package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops"
)

// effectiveExclusions is cluster.routing.allocation.exclude._id as it has effect.
func effectiveExclusions(ctx context.Context, s Session) ([]string, error) {
	rows, err := s.Strings(ctx, excluded)
	if err != nil {
		return nil, fmt.Errorf("reading cluster.routing.allocation.exclude._id: %w", err)
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return nil, errors.New("reading cluster.routing.allocation.exclude._id: the answer is not one value")
	}
	return entries(rows[0][0]), nil
}

// entries of a comma list.
func entries(list string) []string {
	var out []string
	for _, entry := range strings.Split(list, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			out = append(out, entry)
		}
	}
	return out
}

// with and without keep the others' entries, in their order.
func with(list, ids []string) []string {
	return append(without(list, ids), ids...)
}

func without(list, ids []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(entry string) bool { return slices.Contains(ids, entry) })
}

func holdsAll(list, ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(list, id) })
}

// excludeNodes adds to the list and reads it back. Where a transient value hides
// it, ours is taken off again and that is the result.
func excludeNodes(ctx context.Context, a ops.Action, t Tools) (ops.Result, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return ops.Result{}, err
	}
	defer s.Close()
	ids := entries(a.NodeIDs)
	list, err := effectiveExclusions(ctx, s)
	if err != nil {
		return ops.Result{}, err
	}
	if holdsAll(list, ids) {
		return ops.Result{Message: "the nodes are excluded already"}, nil
	}
	if _, err := s.Exec(ctx, setExcluded(with(list, ids))); err != nil {
		return ops.Result{}, fmt.Errorf("excluding nodes from the allocation: %w", err)
	}
	after, err := effectiveExclusions(ctx, s)
	if err != nil {
		return ops.Result{}, err
	}
	if holdsAll(after, ids) {
		return ops.Result{Message: fmt.Sprintf("%d node(s) are excluded from the allocation", len(ids))}, nil
	}
	if !slices.Equal(after, list) {
		// It was another list a moment ago: somebody has set this one, in the place of ours
		// or above it, and what they have set is not written over.
		return ops.Result{}, fmt.Errorf("excluding nodes from the allocation: cluster.routing.allocation.exclude._id is '%s' right after ours was added: somebody has changed it", strings.Join(after, ","))
	}
	if _, err := s.Exec(ctx, setExcluded(without(list, ids))); err != nil {
		return ops.Result{}, fmt.Errorf("taking back an exclusion that a transient value hides: %w", err)
	}
	return ops.Result{Code: ops.ResultHidden, Message: "a transient value hides the exclusion, which was taken back"}, nil
}

// includeNodes writes also where ours are not to be seen: a transient value may
// hide them. Doing it twice does no harm.
func includeNodes(ctx context.Context, a ops.Action, t Tools) (ops.Result, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return ops.Result{}, err
	}
	defer s.Close()
	ids := entries(a.NodeIDs)
	list, err := effectiveExclusions(ctx, s)
	if err != nil {
		return ops.Result{}, err
	}
	if _, err := s.Exec(ctx, setExcluded(without(list, ids))); err != nil {
		return ops.Result{}, fmt.Errorf("taking nodes off the exclusions: %w", err)
	}
	after, err := effectiveExclusions(ctx, s)
	if err != nil {
		return ops.Result{}, err
	}
	for _, id := range ids {
		if slices.Contains(after, id) {
			return ops.Result{}, fmt.Errorf("node %s is still excluded, by a transient value; take it off with SET GLOBAL TRANSIENT \"cluster.routing.allocation.exclude._id\"", id)
		}
	}
	return ops.Result{Message: "our exclusions are given back"}, nil
}

// filterTable puts nodes on a table's own exclude list, or takes them off.
func filterTable(ctx context.Context, a ops.Action, t Tools) (ops.Result, error) {
	schema, table, ok := strings.Cut(a.Table, ".")
	if !ok {
		return ops.Result{}, fmt.Errorf("%q is no schema and table", a.Table)
	}
	s, err := t.system(ctx, a)
	if err != nil {
		return ops.Result{}, err
	}
	defer s.Close()
	rows, err := s.Strings(ctx, tableExcluded, schema, table)
	if err != nil {
		return ops.Result{}, fmt.Errorf("reading the exclude list of table %s: %w", a.Table, err)
	}
	if len(rows) == 0 {
		return ops.Result{Message: "the table is gone, and its exclude list with it"}, nil
	}
	ids := entries(a.NodeIDs)
	mine := without(ids, entries(a.Before))
	list := without(entries(rows[0][0]), mine)
	if a.Kind == ops.ActionExcludeInTable {
		list = with(list, ids)
	}
	if _, err := s.Exec(ctx, setTableExcluded(schema, table, list)); err != nil {
		return ops.Result{}, fmt.Errorf("setting the exclude list of table %s: %w", a.Table, err)
	}
	return ops.Result{Message: fmt.Sprintf("the exclude list of table %s is set", a.Table)}, nil
}

// retryAllocation sets a drain going again that a snapshot, or failures, stopped.
func retryAllocation(ctx context.Context, a ops.Action, t Tools) (ops.Result, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return ops.Result{}, err
	}
	defer s.Close()
	if _, err := s.Exec(ctx, reroute); err != nil {
		return ops.Result{}, fmt.Errorf("telling the cluster to retry the allocation: %w", err)
	}
	return ops.Result{Message: "the allocation is retried"}, nil
}
