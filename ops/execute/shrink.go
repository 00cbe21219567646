package execute

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// shrinkSet asks the database once more, then lets the nodes go. What has changed
// since the decision is an error, and is decided again.
func shrinkSet(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	names := entries(a.NodeNames)
	if len(names) == 0 || a.From-a.To != len(names) {
		return model.Result{}, fmt.Errorf("%d node(s) are known of %d that are to leave", len(names), a.From-a.To)
	}
	behind, err := lookEmpty(ctx, a, t)
	if err != nil {
		return model.Result{}, err
	}
	if err := t.Objects.ShrinkSet(ctx, a.Set, a.SetUID, a.SetVersion, a.From, a.To); err != nil {
		return model.Result{}, err
	}
	return model.Result{Message: fmt.Sprintf("%d node(s) leave %s: %d replicas instead of %d", len(names), gates.LeftBehind(behind), a.To, a.From)}, nil
}

// deleteClaims looks as shrinkSet does, then deletes the claims of the node that was drained.
func deleteClaims(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	claims := entries(a.Claims)
	if len(claims) == 0 || len(entries(a.NodeIDs)) != 1 {
		return model.Result{}, fmt.Errorf("%d claim(s) are named of %d drained node(s), and not some of one", len(claims), len(entries(a.NodeIDs)))
	}
	if _, err := lookEmpty(ctx, a, t); err != nil {
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
// is otherwise than it was decided on. behind are the tables with copies that may stay there.
func lookEmpty(ctx context.Context, a model.Action, t Tools) (behind []string, err error) {
	ids, names := entries(a.NodeIDs), entries(a.NodeNames)
	// The witnesses beside `system` take seconds: what it is shown is asked after them,
	// right before the write.
	x := model.Examination{IDs: ids, Names: names, Pods: entries(a.Pods), Absent: entries(a.Absent), Ask: a.Pod, Elsewhere: a.Elsewhere}
	if reason, holds := x.Verdict(Examine(ctx, t, x)); holds {
		return nil, fmt.Errorf("looking once more, not as system: %s", reason.Message)
	}
	s, err := t.system(ctx, a)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if len(ids) > 0 {
		// Before the shards are looked for: from here on none comes to these nodes.
		if err := putInForce(ctx, s, a); err != nil {
			return nil, err
		}
	}
	nodes, err := s.Strings(ctx, nodeIDs)
	if err != nil {
		return nil, fmt.Errorf("looking for the nodes once more: %w", err)
	}
	if err := allThere(nodes, 1, a.Members, ""); err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if slices.Contains(names, n[1]) && !slices.Contains(ids, n[0]) {
			return nil, fmt.Errorf("node %s is another one by now: its id %s was not drained", n[1], n[0])
		}
	}
	rows, err := s.Strings(ctx, copies)
	if err != nil {
		return nil, fmt.Errorf("looking for shards on the nodes once more: %w", err)
	}
	if behind, err = empty(rows, ids, names, a.Elsewhere); err != nil {
		return nil, err
	}
	if filtered, err := filteredTables(ctx, s); err != nil {
		return nil, err
	} else if filtered > a.Filtered {
		return nil, fmt.Errorf("%d table(s) have allocation filters of their own and not %d any more: what they keep may move to the nodes that are to leave", filtered, a.Filtered)
	}
	if err := lookFiltered(ctx, s, a); err != nil {
		return nil, err
	}
	return behind, lookUnfiltered(ctx, s, a)
}

// empty is an error that names what is on the nodes, is moving, or is nowhere.
// With elsewhere a copy may stay that is started on another node too: behind are the tables of such.
func empty(rows [][]string, ids, names []string, elsewhere bool) (behind []string, err error) {
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
			return nil, fmt.Errorf("%s is %s by now", where, r[4])
		case leaving(r) && !safe[of(r)]:
			return nil, fmt.Errorf("%s is on node %s by now", where, r[6])
		case leaving(r) && !slices.Contains(behind, r[0]+"."+r[1]):
			behind = append(behind, r[0]+"."+r[1])
		}
	}
	return behind, nil
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
