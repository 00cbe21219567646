package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// What is known of two tables that exchange their names; $1 and $2 are what they are called, without schema.
const (
	// pathsOfTable has the folders of indexes, which are called by their UUIDs. An index keeps that whatever its table is
	// called (SwapRelationsOperation, run on 6.3.7 and 6.4.3).
	pathsOfTable = `SELECT schema_name, path, recovery['type'] FROM sys.shards WHERE "primary" AND table_name = $1`
	// healthOfTable is summed over partitions. One without any is not in it.
	healthOfTable   = `SELECT table_schema, sum(missing_shards), sum(underreplicated_shards) FROM sys.health WHERE table_name = $1 GROUP BY table_schema`
	replicasOfTable = `SELECT table_schema, number_of_replicas FROM information_schema.tables WHERE table_name = $1`
	// tablePrivileges are granted and denied on either. Privileges go with a table to its new name (PrivilegesModifier.swapPrivileges).
	tablePrivileges = `SELECT grantee, type, state, ident FROM sys.privileges WHERE class = 'TABLE' AND (ident = $1 OR ident = $2)`
)

// swaps are exchanges that CrateDB still works on: another one behind it would undo it.
var swaps = gates.Running("alter cluster swap")

func swapStatement(from, to string) string {
	return "ALTER CLUSTER SWAP TABLE " + tableList([]string{from}) + " TO " + tableList([]string{to})
}

func replicasStatement(table, replicas string) string {
	return "ALTER TABLE " + tableList([]string{table}) + " SET (number_of_replicas = " + literal(replicas) + ")"
}

// privilegeStatement is GRANT, DENY or REVOKE on a table.
func privilegeStatement(verb, privilege, table, user string) string {
	preposition := " TO "
	if verb == "REVOKE" {
		preposition = " FROM "
	}
	return verb + " " + privilege + " ON TABLE " + tableList([]string{table}) + preposition + model.Identifier(user)
}

// pairOf are the two tables of an action: other is what the one of its Index is called before they exchange their names.
func pairOf(a model.Action) (table, other, schema, otherSchema, name string) {
	f := model.Fetch{Schema: a.Schema}
	table, other = a.Table, f.Target(a.Table)
	schema, name, _ = strings.Cut(table, ".")
	otherSchema, _, _ = strings.Cut(other, ".")
	return table, other, schema, otherSchema, name
}

// indexesOf are the UUIDs of the indexes of tables of a name, by schema, and the schemas of those that came from a snapshot
// and have not moved nor started again since. All nodes that are asked show the same.
func indexesOf(ctx context.Context, of witnesses, name string) (indexes map[string][]string, came map[string]bool, err error) {
	rows, err := of.all(ctx, pathsOfTable, name)
	if err != nil {
		return nil, nil, fmt.Errorf("reading sys.shards: %w", err)
	}
	indexes, came = map[string][]string{}, map[string]bool{}
	for _, r := range rows {
		came[r[0]] = came[r[0]] || r[2] == "SNAPSHOT"
		if parts := strings.Split(r[1], "/"); len(parts) > 2 && parts[len(parts)-3] == "indices" {
			indexes[r[0]] = append(indexes[r[0]], parts[len(parts)-2])
		}
	}
	return indexes, came, nil
}

