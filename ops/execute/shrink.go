package execute

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// shrinkSet asks the database once more, then lets the nodes go. What has changed
// since the decision is an error, and is decided again.
func shrinkSet(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	names := entries(a.NodeNames)
	if len(names) == 0 || a.From-a.To != len(names) {
		return model.Result{}, fmt.Errorf("%d node(s) are known of %d that are to leave", len(names), a.From-a.To)
	}
	if err := lookEmpty(ctx, a, t); err != nil {
		return model.Result{}, err
	}
	if err := t.Objects.ShrinkSet(ctx, a.Set, a.SetUID, a.SetVersion, a.From, a.To); err != nil {
		return model.Result{}, err
	}
	return model.Result{Message: fmt.Sprintf("%d empty node(s) leave: %d replicas instead of %d", len(names), a.To, a.From)}, nil
}

// deleteClaims looks as shrinkSet does, then deletes the claims of the node that was drained.
func deleteClaims(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	claims := entries(a.Claims)
	if len(claims) == 0 || len(entries(a.NodeIDs)) != 1 {
		return model.Result{}, fmt.Errorf("%d claim(s) are named of %d drained node(s), and not some of one", len(claims), len(entries(a.NodeIDs)))
	}
	if err := lookEmpty(ctx, a, t); err != nil {
		return model.Result{}, err
	}
	for _, claim := range claims {
		name, uid, ok := strings.Cut(claim, "/")
		if !ok {
			return model.Result{}, fmt.Errorf("%q is no claim and its UID", claim)
		}
		if err := t.Objects.DeleteClaim(ctx, name, uid); err != nil {
			return model.Result{}, err
		}
	}
	return model.Result{Message: fmt.Sprintf("%d volume claim(s) of the empty node %s are deleted, and go with its pod", len(claims), a.NodeNames)}, nil
}

// lookEmpty is an error where the nodes that were drained are not empty by now, or anything else
// is otherwise than it was decided on.
func lookEmpty(ctx context.Context, a model.Action, t Tools) error {
	ids, names := entries(a.NodeIDs), entries(a.NodeNames)
	// The witnesses beside `system` take seconds: what it is shown is asked after them,
	// right before the write.
	x := model.Examination{IDs: ids, Names: names, Pods: entries(a.Pods), Absent: entries(a.Absent), Ask: a.Pod, Elsewhere: a.Elsewhere}
	if reason, holds := x.Verdict(Examine(ctx, t, x)); holds {
		return fmt.Errorf("looking once more, not as system: %s", reason.Message)
	}
	s, err := t.system(ctx, a)
	if err != nil {
		return err
	}
	defer s.Close()
	if len(ids) > 0 {
		// Before the shards are looked for: from here on none comes to these nodes.
		if err := putInForce(ctx, s, a); err != nil {
			return err
		}
	}
	nodes, err := s.Strings(ctx, nodeIDs)
	if err != nil {
		return fmt.Errorf("looking for the nodes once more: %w", err)
	}
	if err := allThere(nodes, 1, a.Members, ""); err != nil {
		return err
	}
	for _, n := range nodes {
		if slices.Contains(names, n[1]) && !slices.Contains(ids, n[0]) {
			return fmt.Errorf("node %s is another one by now: its id %s was not drained", n[1], n[0])
		}
	}
	rows, err := s.Strings(ctx, copies)
	if err != nil {
		return fmt.Errorf("looking for shards on the nodes once more: %w", err)
	}
	if err := empty(rows, ids, names, a.Elsewhere); err != nil {
		return err
	}
	if filtered, err := filteredTables(ctx, s); err != nil {
		return err
	} else if filtered > a.Filtered {
		return fmt.Errorf("%d table(s) have allocation filters of their own and not %d any more: what they keep may move to the nodes that are to leave", filtered, a.Filtered)
	}
	if err := lookFiltered(ctx, s, a); err != nil {
		return err
	}
	return lookUnfiltered(ctx, s, a)
}

// empty is an error that names what is on the nodes, is moving, or is nowhere.
// With elsewhere a copy may stay that is started on another node too.
func empty(rows [][]string, ids, names []string, elsewhere bool) error {
	leaving := func(r []string) bool { return slices.Contains(ids, r[5]) || slices.Contains(names, r[6]) }
	type shard struct{ schema, table, partition, id string }
	of := func(r []string) shard { return shard{r[0], r[1], r[2], r[3]} }
	safe := map[shard]bool{}
	for _, r := range rows {
		if elsewhere && r[4] == "STARTED" && !leaving(r) {
			safe[of(r)] = true
		}
	}
	for _, r := range rows {
		where := fmt.Sprintf("shard %s of %s.%s", r[3], r[0], r[1])
		switch {
		case r[4] != "STARTED":
			return fmt.Errorf("%s is %s by now", where, r[4])
		case leaving(r) && !safe[of(r)]:
			return fmt.Errorf("%s is on node %s by now", where, r[6])
		}
	}
	return nil
}

// filteredTables counts the tables and partitions with allocation filters of their own,
// which from 5.9 on make the cluster's exclusion void for them.
func filteredTables(ctx context.Context, s Session) (int, error) {
	n := 0
	for _, query := range []string{partitionFilters, tableFilters} {
		rows, err := s.Strings(ctx, query)
		if err != nil {
			return 0, fmt.Errorf("looking for tables with allocation filters once more: %w", err)
		}
		for _, r := range rows {
			var said struct{ Exclude, Include, Require map[string]any }
			if len(r) == 0 || r[0] == "" {
				continue
			}
			if err := json.Unmarshal([]byte(r[0]), &said); err != nil {
				return 0, fmt.Errorf("reading the allocation filters of a table: %w", err)
			}
			if filters(said.Exclude) || filters(said.Include) || filters(said.Require) {
				n++
			}
		}
	}
	return n, nil
}

// filters: one of them is set.
func filters(of map[string]any) bool {
	for _, value := range of {
		if value != nil && value != "" {
			return true
		}
	}
	return false
}
