package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

const (
	// refusedDrop is what CrateDB says of a table that is read only.
	refusedDrop = "allow DROP operations"
	// unfinished are tables of which a primary is not there.
	unfinished = `SELECT table_schema, table_name FROM sys.health WHERE missing_shards > 0`
)

// fetchStatement restores tables into a cluster that is there; schema is what their schemas become, with $1 for their own.
func fetchStatement(repository, snapshot string, tables []string, schema string) string {
	with := "wait_for_completion = false"
	if schema != "" {
		with += ", schema_rename_pattern = '(.+)', schema_rename_replacement = " + literal(schema)
	}
	return "RESTORE SNAPSHOT " + model.Identifier(repository) + "." + model.Identifier(snapshot) + " TABLE " + tableList(tables) + " WITH (" + with + ")"
}

func withoutReplicas(table string) string {
	return "ALTER TABLE " + tableList([]string{table}) + " SET (number_of_replicas = 0)"
}

func writable(table string) string {
	return "ALTER TABLE " + tableList([]string{table}) + ` SET ("blocks.read_only" = false)`
}

// fetched are what the tables of the action are called in this cluster.
func fetched(a model.Action) []string {
	f := model.Fetch{Schema: a.Schema, Batch: model.Listed(a.SnapshotTables)}
	return f.Targets()
}

// fetchTables begins to restore tables. A name that is there is refused by CrateDB, but for those that an earlier
// attempt has fetched whose answer was lost. Nobody but us makes a table of a drill, or one that takes the place of
// another: what has its name was made by an earlier attempt, once two nodes have shown that nothing had it. The tables of
// a drill have no replicas: nobody needs them twice.
func fetchTables(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.answering(ctx, a, "RESTORE SNAPSHOT")
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	targets := fetched(a)
	if a.Table != "" && !a.Tried {
		return isFree(ctx, a, t, s)
	}
	_, failed := s.Exec(ctx, fetchStatement(a.Repository, a.Snapshot, model.Listed(a.SnapshotTables), a.Schema))
	if failed != nil && !errors.Is(failed, ErrRejected) {
		return model.Result{}, failed
	}
	if failed != nil {
		if strings.Contains(failed.Error(), "snapshot does not exist") || strings.Contains(failed.Error(), "RepositoryMissing") {
			return model.Result{Code: model.ResultMissing, Message: failed.Error()}, nil
		}
		if !strings.Contains(failed.Error(), "already exists") {
			return model.Result{Code: model.ResultRefused, Message: failed.Error()}, nil
		}
		origins, err := s.Strings(ctx, primaryOrigins)
		if err != nil {
			return model.Result{}, fmt.Errorf("reading which tables came from a snapshot: %w", err)
		}
		switch presumed := mayBeFetched(targets, origins); {
		case a.New, a.Table != "":
		case presumed:
			return model.Result{Code: model.ResultPresumed, Message: "they seem to be there: " + failed.Error()}, nil
		default:
			return model.Result{Code: model.ResultRefused, Message: failed.Error()}, nil
		}
	}
	if a.New {
		for _, table := range targets {
			// A table that may not be altered keeps its replicas, and is dropped with them.
			if _, err := s.Exec(ctx, withoutReplicas(table)); err != nil && !errors.Is(err, ErrRejected) {
				return model.Result{}, err
			}
		}
	}
	return model.Result{Message: fmt.Sprintf("%d table(s) are being fetched", len(targets))}, nil
}

// isFree looks whether a table is there of the name of the one that is to take another's place.
func isFree(ctx context.Context, a model.Action, t Tools, s Session) (model.Result, error) {
	both, err := t.seconded(ctx, a, s)
	if err != nil {
		return model.Result{}, err
	}
	defer both[1:].Close()
	_, other, _, _, _ := pairOf(a)
	there, err := isThere(ctx, both, a)
	switch {
	case err != nil:
		return model.Result{}, err
	case there:
		return model.Result{Code: model.ResultRefused, Message: other + " is there already"}, nil
	}
	return model.Result{Code: model.ResultFree, Message: "no table is called " + other}, nil
}

// mayBeFetched reports whether tables that are there may be what an earlier attempt has made whose answer was lost: none
// was there before it. What could not be fetched is on no node, and says not where it came from.
func mayBeFetched(tables []string, origins [][]string) bool {
	var rest [][]string
	there := false
	for _, r := range origins {
		there = there || slices.Contains(tables, r[0]+"."+r[1])
		if r[2] != "" {
			rest = append(rest, r)
		}
	}
	return there && (fetchedAll(tables, rest) || !slices.ContainsFunc(rest, func(r []string) bool { return slices.Contains(tables, r[0]+"."+r[1]) }))
}

// dropFetched drops tables that a restore has made: all of a drill, else those that have not all primaries. It has not
// succeeded while CrateDB still works on a RESTORE SNAPSHOT, which a repository that does not answer holds: nothing ends
// that, and it makes the tables whenever the repository answers again.
func dropFetched(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.answering(ctx, a, "RESTORE SNAPSHOT")
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	rows, err := t.unfinished(ctx, a, s)
	if err != nil {
		return model.Result{}, err
	}
	dropped := 0
	for _, table := range fetched(a) {
		if a.New && !model.Scratch(table) {
			return model.Result{}, fmt.Errorf("table %s is none of a drill, and is not dropped", table)
		}
		if !a.New && !slices.ContainsFunc(rows, func(r []string) bool { return r[0]+"."+r[1] == table }) {
			continue
		}
		if err := dropAny(ctx, s, table); err != nil {
			return model.Result{}, fmt.Errorf("dropping table %s: %w", table, err)
		}
		dropped++
	}
	return model.Result{Message: fmt.Sprintf("%d table(s) were dropped", dropped)}, nil
}

// unfinished are the tables of which a primary is not there, as two nodes show it. Of a drill all tables go: a name under
// its schema, which this cluster alone gives, and the record say whose they are.
func (t Tools) unfinished(ctx context.Context, a model.Action, s Session) ([][]string, error) {
	if a.New {
		return nil, nil
	}
	both, err := t.seconded(ctx, a, s)
	if err != nil {
		return nil, err
	}
	defer both[1:].Close()
	rows, err := both.all(ctx, unfinished)
	if err != nil {
		return nil, fmt.Errorf("reading sys.health: %w", err)
	}
	return rows, nil
}

// dropAny drops a table, also one that is read only: it is what it was in the snapshot.
func dropAny(ctx context.Context, s Session, table string) error {
	_, err := s.Exec(ctx, dropTable(table))
	if err == nil || !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), refusedDrop) {
		return err
	}
	if _, err := s.Exec(ctx, writable(table)); err != nil {
		return err
	}
	_, err = s.Exec(ctx, dropTable(table))
	return err
}
