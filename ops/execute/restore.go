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
	// primaryOrigins say of the tables that are there how their shards came; one that has moved since says PEER.
	primaryOrigins = `SELECT DISTINCT schema_name, table_name, recovery['type'] FROM sys.shards WHERE "primary"`
	redNames       = `SELECT table_schema, table_name FROM sys.health WHERE health = 'RED'`
	analyze        = `ANALYZE`
)

// restoreSections of a snapshot into a cluster that is there: ALL and METADATA would replace its settings,
// the allocation lock among them.
func restoreSections(repository, snapshot string, tables []string, all bool) string {
	what := "TABLES, VIEWS, UDFS"
	if !all {
		what = "TABLE " + tableList(tables)
	}
	return "RESTORE SNAPSHOT " + model.Identifier(repository) + "." + model.Identifier(snapshot) + " " + what + " WITH (wait_for_completion = false)"
}

func restoreUsersStatement(repository, snapshot string) string {
	return "RESTORE SNAPSHOT " + model.Identifier(repository) + "." + model.Identifier(snapshot) + " USERMANAGEMENT WITH (wait_for_completion = true)"
}

func dropTable(name string) string { return "DROP TABLE IF EXISTS " + tableList([]string{name}) }

// tableList quotes "schema.table" each.
func tableList(tables []string) string {
	var list []string
	for _, t := range tables {
		list = append(list, model.TableIdentifier(t))
	}
	return strings.Join(list, ", ")
}

// restoreUsers replaces the users, roles and privileges by those of the snapshot.
func restoreUsers(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.answering(ctx, a, "RESTORE SNAPSHOT")
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	if _, err := s.Exec(ctx, restoreUsersStatement(a.Repository, a.Snapshot)); err != nil {
		return model.Result{}, err
	}
	return model.Result{Message: "users, roles and privileges are those of the snapshot"}, nil
}

// restoreTables begins to fetch them. Names that are there are refused by CrateDB, but for those that an
// earlier attempt has fetched whose answer was lost.
func restoreTables(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.answering(ctx, a, "RESTORE SNAPSHOT")
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	_, failed := s.Exec(ctx, restoreSections(a.Repository, a.Snapshot, model.Listed(a.SnapshotTables), a.New))
	switch {
	case failed == nil:
		return model.Result{Message: "the tables are being fetched"}, nil
	case !errors.Is(failed, ErrRejected):
		return model.Result{}, failed
	}
	if !strings.Contains(failed.Error(), "already exists") {
		return model.Result{Code: model.ResultRefused, Message: failed.Error()}, nil
	}
	origins, err := s.Strings(ctx, primaryOrigins)
	if err != nil {
		return model.Result{}, fmt.Errorf("reading which tables came from a snapshot: %w", err)
	}
	if fetchedAll(model.Listed(a.SnapshotTables), origins) {
		return model.Result{Message: "the tables are being fetched already"}, nil
	}
	return model.Result{Code: model.ResultRefused, Message: failed.Error()}, nil
}

// fetchedAll reports whether those of the tables that have shards came from a snapshot, each of them.
func fetchedAll(tables []string, origins [][]string) bool {
	came, there := map[string]bool{}, map[string]bool{}
	for _, r := range origins {
		name := r[0] + "." + r[1]
		there[name] = true
		came[name] = came[name] || r[2] == "SNAPSHOT"
	}
	fetched := false
	for _, name := range tables {
		if there[name] && !came[name] {
			return false // somebody else's of that name
		}
		fetched = fetched || came[name]
	}
	return fetched
}

// dropRestored drops what could not be fetched: a shard that failed to come is not fetched again, and keeps
// the cluster red for ever. A table that has its primaries by now stays.
func dropRestored(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	rows, err := s.Strings(ctx, redNames)
	if err != nil {
		return model.Result{}, fmt.Errorf("reading sys.health: %w", err)
	}
	dropped := 0
	for _, name := range model.Listed(a.SnapshotTables) {
		if !slices.ContainsFunc(rows, func(r []string) bool { return r[0]+"."+r[1] == name }) {
			continue
		}
		if _, err := s.Exec(ctx, dropTable(name)); err != nil {
			return model.Result{}, fmt.Errorf("dropping table %s, which could not be fetched: %w", name, err)
		}
		dropped++
	}
	return model.Result{Message: fmt.Sprintf("%d table(s) were dropped that could not be fetched", dropped)}, nil
}

// endRestore takes the repository off; what is in it stays.
func endRestore(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	found, err := s.Strings(ctx, repositoryOf, a.Repository)
	if err != nil {
		return model.Result{}, fmt.Errorf("reading sys.repositories: %w", err)
	}
	if len(found) > 0 {
		if _, err := s.Exec(ctx, dropRepository(a.Repository)); err != nil {
			return model.Result{}, err
		}
	}
	// Without statistics the planner takes each table for empty (manual, RESTORE SNAPSHOT). It is no loss if it fails.
	if _, err := s.Exec(ctx, analyze); err != nil {
		return model.Result{Message: "the restore has ended; ANALYZE failed: " + err.Error()}, nil
	}
	return model.Result{Message: "the restore has ended"}, nil
}
