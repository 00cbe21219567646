package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

const (
	repositoryOf = `SELECT type FROM sys.repositories WHERE name = $1`
	// A statement on a repository that does not answer stays here, also when its client is gone: nothing ends
	// it, and each one holds a thread of the master (run on 6.3.7 and 6.4.3).
	repositoryJobs = `SELECT stmt FROM sys.jobs WHERE lower(stmt) LIKE '%snapshot%' OR lower(stmt) LIKE '%repository%'`
	// alterRepositorySince is the version from which a repository is altered; before it is dropped and
	// created again, which loses nothing that is in it.
	alterRepositorySince = "6.4"
)

// assignments are the parameters of a repository. What is secret is bound, so that it is in no statement
// and in no sys.jobs_log.
func assignments(plain, secret []model.Setting) (list string, arguments []any) {
	var all []string
	for _, p := range plain {
		all = append(all, model.Identifier(p.Name)+" = "+literal(p.Value))
	}
	for _, p := range secret {
		arguments = append(arguments, p.Value)
		all = append(all, fmt.Sprintf("%s = $%d", model.Identifier(p.Name), len(arguments)))
	}
	return "(" + strings.Join(all, ", ") + ")", arguments
}

// unanswered is an error where CrateDB still works on an earlier statement on the repository: another one
// would only wait behind it.
func unanswered(ctx context.Context, s Session, repository string, verbs ...string) error {
	rows, err := jobs(ctx, s, repositoryJobs)
	if err != nil {
		return err
	}
	for _, r := range rows {
		for _, verb := range verbs {
			if strings.HasPrefix(r[0], verb+" "+model.Identifier(repository)) {
				return fmt.Errorf("repository %s does not answer: CrateDB still works on an earlier %s", repository, verb)
			}
		}
	}
	return nil
}

// answering is a session as `system`, where CrateDB works on none of these statements on the repository.
func (t Tools) answering(ctx context.Context, a model.Action, verbs ...string) (Session, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return nil, err
	}
	if err := unanswered(ctx, s, a.Repository, verbs...); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// snapshots are those of one repository, listed once more.
func (t Tools) snapshots(ctx context.Context, a model.Action) ([]model.ListedSnapshot, error) {
	all, err := t.allSnapshots(ctx, a)
	return slices.DeleteFunc(all, func(s model.ListedSnapshot) bool { return s.Repository != a.Repository }), err
}

// allSnapshots are those of all repositories, listed once more.
func (t Tools) allSnapshots(ctx context.Context, a model.Action) ([]model.ListedSnapshot, error) {
	password, err := t.password(ctx, model.SecretKey{Name: a.SystemSecret, Key: access.SystemKey}, model.SecretVersion{})
	if err != nil {
		return nil, err
	}
	all, err := t.Snapshots.List(ctx, a.Pod, password)
	if err != nil {
		return nil, fmt.Errorf("listing the snapshots of repository %s: %w", a.Repository, err)
	}
	return all, nil
}

func dropRepository(name string) string { return "DROP REPOSITORY " + model.Identifier(name) }

// createSnapshot does not wait: a snapshot may take hours, and a session that waits holds nothing up.
func createSnapshot(repository, name string, tables []string) string {
	what := "ALL"
	if len(tables) > 0 {
		what = "TABLE " + tableList(tables)
	}
	return "CREATE SNAPSHOT " + model.Identifier(repository) + "." + model.Identifier(name) + " " + what + " WITH (wait_for_completion = false)"
}

func dropSnapshot(repository, name string) string {
	return "DROP SNAPSHOT " + model.Identifier(repository) + "." + model.Identifier(name)
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
	return model.SecretVersion{}, fmt.Errorf("the Secret %s was not seen when this was decided", name)
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
	if err := unanswered(ctx, s, a.Repository, "CREATE REPOSITORY", "ALTER REPOSITORY", "DROP REPOSITORY"); err != nil {
		return model.Result{}, err
	}
	message := "the repository was created, and every node has verified it"
	if len(found) > 0 {
		message = "every node has verified the repository"
		if gates.CompareMinor(a.Version, alterRepositorySince) >= 0 {
			_, err = s.Exec(ctx, "ALTER REPOSITORY "+model.Identifier(a.Repository)+" SET "+list, arguments...)
		} else if _, err = s.Exec(ctx, dropRepository(a.Repository)); err == nil {
			found = nil
		}
	}
	if err == nil && len(found) == 0 {
		_, err = s.Exec(ctx, "CREATE REPOSITORY "+model.Identifier(a.Repository)+" TYPE "+kind+" WITH "+list, arguments...)
	}
	if err != nil {
		return model.Result{}, masked(err, hidden)
	}
	if !a.New {
		return model.Result{Message: message}, nil
	}
	rows, err := t.snapshots(ctx, a)
	if err != nil {
		return model.Result{}, masked(err, hidden)
	}
	for _, r := range rows {
		if _, _, ours := model.SnapshotOf(r.Name); !ours {
			return model.Result{Code: model.ResultForeign, Message: r.Name}, nil
		}
	}
	return model.Result{Message: message}, nil
}

