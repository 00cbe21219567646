package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/setting"
)

// exclusions are the nodes that the cluster's settings exclude, as these have effect.
type exclusions struct {
	// list is cluster.routing.allocation.exclude._id as it is written, ids are its entries.
	list string
	ids  []string
	// others is what others exclude by other keys (setting.ExcludedByOtherKeys).
	others string
}

func readExclusions(ctx context.Context, s Session) (exclusions, error) {
	rows, err := s.Strings(ctx, excluded)
	if err != nil {
		return exclusions{}, fmt.Errorf("reading cluster.routing.allocation.exclude: %w", err)
	}
	if len(rows) != 1 || len(rows[0]) != 2 {
		return exclusions{}, errors.New("reading cluster.routing.allocation.exclude: the answer is not one list and one object")
	}
	var keys map[string]any
	if err := json.Unmarshal([]byte(rows[0][1]), &keys); err != nil {
		return exclusions{}, fmt.Errorf("reading cluster.routing.allocation.exclude: %w", err)
	}
	lists := map[string]string{}
	for key, value := range keys {
		if value != nil {
			lists[key] = fmt.Sprint(value)
		}
	}
	return exclusions{list: rows[0][0], ids: entries(rows[0][0]), others: setting.ExcludedByOtherKeys(lists)}, nil
}

// besideStill is an error where others exclude something else by now than when this was
// decided: a write of ours ends the effect of all keys but its own.
func (x exclusions) besideStill(a model.Action) error {
	if x.others == a.Beside {
		return nil
	}
	return fmt.Errorf("others exclude nodes by %q now, and by %q when this was decided: a change of ours would end the effect of that", x.others, a.Beside)
}

