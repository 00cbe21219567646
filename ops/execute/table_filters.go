package execute

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// partition is one of a table's partitions: how an ALTER TABLE names it, and its filters.
type partition struct {
	clause  string
	filters *model.Table
}

// filtersOf reads the require and include filters of a table or partition.
func filtersOf(allocation string) (*model.Table, error) {
	var said struct{ Require, Include map[string]any }
	if err := json.Unmarshal([]byte(allocation), &said); err != nil {
		return nil, err
	}
	texts := func(of map[string]any) map[string]string {
		out := map[string]string{}
		for key, value := range of {
			if value != nil {
				out[key] = fmt.Sprint(value)
			}
		}
		return out
	}
	return &model.Table{Require: texts(said.Require), Include: texts(said.Include)}, nil
}

func partitionsOf(ctx context.Context, s Session, schema, table string) ([]partition, error) {
	rows, err := s.Strings(ctx, tablePartitions, schema, table)
	if err != nil {
		return nil, fmt.Errorf("reading the partitions of table %s.%s: %w", schema, table, err)
	}
	var out []partition
	for _, r := range rows {
		clause, err := partitionClause(r[0])
		if err != nil {
			return nil, fmt.Errorf("reading the values of a partition of table %s.%s: %w", schema, table, err)
		}
		filters, err := filtersOf(r[1])
		if err != nil {
			return nil, fmt.Errorf("reading the allocation filters of a partition of table %s.%s: %w", schema, table, err)
		}
		out = append(out, partition{clause, filters})
	}
	return out, nil
}

// partitionClause names a partition by its values, which are an object: CrateDB casts a text to
// the type of the column.
func partitionClause(values string) (string, error) {
	var of map[string]any
	numbers := json.NewDecoder(bytes.NewReader([]byte(values)))
	numbers.UseNumber() // a float64 would lose digits of a bigint
	if err := numbers.Decode(&of); err != nil {
		return "", err
	}
	var list []string
	for _, column := range slices.Sorted(maps.Keys(of)) {
		value := "NULL"
		if of[column] != nil {
			value = literal(fmt.Sprint(of[column]))
		}
		list = append(list, model.Identifier(column)+" = "+value)
	}
	return " PARTITION (" + strings.Join(list, ", ") + ")", nil
}

// gone is the result where `system` is shown no such table. What is hidden from it is not gone, and
// its filters are still to be given back.
func gone(ctx context.Context, s Session, a model.Action) (model.Result, error) {
	if err := lookDenied(ctx, s); err != nil {
		return model.Result{}, err
	}
	if was := a.Settings.Words(); was != "" && a.Kind == model.ActionIncludeInTable {
		return model.Result{Message: fmt.Sprintf("table %s is gone: if it has another name now, its filters are still those of the drain, and were %s before", a.Table, was)}, nil
	}
	return model.Result{Message: "the table is gone, and its filters with it"}, nil
}

// setFilters sets the require and include filters of a table for a drain, or gives them back:
// what somebody has set since they were recorded is left, in one partition too. All values change
// in one statement, for in between another filter would decide. An empty value takes a filter out of force, and is still shown:
// keys that the table did not have are reset after that.
func setFilters(ctx context.Context, s Session, a model.Action, allocation string) (model.Result, error) {
	table, err := filtersOf(allocation)
	if err != nil {
		return model.Result{}, fmt.Errorf("reading the allocation filters of table %s: %w", a.Table, err)
	}
	schema, name, _ := strings.Cut(a.Table, ".")
	partitions, err := partitionsOf(ctx, s, schema, name)
	if err != nil {
		return model.Result{}, err
	}
	x := model.TableExclusion{Drain: a.Settings, Filters: a.Expected}
	back := a.Kind == model.ActionIncludeInTable
	if back {
		x.Drain, x.Filters = a.Expected, a.Settings
	}
	others, due := false, false
	for _, t := range append([]*model.Table{table}, allOf(partitions)...) {
		others = others || x.Filtering(t) == model.FilteringOthers
		for _, want := range a.Settings.Settings() {
			due = due || t.Filter(want.Name) != want.Value
		}
	}
	alter := "ALTER TABLE " + model.TableIdentifier(a.Table)
	switch {
	case others && !back:
		return model.Result{}, fmt.Errorf("the filters of table %s are not as when this was decided (%s): somebody has changed them, and they are left", a.Table, x.Filters.Words())
	case others:
		return giveBackOurs(ctx, s, a, &x, table, len(partitions) > 0)
	case due:
		if _, err := s.Exec(ctx, alter+setFilterList(a.Settings.Settings())); err != nil {
			return model.Result{}, fmt.Errorf("setting the filters of table %s: %w", a.Table, err)
		}
	}
	if back {
		each := func(string) bool { return true }
		if err := resetEmpty(ctx, s, a, alter, a.Settings.Settings(), each); err != nil {
			return model.Result{}, err
		}
	}
	return model.Result{Message: fmt.Sprintf("the filters of table %s are set", a.Table)}, nil
}

