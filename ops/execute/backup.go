package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

const (
	repositoryOf = `SELECT type FROM sys.repositories WHERE name = $1`
	// CrateDB reads two objects of each snapshot of each repository for it, whatever is asked.
	snapshotsOf = `SELECT name, state, finished FROM sys.snapshots WHERE repository = $1`
	// alterRepositorySince is the version from which a repository is altered; before it is dropped and
	// created again, which loses nothing that is in it.
	alterRepositorySince = "6.4"
)

// assignments are the parameters of a repository. What is secret is bound, so that it is in no statement
// and in no sys.jobs_log.
func assignments(plain, secret []model.Setting) (list string, arguments []any) {
	var all []string
	for _, p := range plain {
		all = append(all, identifier(p.Name)+" = "+literal(p.Value))
	}
	for _, p := range secret {
		arguments = append(arguments, p.Value)
		all = append(all, fmt.Sprintf("%s = $%d", identifier(p.Name), len(arguments)))
	}
	return "(" + strings.Join(all, ", ") + ")", arguments
}

func dropRepository(name string) string { return "DROP REPOSITORY " + identifier(name) }

// createSnapshot does not wait: a snapshot may take hours, and a session that waits holds nothing up.
func createSnapshot(repository, name string, tables []string) string {
	what := "ALL"
	if len(tables) > 0 {
		var list []string
		for _, t := range tables {
			schema, table, _ := strings.Cut(t, ".")
			list = append(list, identifier(schema)+"."+identifier(table))
		}
		what = "TABLE " + strings.Join(list, ", ")
	}
	return "CREATE SNAPSHOT " + identifier(repository) + "." + identifier(name) + " " + what + " WITH (wait_for_completion = false)"
}

func dropSnapshot(repository, name string) string {
	return "DROP SNAPSHOT " + identifier(repository) + "." + identifier(name)
}

// parameters are those that the definition has, without the repository's type.
func parameters(a model.Action) (kind string, all []model.Setting) {
	for _, s := range a.Settings.Settings() {
		if s.Name == "type" {
			kind = s.Value
			continue
		}
		all = append(all, s)
	}
	return kind, all
}

// secretParameters are those whose values Secrets have.
func (t Tools) secretParameters(ctx context.Context, a model.Action) ([]model.Setting, error) {
	if a.Secrets == "" {
		return nil, nil
	}
	var secrets []definition.SecretSetting
	if err := json.Unmarshal([]byte(a.Secrets), &secrets); err != nil {
		return nil, fmt.Errorf("reading which Secrets the repository needs: %w", err)
	}
	var all []model.Setting
	for _, s := range secrets {
		version, err := versionOf(a.SecretVersions, s.Ref.Name)
		if err != nil {
			return nil, err
		}
		value, err := t.password(ctx, model.SecretKey{Name: s.Ref.Name, Key: s.Ref.Key}, version)
		if err != nil {
			return nil, err
		}
		all = append(all, model.Setting{Name: s.Name, Value: strings.TrimSuffix(value, "\n")}) // as kubectl makes a Secret of a file
	}
	return all, nil
}

// versionOf finds a Secret in the lines "name uid resourceVersion".
func versionOf(lines, name string) (model.SecretVersion, error) {
	for line := range strings.SplitSeq(lines, "\n") {
		if parts := strings.Fields(line); len(parts) == 3 && parts[0] == name {
			return model.SecretVersion{UID: parts[1], ResourceVersion: parts[2]}, nil
		}
	}
	return model.SecretVersion{}, fmt.Errorf("Secret %s was not seen when this was decided", name)
}

// masked takes secrets out of an error: an object store echoes them.
func masked(err error, hidden []model.Setting) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, p := range hidden {
		if len(p.Value) >= 3 {
			text = strings.ReplaceAll(text, p.Value, "…")
		}
	}
	return errors.New(text)
}