// swapping is a session as `system`, where CrateDB works on no exchange of names.
func swapping(ctx context.Context, a model.Action, t Tools) (Session, error) {
	s, err := t.answering(ctx, a, "RESTORE SNAPSHOT")
	if err != nil {
		return nil, err
	}
	rows, err := jobs(ctx, s, swaps.SQL)
	if err == nil && len(swaps.Answer(rows).Found) > 0 {
		err = errors.New("CrateDB still works on an earlier ALTER CLUSTER SWAP TABLE")
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// prepareSwap gives the table that takes another's place what that has, and finds out by what it is known again.
func prepareSwap(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := swapping(ctx, a, t)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	_, other, _, otherSchema, name := pairOf(a)
	indexes, _, err := indexesOf(ctx, witnesses{s}, name)
	if err != nil {
		return model.Result{}, err
	}
	if len(indexes[otherSchema]) == 0 {
		return model.Result{Code: model.ResultRefused, Message: other + " has no shard, so it could not be told from the other table"}, nil
	}
	if refused, err := alike(ctx, s, a); err != nil || refused != "" {
		return model.Result{Code: model.ResultRefused, Message: refused}, err
	}
	return model.Result{Index: slices.Min(indexes[otherSchema]), Message: other + " has the replicas and privileges of " + a.Table}, nil
}

// alike gives the other table the replicas and the privileges of Table; refused is what CrateDB says against it.
func alike(ctx context.Context, s Session, a model.Action) (refused string, err error) {
	table, other, schema, otherSchema, name := pairOf(a)
	rows, err := s.Strings(ctx, replicasOfTable, name)
	if err != nil {
		return "", fmt.Errorf("reading information_schema.tables: %w", err)
	}
	replicas := map[string]string{}
	for _, r := range rows {
		replicas[r[0]] = r[1]
	}
	if replicas[schema] == "" || replicas[otherSchema] == "" {
		return table + " and " + other + " are not both there any more: somebody has dropped one", nil
	}
	var changes []string
	if replicas[schema] != replicas[otherSchema] {
		changes = append(changes, replicasStatement(other, replicas[schema]))
	}
	granted, err := s.Strings(ctx, tablePrivileges, table, other)
	if err != nil {
		return "", fmt.Errorf("reading sys.privileges: %w", err)
	}
	for _, c := range append(changes, privilegeChanges(granted, table, other)...) {
		if _, err := s.Exec(ctx, c); errors.Is(err, ErrRejected) {
			return err.Error(), nil
		} else if err != nil {
			return "", err
		}
	}
	return "", nil
}

// privilegeChanges make the privileges on another table those on this one.
func privilegeChanges(granted [][]string, table, other string) (changes []string) {
	has := map[string]map[string]string{table: {}, other: {}}
	var all []string
	for _, r := range granted {
		key := r[0] + "\n" + r[1]
		if has[r[3]] != nil {
			has[r[3]][key] = r[2]
		}
		if !slices.Contains(all, key) {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	for _, key := range all {
		user, privilege, _ := strings.Cut(key, "\n")
		desired, is := has[table][key], has[other][key]
		if desired == is {
			continue
		}
		if is != "" {
			changes = append(changes, privilegeStatement("REVOKE", privilege, other, user))
		}
		if desired != "" {
			changes = append(changes, privilegeStatement(desired, privilege, other, user))
		}
	}
	return changes
}

// swapTables has two tables exchange their names, once: whose the names are is known by an index, which keeps its UUID.
func swapTables(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := swapping(ctx, a, t)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	table, other, schema, otherSchema, name := pairOf(a)
	both, err := t.seconded(ctx, a, s)
	if err != nil {
		return model.Result{}, err
	}
	defer both[1:].Close()
	indexes, _, err := indexesOf(ctx, both, name)
	if err != nil {
		return model.Result{}, err
	}
	done := model.Result{Message: table + " and " + other + " have exchanged their names"}
	switch {
	case slices.Contains(indexes[schema], a.Index):
		return done, nil
	case !slices.Contains(indexes[otherSchema], a.Index):
		return whereIs(ctx, s, a)
	case a.New:
		return model.Result{Code: model.ResultWaits, Message: "they have not exchanged their names yet"}, nil
	}
	if refused, err := alike(ctx, s, a); err != nil || refused != "" {
		return model.Result{Code: model.ResultRefused, Message: refused}, err
	}
	if waits, err := lessWhole(ctx, s, a); err != nil || waits != "" {
		return model.Result{Code: model.ResultWaits, Message: waits}, err
	}
	if _, err := s.Exec(ctx, swapStatement(other, table)); errors.Is(err, ErrRejected) {
		return model.Result{Code: model.ResultRefused, Message: err.Error()}, nil
	} else if err != nil {
		return model.Result{}, err
	}
	if indexes, _, err = indexesOf(ctx, witnesses{s}, name); err == nil && !slices.Contains(indexes[schema], a.Index) {
		err = fmt.Errorf("CrateDB says that %s and %s have exchanged their names, and does not show it", table, other)
	}
	return done, err
}

// whereIs says that a table is gone, or another one has its name, where no shard has its index. A node that is away brings it back.
func whereIs(ctx context.Context, s Session, a model.Action) (model.Result, error) {
	table, other, schema, otherSchema, name := pairOf(a)
	rows, err := s.Strings(ctx, replicasOfTable, name)
	if err != nil {
		return model.Result{}, fmt.Errorf("reading information_schema.tables: %w", err)
	}
	for schema, called := range map[string]string{schema: table, otherSchema: other} {
		if !slices.ContainsFunc(rows, func(r []string) bool { return r[0] == schema }) {
			return model.Result{Code: model.ResultRefused, Message: called + " is not there any more: somebody has dropped it"}, nil
		}
	}
	waits, err := lessWhole(ctx, s, a)
	if err == nil && waits == "" {
		return model.Result{Code: model.ResultRefused, Message: "neither " + table + " nor " + other + " is the table that was to be exchanged: somebody has made another one"}, nil
	}
	return model.Result{}, cmp.Or(err, fmt.Errorf("no primary of index %s is on a node: it is not known which of the two tables it is of (%s)", a.Index, waits))
}

// lessWhole is why the other table is not fit to be called Table: it has to be whole, and to have no fewer copies.
func lessWhole(ctx context.Context, s Session, a model.Action) (string, error) {
	table, other, schema, otherSchema, name := pairOf(a)
	rows, err := s.Strings(ctx, healthOfTable, name)
	if err != nil {
		return "", fmt.Errorf("reading sys.health: %w", err)
	}
	missing, fewer := map[string]int64{}, map[string]int64{}
	for _, r := range rows {
		var m, u int64
		if _, err := fmt.Sscan(r[1]+" "+r[2], &m, &u); err != nil {
			return "", fmt.Errorf("sys.health of %s.%s: %w", r[0], name, err)
		}
		missing[r[0]], fewer[r[0]] = m, u
	}
	_, shown := missing[otherSchema]
	switch {
	case !shown:
		return "the health of " + other + " is not shown", nil
	case missing[otherSchema] > 0:
		return fmt.Sprintf("%d primaries of %s are not there", missing[otherSchema], other), nil
	case missing[schema] > 0:
		return fmt.Sprintf("%d primaries of %s are not there", missing[schema], table), nil
	case fewer[otherSchema] > fewer[schema]:
		return fmt.Sprintf("%d replicas of %s are not there yet", fewer[otherSchema], other), nil
	}
	return "", nil
}

// dropCopy drops a table that was to take another's place and has not. What has its name by now may be the table that was
// there before, so two ways of knowing have to say that it is the copy. The first is what has the name: its index, as two
// nodes show it, or that it was asked for when there was no such table. The second is that the two have not exchanged
// their names: two nodes show it, or nobody has asked for it, or a primary of the copy came from a snapshot. All
// shards of both start again from their disks in an exchange.
func dropCopy(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := swapping(ctx, a, t)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	_, other, _, _, _ := pairOf(a)
	if !model.Kept(other) {
		return model.Result{}, fmt.Errorf("table %s is none of a replacement, and is not dropped", other)
	}
	if a.New && a.Index == "" {
		// It was asked for when there was none of that name, and has never had another one. A node that does not show
		// it may be behind.
		return model.Result{Message: "table " + other + " was dropped, where it was there"}, dropAny(ctx, s, other)
	}
	both, err := t.seconded(ctx, a, s)
	if err != nil {
		return model.Result{}, err
	}
	defer both[1:].Close()
	is, err := isCopy(ctx, both, a)
	switch {
	case err != nil:
		return model.Result{}, err
	case is == "":
		return model.Result{Message: "table " + other + " was dropped"}, dropAny(ctx, s, other)
	case is == notThere:
		return model.Result{Message: "table " + other + is}, nil
	}
	return model.Result{Code: model.ResultForeign, Message: "table " + other + is}, nil
}

// notThere is what is said of a table that somebody has dropped.
const notThere = " is not there"

// isThere reports whether there is a table that the other one of an action is called.
func isThere(ctx context.Context, both witnesses, a model.Action) (bool, error) {
	_, _, _, otherSchema, name := pairOf(a)
	tables, err := both.all(ctx, replicasOfTable, name)
	if err != nil {
		return false, fmt.Errorf("reading information_schema.tables: %w", err)
	}
	return slices.ContainsFunc(tables, func(r []string) bool { return r[0] == otherSchema }), nil
}

// isCopy says what speaks against it that the other table of an action has not taken the place; "" for nothing.
func isCopy(ctx context.Context, both witnesses, a model.Action) (string, error) {
	_, _, _, otherSchema, name := pairOf(a)
	if there, err := isThere(ctx, both, a); err != nil || !there {
		return notThere, err
	}
	indexes, came, err := indexesOf(ctx, both, name)
	if err != nil {
		return "", err
	}
	its, unmoved := came[otherSchema], true
	if a.Index != "" { // they may have exchanged their names since it was known
		its = slices.Contains(indexes[otherSchema], a.Index)
		unmoved = len(both) > 1 || !a.Tried || came[otherSchema]
	}
	if !its || !unmoved {
		return " may be the one that was there before, and stays", nil
	}
	return "", nil
}

// dropKept drops a table that another one has taken the place of, while that one is whole: by its health, as two nodes show
// it of tables that have the same indexes for both, and by reading it.
func dropKept(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := swapping(ctx, a, t)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	table, other, schema, _, name := pairOf(a)
	if !model.Kept(other) {
		return model.Result{}, fmt.Errorf("table %s is none of a replacement, and is not dropped", other)
	}
	both, err := t.seconded(ctx, a, s)
	if err != nil {
		return model.Result{}, err
	}
	defer both[1:].Close()
	if _, _, err := indexesOf(ctx, both, name); err != nil {
		return model.Result{}, err
	}
	rows, err := both.all(ctx, healthOfTable, name)
	if err != nil {
		return model.Result{}, fmt.Errorf("reading sys.health: %w", err)
	}
	if !slices.ContainsFunc(rows, func(r []string) bool { return r[0] == schema && r[1] == "0" }) {
		return model.Result{Code: model.ResultRefused, Message: "not all primaries of " + table + " are there, and " + other + " stays"}, nil
	}
	if _, err := s.Strings(ctx, countRows(table)); errors.Is(err, ErrRejected) {
		return model.Result{Code: model.ResultRefused, Message: table + " cannot be read, and " + other + " stays: " + err.Error()}, nil
	} else if err != nil {
		return model.Result{}, fmt.Errorf("reading %s: %w", table, err)
	}
	return model.Result{Message: "table " + other + " was dropped"}, dropAny(ctx, s, other)
}

func countRows(table string) string { return "SELECT count(*) FROM " + tableList([]string{table}) }

// swapStatements are those of Statements that exchange tables.
func swapStatements() []Statement {
	return []Statement{
		{Name: "execute.pathsOfTable", SQL: pathsOfTable, Arguments: []any{"t0"}},
		{Name: "execute.healthOfTable", SQL: healthOfTable, Arguments: []any{"t0"}},
		{Name: "execute.replicasOfTable", SQL: replicasOfTable, Arguments: []any{"t0"}},
		{Name: "execute.tablePrivileges", SQL: tablePrivileges, Arguments: []any{"doc.t0", "stevedore_replaced_0a1b2c_doc.t0"}},
		{Name: "execute.swapJobs", SQL: swaps.SQL},
		{Name: "execute.countRows", SQL: countRows("doc.t0")},
		{Name: "execute.replicas", SQL: replicasStatement("doc.nowhere", "0-1"), Writes: true},
		{Name: "execute.grantOnTable", SQL: privilegeStatement("GRANT", "DQL", "doc.nowhere", "u0"), Writes: true},
		{Name: "execute.denyOnTable", SQL: privilegeStatement("DENY", "DML", "doc.nowhere", "u0"), Writes: true},
		{Name: "execute.revokeOnTable", SQL: privilegeStatement("REVOKE", "DQL", "doc.nowhere", "u0"), Writes: true},
		{Name: "execute.swapTables", SQL: swapStatement("doc.nowhere", "doc.t0"), Writes: true},
	}
}