// putInForce makes our exclusions count again, whatever others have changed of the settings
// beside them: only the key that was changed last is in force. So the same list is written
// in another spelling, and no moment is without it.
func putInForce(ctx context.Context, s Session, a model.Action) error {
	x, err := readExclusions(ctx, s)
	if err != nil {
		return err
	}
	if !holdsAll(x.ids, entries(a.NodeIDs)) {
		return errors.New("not all of the nodes that are to leave are excluded any more")
	}
	if err := x.besideStill(a); err != nil {
		return err
	}
	list := strings.Join(x.ids, ",")
	if list == x.list {
		list += "," // CrateDB leaves out an empty entry
	}
	if _, err := s.Exec(ctx, setExcluded(list)); err != nil {
		return fmt.Errorf("putting the exclusion of nodes in force once more: %w", err)
	}
	after, err := readExclusions(ctx, s)
	if err != nil {
		return err
	}
	if after.list != list {
		return fmt.Errorf("putting the exclusion of nodes in force once more: cluster.routing.allocation.exclude._id is '%s' right after '%s' was set: somebody has changed it, or a transient value hides it (RESET GLOBAL \"cluster.routing.allocation.exclude._id\" takes both off)", after.list, list)
	}
	return after.besideStill(a)
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
func excludeNodes(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	ids := entries(a.NodeIDs)
	was, err := readExclusions(ctx, s)
	if err != nil {
		return model.Result{}, err
	}
	if holdsAll(was.ids, ids) {
		return model.Result{Message: "the nodes are excluded already"}, nil
	}
	if err := was.besideStill(a); err != nil {
		return model.Result{}, err
	}
	if _, err := s.Exec(ctx, setExcluded(strings.Join(with(was.ids, ids), ","))); err != nil {
		return model.Result{}, fmt.Errorf("excluding nodes from the allocation: %w", err)
	}
	after, err := readExclusions(ctx, s)
	if err != nil {
		return model.Result{}, err
	}
	if holdsAll(after.ids, ids) {
		return model.Result{Message: fmt.Sprintf("%d node(s) are excluded from the allocation", len(ids))}, nil
	}
	if !slices.Equal(after.ids, was.ids) {
		// It was another list a moment ago: somebody has set this one, in the place of ours
		// or above it, and what they have set is not written over.
		return model.Result{}, fmt.Errorf("excluding nodes from the allocation: cluster.routing.allocation.exclude._id is '%s' right after ours was added: somebody has changed it", after.list)
	}
	if _, err := s.Exec(ctx, setExcluded(strings.Join(without(was.ids, ids), ","))); err != nil {
		return model.Result{}, fmt.Errorf("taking back an exclusion that a transient value hides: %w", err)
	}
	return model.Result{Code: model.ResultHidden, Message: "a transient value hides the exclusion, which was taken back"}, nil
}

// includeNodes writes also where ours are not to be seen: a transient value may
// hide them. Doing it twice does no harm.
func includeNodes(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	if err := staysDrained(ctx, a, t); err != nil {
		return model.Result{}, err
	}
	ids := entries(a.NodeIDs)
	was, err := readExclusions(ctx, s)
	if err != nil {
		return model.Result{}, err
	}
	if err := was.besideStill(a); err != nil {
		return model.Result{}, err
	}
	if _, err := s.Exec(ctx, setExcluded(strings.Join(without(was.ids, ids), ","))); err != nil {
		return model.Result{}, fmt.Errorf("taking nodes off the exclusions: %w", err)
	}
	after, err := readExclusions(ctx, s)
	if err != nil {
		return model.Result{}, err
	}
	for _, id := range ids {
		if slices.Contains(after.ids, id) {
			return model.Result{}, fmt.Errorf("node %s is still excluded, by a transient value; take it off with SET GLOBAL TRANSIENT \"cluster.routing.allocation.exclude._id\"", id)
		}
	}
	return model.Result{Message: "our exclusions are given back"}, nil
}

// filterTable puts nodes on a table's own exclude list, or takes them off.
func filterTable(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	schema, table, ok := strings.Cut(a.Table, ".")
	if !ok {
		return model.Result{}, fmt.Errorf("%q is no schema and table", a.Table)
	}
	s, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	if err := staysDrained(ctx, a, t); err != nil {
		return model.Result{}, err
	}
	rows, err := s.Strings(ctx, tableExcluded, schema, table)
	if err != nil {
		return model.Result{}, fmt.Errorf("reading the exclude list of table %s: %w", a.Table, err)
	}
	if len(rows) == 0 {
		return gone(ctx, s, a)
	}
	if a.Settings != "" {
		return setFilters(ctx, s, a, rows[0][1])
	}
	if a.Kind == model.ActionExcludeInTable && requires(rows[0][1]) {
		// What was decided on had none of these: with one of them the list would count nothing.
		return model.Result{}, fmt.Errorf("table %s has a require or include filter by now, which decides alone where its shards may be: its exclude list would count nothing, and is left", a.Table)
	}
	ids := entries(a.NodeIDs)
	mine := without(ids, entries(a.Before))
	list := without(entries(rows[0][0]), mine)
	if a.Kind == model.ActionExcludeInTable {
		list = with(list, ids)
	}
	if _, err := s.Exec(ctx, setTableExcluded(schema, table, list)); err != nil {
		return model.Result{}, fmt.Errorf("setting the exclude list of table %s: %w", a.Table, err)
	}
	return model.Result{Message: fmt.Sprintf("the exclude list of table %s is set", a.Table)}, nil
}

// requires says whether an object of filters has a require or an include that is set: an
// empty text takes a filter off.
func requires(allocation string) bool {
	var filters struct{ Require, Include map[string]any }
	if json.Unmarshal([]byte(allocation), &filters) != nil {
		return false
	}
	for _, values := range []map[string]any{filters.Require, filters.Include} {
		for _, value := range values {
			if text, is := value.(string); value != nil && (!is || len(entries(text)) > 0) {
				return true
			}
		}
	}
	return false
}

// retryAllocation sets a drain going again that a snapshot, or failures, stopped.
func retryAllocation(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	if a.NodeIDs != "" {
		if err := putInForce(ctx, s, a); err != nil {
			return model.Result{}, err
		}
	}
	if _, err := s.Exec(ctx, reroute); err != nil {
		return model.Result{}, fmt.Errorf("telling the cluster to retry the allocation: %w", err)
	}
	return model.Result{Message: "the allocation is retried"}, nil
}