// resetEmpty resets those of these filters that a table did not have and that say nothing. RESET takes no condition, so it
// looks right before: somebody may have set one since the others were given back. It looks at what alter changes, which changes
// names by their clauses; "" is the table itself.
func resetEmpty(ctx context.Context, s Session, a model.Action, alter string, of []model.Setting, changes func(clause string) bool) error {
	empty := empties(of)
	if len(empty) == 0 {
		return nil
	}
	schema, name, _ := strings.Cut(a.Table, ".")
	rows, err := s.Strings(ctx, tableExcluded, schema, name)
	if err != nil || len(rows) == 0 {
		return err
	}
	table, err := filtersOf(rows[0][1])
	if err != nil {
		return fmt.Errorf("reading the allocation filters of table %s: %w", a.Table, err)
	}
	partitions, err := partitionsOf(ctx, s, schema, name)
	if err != nil {
		return err
	}
	there := false // a partition may be gone by now
	for _, p := range append(partitions, partition{"", table}) {
		if changes(p.clause) {
			there, empty = true, slices.DeleteFunc(empty, func(f model.Setting) bool { return p.filters.Filter(f.Name) != "" })
		}
	}
	if !there || len(empty) == 0 {
		return nil
	}
	if _, err := s.Exec(ctx, alter+resetFilterList(empty)); err != nil {
		return fmt.Errorf("resetting filters that table %s did not have: %w", a.Table, err)
	}
	return nil
}

func allOf(partitions []partition) []*model.Table {
	var out []*model.Table
	for _, p := range partitions {
		out = append(out, p.filters)
	}
	return out
}

func empties(of []model.Setting) []model.Setting {
	return slices.DeleteFunc(slices.Clone(of), func(s model.Setting) bool { return s.Value != "" })
}

// giveBackOurs gives back what is still as the drain has set it, where somebody has changed filters
// of the table or of a partition: each of them has its own statements. The table itself is the first:
// a partition that is made after that has no filter of the drain.
func giveBackOurs(ctx context.Context, s Session, a model.Action, x *model.TableExclusion, table *model.Table, partitioned bool) (model.Result, error) {
	schema, name, _ := strings.Cut(a.Table, ".")
	quoted := model.TableIdentifier(a.Table)
	if !partitioned {
		given, err := giveBackOne(ctx, s, a, x, partition{"", table}, "ALTER TABLE "+quoted)
		return left(a, x, given), err
	}
	given, err := giveBackOne(ctx, s, a, x, partition{"", table}, "ALTER TABLE ONLY "+quoted)
	if err != nil {
		return model.Result{}, err
	}
	partitions, err := partitionsOf(ctx, s, schema, name)
	if err != nil {
		return model.Result{}, err
	}
	for _, p := range partitions {
		one, err := giveBackOne(ctx, s, a, x, p, "ALTER TABLE "+quoted)
		if err != nil {
			return model.Result{}, err
		}
		given = given || one
	}
	return left(a, x, given), nil
}

func left(a model.Action, x *model.TableExclusion, given bool) model.Result {
	if given {
		return model.Result{Message: fmt.Sprintf("the filters of table %s are given back, but for those that somebody has changed during the drain; before it they were %s", a.Table, x.Filters.Words())}
	}
	return model.Result{Message: fmt.Sprintf("somebody has changed the filters of table %s during the drain: they are left, and were %s before", a.Table, x.Filters.Words())}
}

// giveBackOne gives the filters of a table alone, or of one partition, back; alter begins each
// statement. It says whether they were ours.
func giveBackOne(ctx context.Context, s Session, a model.Action, x *model.TableExclusion, p partition, alter string) (bool, error) {
	t := p.filters
	alter += p.clause
	state := x.Filtering(t)
	if state == model.FilteringOthers && x.TakenOver(t) {
		return false, nil
	}
	var set []model.Setting
	due := false
	for _, want := range a.Settings.Settings() {
		during, _ := x.Drain.Get(want.Name)
		now := t.Filter(want.Name)
		if now != during && now != want.Value {
			continue // somebody's
		}
		due = due || now != want.Value
		set = append(set, want)
	}
	if due {
		if _, err := s.Exec(ctx, alter+setFilterList(set)); err != nil {
			return false, fmt.Errorf("giving back the filters of table %s: %w", a.Table, err)
		}
	}
	return true, resetEmpty(ctx, s, a, alter, set, func(clause string) bool { return clause == p.clause })
}

// lookFiltered asks once more for the filters of tables that were changed for the drain, and for
// those of their partitions.
func lookFiltered(ctx context.Context, s Session, a model.Action) error {
	var tables []model.TableExclusion
	if a.Tables == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(a.Tables), &tables); err != nil {
		return fmt.Errorf("reading which tables have other filters for the drain: %w", err)
	}
	for i := range tables {
		x := &tables[i]
		schema, table, _ := strings.Cut(x.Name, ".")
		rows, err := s.Strings(ctx, tableExcluded, schema, table)
		if err != nil {
			return fmt.Errorf("looking at the filters of table %s once more: %w", x.Name, err)
		}
		if len(rows) == 0 {
			continue // the table is gone: what is hidden is looked for after this
		}
		itself, err := filtersOf(rows[0][1])
		if err != nil {
			return fmt.Errorf("looking at the filters of table %s once more: %w", x.Name, err)
		}
		partitions, err := partitionsOf(ctx, s, schema, table)
		if err != nil {
			return err
		}
		for _, t := range append(allOf(partitions), itself) {
			if x.Filtering(t) != model.FilteringDrain {
				return fmt.Errorf("somebody has changed the filters of table %s since this was decided: they may let it use the nodes that are to leave", x.Name)
			}
		}
	}
	return nil
}