// setRepository creates the repository, or has all nodes verify it with the parameters as they are now:
// only CREATE and ALTER verify, so that a node that came later never did.
func setRepository(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	hidden, err := t.secretParameters(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	kind, plain := parameters(a)
	list, arguments := assignments(plain, hidden)
	s, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	found, err := s.Strings(ctx, repositoryOf, a.Repository)
	if err != nil {
		return model.Result{}, fmt.Errorf("reading sys.repositories: %w", err)
	}
	message := "the repository was created, and every node has verified it"
	if len(found) > 0 {
		message = "every node has verified the repository"
		if gates.CompareMinor(a.Version, alterRepositorySince) >= 0 {
			_, err = s.Exec(ctx, "ALTER REPOSITORY "+identifier(a.Repository)+" SET "+list, arguments...)
		} else if _, err = s.Exec(ctx, dropRepository(a.Repository)); err == nil {
			found = nil
		}
	}
	if err == nil && len(found) == 0 {
		_, err = s.Exec(ctx, "CREATE REPOSITORY "+identifier(a.Repository)+" TYPE "+kind+" WITH "+list, arguments...)
	}
	if err != nil {
		return model.Result{}, masked(err, hidden)
	}
	if !a.New {
		return model.Result{Message: message}, nil
	}
	rows, err := s.Strings(ctx, snapshotsOf, a.Repository)
	if err != nil {
		return model.Result{}, fmt.Errorf("reading what is in the repository: %w", masked(err, hidden))
	}
	for _, r := range rows {
		if _, _, ours := model.SnapshotOf(r[0]); !ours {
			return model.Result{Code: model.ResultForeign, Message: r[0]}, nil
		}
	}
	return model.Result{Message: message}, nil
}

// beginSnapshot begins one that is not there yet.
func beginSnapshot(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	there := func() (bool, error) {
		rows, err := s.Strings(ctx, snapshotsOf, a.Repository)
		if err != nil {
			return false, fmt.Errorf("reading sys.snapshots: %w", err)
		}
		return slices.ContainsFunc(rows, func(r []string) bool { return r[0] == a.Snapshot }), nil
	}
	if found, err := there(); err != nil || found {
		return model.Result{Message: "the snapshot is there already"}, err
	}
	_, failed := s.Exec(ctx, createSnapshot(a.Repository, a.Snapshot, model.Listed(a.SnapshotTables)))
	if failed == nil {
		return model.Result{Message: "the snapshot has begun"}, nil
	}
	if !errors.Is(failed, ErrRejected) {
		return model.Result{}, failed
	}
	if found, err := there(); err != nil || found {
		return model.Result{Message: "the snapshot has begun"}, err
	}
	return model.Result{Code: model.ResultRefused, Message: failed.Error()}, nil
}

// removeSnapshot drops one that no schedule keeps, while those that are kept are there.
func removeSnapshot(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	rows, err := s.Strings(ctx, snapshotsOf, a.Repository)
	if err != nil {
		return model.Result{}, fmt.Errorf("reading sys.snapshots: %w", err)
	}
	schedule, _, ours := model.SnapshotOf(a.Snapshot)
	if !ours {
		return model.Result{}, fmt.Errorf("%s is no snapshot of stevedore's", a.Snapshot)
	}
	there, newest, others := false, false, 0
	for _, r := range rows {
		of, _, named := model.SnapshotOf(r[0])
		good := r[1] == model.SnapshotSuccess && r[2] != ""
		there = there || r[0] == a.Snapshot
		newest = newest || r[0] == a.Newest && good
		if named && of == schedule && good && r[0] != a.Snapshot {
			others++
		}
	}
	switch {
	case !there:
		return model.Result{Message: "the snapshot was gone already"}, nil
	case !newest:
		return model.Result{}, fmt.Errorf("the newest snapshot %s is not in the repository, or cannot be read: nothing is dropped", a.Newest)
	case others < a.Value:
		return model.Result{}, fmt.Errorf("%d successful snapshot(s) of schedule %s would be left, and %d are kept at least: nothing is dropped", others, schedule, a.Value)
	}
	if _, err := s.Exec(ctx, dropSnapshot(a.Repository, a.Snapshot)); err != nil {
		return model.Result{}, err
	}
	return model.Result{Message: "the snapshot was dropped"}, nil
}