// beginSnapshot begins one that is not there yet, while no other one of ours runs, in whichever repository. The reading
// that this was decided on may have had no list, and a statement whose client is gone may have begun one since.
func beginSnapshot(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.answering(ctx, a, "CREATE SNAPSHOT", "DROP SNAPSHOT")
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	found, err := s.Strings(ctx, repositoryOf, a.Repository)
	if err != nil {
		return model.Result{}, fmt.Errorf("reading sys.repositories: %w", err)
	}
	if len(found) == 0 {
		return model.Result{Code: model.ResultMissing, Message: "the repository is not there any more: it is created again first"}, nil
	}
	all, err := t.allSnapshots(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	if i := slices.IndexFunc(all, func(s model.ListedSnapshot) bool { return s.RunsOfOurs() && s.Name != a.Snapshot }); i >= 0 {
		return model.Result{Code: model.ResultWaits, Message: "snapshot " + all[i].Name + " is still being taken"}, nil
	}
	_, failed := s.Exec(ctx, createSnapshot(a.Repository, a.Snapshot, model.Listed(a.SnapshotTables)))
	switch {
	case failed == nil:
		return model.Result{Message: "the snapshot has begun"}, nil
	case errors.Is(failed, ErrSnapshotExists):
		return model.Result{Message: "the snapshot is there already"}, nil // an answer was lost
	case !errors.Is(failed, ErrRejected):
		return model.Result{}, failed
	}
	// A table may have been closed since: what is refused now may run.
	rows, err := t.snapshots(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	if slices.ContainsFunc(rows, func(r model.ListedSnapshot) bool { return r.Name == a.Snapshot }) {
		return model.Result{Message: "the snapshot is there already"}, nil
	}
	return model.Result{Code: model.ResultRefused, Message: failed.Error()}, nil
}

// removeSnapshot drops one that no schedule keeps, while those that are kept are there.
func removeSnapshot(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.answering(ctx, a, "CREATE SNAPSHOT", "DROP SNAPSHOT")
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	rows, err := t.snapshots(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	schedule, _, ours := model.SnapshotOf(a.Snapshot)
	if !ours {
		return model.Result{}, fmt.Errorf("%s is no snapshot of stevedore's", a.Snapshot)
	}
	there, newest, unread, counts, others := false, false, false, false, 0
	for _, r := range rows {
		of, _, named := model.SnapshotOf(r.Name)
		good := r.State == model.SnapshotSuccess && !r.Finished.IsZero()
		if r.Name == a.Snapshot {
			there, unread, counts = true, r.Unread(), good
		}
		newest = newest || r.Name == a.Newest && good
		if named && of == schedule && good && r.Name != a.Snapshot {
			others++
		}
	}
	switch {
	case !newest:
		return model.Result{}, fmt.Errorf("the newest snapshot %s is not in the repository, or cannot be read: nothing is dropped", a.Newest)
	case !there:
		return model.Result{Message: "the snapshot was gone already"}, nil
	case unread:
		return model.Result{}, fmt.Errorf("the repository does not say what became of %s: it is not dropped", a.Snapshot)
	case counts && others < a.Value:
		return model.Result{}, fmt.Errorf("%d successful snapshot(s) of schedule %s would be left, and %d are kept at least: nothing is dropped", others, schedule, a.Value)
	}
	if _, err := s.Exec(ctx, dropSnapshot(a.Repository, a.Snapshot)); err != nil {
		return model.Result{}, err
	}
	return model.Result{Message: "the snapshot was dropped"}, nil
}
